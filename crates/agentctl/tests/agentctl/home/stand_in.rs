//! Stand-ins for live agents: a `sleep` under the agent's name, and the registry file of a real one.

use super::Home;
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    time::{SystemTime, UNIX_EPOCH},
};

/// A live process that looks like an agent's; it is ended with this value.
pub(crate) struct StandIn {
    child: Child,
    pid: u32,
    ticks: u64,
}

impl Home {
    /// Starts a stand-in for Claude Code.
    pub(crate) fn stand_in(&self) -> StandIn {
        StandIn::start(&mut self.stand_in_command())
    }

    /// The same as another user.
    pub(crate) fn stand_in_of(&self, user: u32) -> StandIn {
        StandIn::start(self.stand_in_command().uid(user).gid(user))
    }

    /// The same in another directory.
    pub(crate) fn stand_in_within(&self, dir: &Path) -> StandIn {
        StandIn::start(self.stand_in_command().current_dir(dir))
    }

    /// The same on a terminal, which a program of this name gives it, with these variables.
    pub(crate) fn stand_in_under(&self, name: &str, env: &[(&str, &str)]) -> StandIn {
        let above = self.program(name);
        copied(Path::new("/usr/bin/script"), &above);
        let claude = self.stand_in_command().get_program().to_string_lossy().into_owned();
        let mut command = self.command(above);
        command.args(["-qec", &format!("exec {claude} 1000"), "/dev/null"]);
        command.envs(env.iter().copied()).env("SHELL", "/bin/sh");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut stand_in = StandIn::start(&mut command);
        stand_in.pid = stand_in.below("claude");
        stand_in.ticks = ticks(stand_in.pid);
        stand_in
    }

    /// The call that starts a stand-in, which then goes on for longer than any test.
    pub(crate) fn stand_in_command(&self) -> Command {
        let program = self.program("claude");
        if !program.exists() {
            copied(Path::new("/bin/sleep"), &program);
        }
        let mut command = self.command(program);
        command.arg("1000").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Writes the registry file of a process: this session is loaded in it. `more` is added.
    pub(crate) fn register(&self, process: &StandIn, session: &str, more: Value) {
        self.register_as(&process.pid().to_string(), registry(process, session, more));
    }

    /// Writes any registry file.
    pub(crate) fn register_as(&self, name: &str, value: Value) {
        self.write(format!(".claude/sessions/{name}.json"), value.to_string());
    }
}

/// What the registry file of a process holds.
pub(crate) fn registry(process: &StandIn, session: &str, more: Value) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock");
    let mut value = json!({
        "pid": process.pid(), "sessionId": session, "cwd": "/home/dev/live",
        // Longer ago than a throwaway id lasts.
        "startedAt": now.as_millis() as u64 - 5000,
        "procStart": process.ticks.to_string(),
        "version": "2.1.197", "kind": "interactive", "entrypoint": "cli",
    });
    let more = more.as_object().cloned().unwrap_or_default();
    value.as_object_mut().expect("an object").extend(more);
    value
}

impl StandIn {
    fn start(command: &mut Command) -> Self {
        let child = command.spawn().expect("a stand-in");
        let (pid, ticks) = (child.id(), ticks(child.id()));
        Self { child, pid, ticks }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for a child of this name.
    fn below(&self, name: &str) -> u32 {
        let children = format!("/proc/{0}/task/{0}/children", self.child.id());
        let start = std::time::Instant::now();
        loop {
            let pids = fs::read_to_string(&children).unwrap_or_default();
            let comm = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm"));
            let is_it = |pid: &u32| comm(pid).is_ok_and(|comm| comm.trim_end() == name);
            if let Some(pid) = pids.split(' ').filter_map(|pid| pid.parse().ok()).find(is_it) {
                return pid;
            }
            assert!(start.elapsed().as_secs() < 10, "no {name} below {}", self.child.id());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// How it is named where it has named no session.
    pub(crate) fn name(&self) -> String {
        format!("pid:{}", self.pid())
    }

    /// It has ended, whoever collects it.
    pub(crate) fn has_ended(&self) -> bool {
        fields(self.pid).first().is_none_or(|state| state == "Z")
    }

    /// Its start in clock ticks after boot.
    pub(crate) fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Kills it and leaves it a zombie, as a parent does that never asks.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("a child");
        let state = || fields(self.child.id()).first().cloned();
        let start = std::time::Instant::now();
        while state().as_deref() != Some("Z") {
            assert!(start.elapsed().as_secs() < 10, "it does not die");
            std::thread::yield_now();
        }
    }

    /// Kills it and collects it, so that its pid is free.
    pub(crate) fn kill_and_collect(&mut self) {
        self.child.kill().expect("a child");
        self.child.wait().expect("a child");
    }

    /// The same for good.
    pub(crate) fn end(mut self) {
        self.kill_and_collect();
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        // Both fail only if it was collected before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Copies a program, by another process: had we ever had it open for writing, whatever another test
/// starts at that moment would inherit that, and it could not be run ("text file busy").
pub(super) fn copied(from: &Path, to: &Path) {
    let done = Command::new("cp").arg(from).arg(to).status().expect("cp");
    assert!(done.success(), "cannot copy {}", from.display());
}

/// The start of a process in clock ticks after boot.
pub(crate) fn ticks(pid: u32) -> u64 {
    let start = fields(pid).get(19).and_then(|ticks| ticks.parse().ok());
    start.unwrap_or_else(|| panic!("no process {pid}"))
}

/// Fields of the stat line behind the name, the state first.
fn fields(pid: u32) -> Vec<String> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let rest = line.rsplit_once(") ").map(|(_, rest)| rest.to_owned()).unwrap_or_default();
    rest.split(' ').map(str::to_owned).collect()
}
