//! Launches of a stand-in agent that can be held at every step.

mod kills;

use crate::home::{Answer, Home};
use serde_json::Value;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::Command,
    time::{Duration, Instant},
};

/// The steps of the stand-in, in order.
pub(crate) const STEPS: [&str; 5] = ["exec", "id", "work", "tool", "exit"];
/// Nothing takes longer.
const LIMIT: Duration = Duration::from_secs(30);

/// A home in which the stand-in is the agent.
pub(crate) struct Hall {
    pub(crate) home: Home,
}

impl Hall {
    pub(crate) fn new() -> Self {
        let home = Home::new();
        let program = home.program("claude");
        fs::write(&program, include_str!("launch/stand_in.sh")).expect("a program");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
        let hall = Self { home };
        fs::create_dir(hall.gates()).expect("the home is ours");
        if let Some(user) = hall.home.user() {
            let mut give = Command::new("chown");
            give.args(["-R", &format!("{user}:{user}")]).arg(hall.home.path(""));
            assert!(give.status().expect("a command").success(), "the home cannot be given away");
        }
        hall
    }

    fn gates(&self) -> PathBuf {
        self.home.path("gates")
    }

    /// Lets the stand-in go on at this step.
    pub(crate) fn open(&self, step: &str) {
        fs::write(self.gates().join(step), "").expect("a gate");
    }

    /// Holds the next stand-in at this step.
    pub(crate) fn hold_at(&self, step: &str) {
        for gate in fs::read_dir(self.gates()).expect("gates").flatten() {
            fs::remove_file(gate.path()).expect("a gate");
        }
        STEPS.iter().take_while(|other| **other != step).for_each(|other| self.open(other));
    }

    /// Waits until the stand-in is at this step, and tells its pid.
    pub(crate) fn reached(&self, step: &str) -> u32 {
        let mark = self.gates().join(format!("{step}.reached"));
        until(&format!("step {step}"), || mark.exists().then_some(()));
        let pid = fs::read_to_string(self.gates().join("pid")).expect("a pid");
        pid.trim().parse().expect("a number")
    }

    /// A call of `agentctl launch`.
    pub(crate) fn call(&self) -> Command {
        let mut command = self.home.agentctl(&["launch", "claude-code", "-p", "go", "--json"]);
        let programs = self.home.program("").display().to_string();
        command.env("PATH", format!("{programs}:/usr/bin:/bin"));
        command
    }

    /// All that is listed.
    pub(crate) fn listed(&self) -> Vec<Value> {
        let answer = self.home.run(&["list", "--since", "all", "--json", "--timeout", "none"]);
        let all = answer.json();
        all["sessions"].as_array().expect("a list").clone()
    }

    /// Rows that say this process is theirs.
    pub(crate) fn rows_of(&self, pid: u32) -> Vec<Value> {
        let mut rows = self.listed();
        rows.retain(|row| row["live"] == true && row["pid"] == pid);
        rows
    }

    /// What another launch in the same directory is told.
    pub(crate) fn again(&self) -> Answer {
        self.home.ask(&mut self.call())
    }
}

impl Drop for Hall {
    fn drop(&mut self) {
        for step in STEPS {
            let _ = fs::write(self.gates().join(step), "");
        }
    }
}

/// Looks again and again until there is something to see.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < LIMIT, "no {what} within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// It is there, and no zombie.
pub(crate) fn lives(pid: u32) -> bool {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    line.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// The parent of a process.
pub(crate) fn parent(pid: u32) -> u32 {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it is alive");
    let rest = line.rsplit_once(") ").map(|(_, rest)| rest.to_owned()).unwrap_or_default();
    rest.split(' ').nth(1).and_then(|pid| pid.parse().ok()).expect("it has one")
}
