//! A daemon that runs in a home, and a caller on its socket.

use super::{Home, agents::give};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(30);

/// A daemon in the foreground; it is killed with this value.
pub(crate) struct Daemon {
    child: Child,
    log: PathBuf,
}

/// Waits for a fact.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < LIMIT, "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

impl Home {
    /// Starts a daemon, and waits until it listens.
    pub(crate) fn daemon(&self) -> Daemon {
        Daemon::of(self, &mut self.agentctl(&["daemon", "run"]))
    }

    /// A call of `agentctl` in this home as the user who runs the tests: only he can call a daemon of his own. It
    /// writes to no folder but his, not as root either.
    pub(crate) fn as_us(&self, args: &[&str]) -> Command {
        for folder in [".local/state/agentctl", ".cache/agentctl"] {
            fs::create_dir_all(self.path(folder)).expect("a folder");
            give(&self.path(folder), rustix::process::geteuid().as_raw());
        }
        let mut command = Command::new(self.program("agentctl"));
        command.env_clear().current_dir(self.work()).args(args);
        command.env("HOME", self.path("")).env("PATH", self.path("bin"));
        command
    }

    /// Where a daemon listens.
    pub(crate) fn socket(&self) -> PathBuf {
        self.path(".local/state/agentctl/run/agentctl.sock")
    }
}

impl Daemon {
    /// Starts one, and waits until it listens.
    pub(crate) fn of(home: &Home, command: &mut Command) -> Self {
        let daemon = Self::begin(home, command);
        until("a daemon that listens", || daemon.said().contains("listens on").then_some(()));
        daemon
    }

    /// Starts one, and waits for nothing.
    pub(crate) fn begin(home: &Home, command: &mut Command) -> Self {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        let log = home.root().join(format!("out/daemon-{number}.log"));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(File::create(&log).expect("a file")).spawn();
        Self { child: child.expect("a daemon"), log }
    }

    /// Starts somebody who serves figures; the second is where.
    pub(crate) fn of_figures(home: &Home, words: &[&str]) -> (Self, String) {
        let daemon = Self::begin(home, &mut home.agentctl(words));
        let place = until("an address", || {
            let said = daemon.said();
            let place = said.split("figures are at http://").nth(1)?;
            place.split_once("/metrics").map(|(place, _)| place.to_owned())
        });
        (daemon, place)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// All its lines.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("a child");
        self.child.wait().expect("a child");
    }

    /// How it ended, once it has.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        until("its end", || self.child.try_wait().expect("a child")).code()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may be gone
        let _ = self.child.wait();
    }
}

/// A caller.
pub(crate) struct Caller(pub(crate) BufReader<UnixStream>);

impl Caller {
    pub(crate) fn new(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).expect("somebody listens");
        stream.set_read_timeout(Some(LIMIT)).expect("a limit");
        Self(BufReader::new(stream))
    }

    /// Sends bytes as they are; nobody may be listening any more.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        self.0.get_mut().write_all(bytes).is_ok()
    }

    /// The next line; none is that he was hung up on.
    pub(crate) fn line(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.0.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(serde_json::from_str(&line).expect("JSON")),
            Err(why) if why.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(why) => panic!("no line: {why}"),
        }
    }

    /// Asks, and returns the whole answer.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let line = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        assert!(self.send(format!("{line}\n").as_bytes()), "nobody listens");
        let answer = self.line().expect("an answer");
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(7)), "{answer:#}");
        answer
    }
}
