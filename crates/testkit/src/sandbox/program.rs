//! Programs that run in the sandbox, in sessions of their own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{Sandbox, Terminal, agents, wait};

/// A program that is about to be run.
pub struct Run<'a> {
    sandbox: &'a Sandbox,
    words: Vec<String>,
    dir: PathBuf,
    variables: Vec<(String, String)>,
    input: Stdio,
}

impl<'a> Run<'a> {
    pub(super) fn new(sandbox: &'a Sandbox, words: Vec<String>) -> Run<'a> {
        let dir = sandbox.work();
        Run { sandbox, words, dir, variables: Vec::new(), input: Stdio::null() }
    }

    /// In this directory.
    pub fn within(mut self, dir: &Path) -> Self {
        self.dir = dir.to_owned();
        self
    }

    /// With this variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With its input from here instead of `/dev/null`; not on a terminal.
    pub fn input(mut self, input: impl Into<Stdio>) -> Self {
        self.input = input.into();
        self
    }

    /// Starts it in a session of its own, without a terminal, its output in files.
    pub fn spawn(self) -> Started {
        self.check();
        let mut list = locked(&self.sandbox.started);
        let stem = self.sandbox.root.join("out").join(list.len().to_string());
        let (out, err) = (stem.with_extension("out"), stem.with_extension("err"));
        let file = |path: &Path| {
            File::create(path).unwrap_or_else(|why| panic!("cannot make {path:?}: {why}"))
        };
        // `setsid` replaces itself by the program: its pid is the program's.
        let mut command = self.sandbox.command("setsid");
        command.args(&self.words).current_dir(&self.dir).envs(self.variables);
        command.stdin(self.input).stdout(file(&out)).stderr(file(&err));
        let child =
            command.spawn().unwrap_or_else(|why| panic!("cannot start {:?}: {why}", self.words));
        let shared = Arc::new(Shared { pid: child.id(), child: Mutex::new(child) });
        list.push(Arc::clone(&shared));
        Started { shared, words: self.words, out, err }
    }

    /// Starts it on a terminal of its own.
    pub fn on_terminal(self) -> Terminal<'a> {
        self.check();
        let pairs = self.variables.iter().map(|(name, value)| format!("{name}={value}"));
        // tmux hands a lone word to a shell; `env` makes it several, and replaces itself.
        let words: Vec<String> =
            ["env".to_owned()].into_iter().chain(pairs).chain(self.words).collect();
        Terminal::start(self.sandbox, &words, &self.dir)
    }

    /// Runs it to its end and returns its output; fails the test if it fails.
    pub fn finish(self, limit: Duration) -> String {
        let started = self.spawn();
        let status = started.wait(limit);
        assert!(status.success(), "{status}: {started}");
        started.stdout()
    }

    fn check(&self) {
        agents::need(self.words.first().expect("a program has a name"));
    }
}

/// A child that the sandbox ends if nobody else does.
pub(super) struct Shared {
    pub(super) pid: u32,
    pub(super) child: Mutex<Child>,
}

/// A program that was started.
pub struct Started {
    shared: Arc<Shared>,
    words: Vec<String>,
    out: PathBuf,
    err: PathBuf,
}

impl Started {
    /// Its pid. An agent behind a wrapper has another.
    pub fn pid(&self) -> u32 {
        self.shared.pid
    }

    /// Sends a signal. The child is ours and not collected, so the pid is still its own.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.shared.pid).ok().and_then(Pid::from_raw);
        let sent = kill_process(pid.expect("a child has a pid"), signal);
        assert!(sent.is_ok(), "cannot signal {self}: {sent:?}");
    }

    /// How it ended, if it has.
    pub fn ended(&self) -> Option<ExitStatus> {
        let status = locked(&self.shared.child).try_wait();
        status.unwrap_or_else(|why| panic!("cannot wait for {self}: {why}"))
    }

    /// Waits for its end.
    pub fn wait(&self, limit: Duration) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.ended() {
                return status;
            }
            assert!(start.elapsed() < limit, "did not end within {limit:?}: {self}");
            wait::glance();
        }
    }

    /// What it has printed so far.
    pub fn stdout(&self) -> String {
        text(&self.out)
    }

    /// What it has complained about so far.
    pub fn stderr(&self) -> String {
        text(&self.err)
    }
}

impl std::fmt::Display for Started {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (words, pid) = (&self.words, self.shared.pid);
        write!(out, "{words:?} (pid {pid})\n{}{}", self.stdout(), self.stderr())
    }
}

fn text(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// The guarded value, also after a test failed while it held it.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
