//! Every cell with a stand-in agent, which waits at every step.

use super::{
    Ground, Step, Victim,
    cell::{row, run, signals},
    kernel::Process,
    until,
};
use crate::home::Home;
use rustix::process::Signal;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

/// A home in which the stand-in is the agent.
struct Hall {
    home: Home,
}

/// The steps at which the stand-in waits, in order. Before it is executed, others must hold it.
const WAITS: [Step; 4] = [Step::Id, Step::Work, Step::Tool, Step::Exit];

impl Hall {
    fn new() -> Self {
        let home = Home::new();
        let program = home.program("claude");
        fs::write(&program, include_str!("stand_in.sh")).expect("a program");
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

    fn gate(&self, step: Step) -> PathBuf {
        self.gates().join(format!("{step:?}"))
    }
}

impl Ground for Hall {
    fn root(&self) -> PathBuf {
        self.home.root()
    }

    fn state(&self) -> PathBuf {
        self.home.path(".local/state/agentctl")
    }

    fn command(&self, program: &Path, words: &[&str]) -> Command {
        let mut command = self.home.command(program);
        let programs = self.home.program("").display().to_string();
        command.args(words).env("PATH", format!("{programs}:/usr/bin:/bin"));
        command.env("SHELL", "/bin/sh");
        command
    }

    fn agentctl(&self) -> PathBuf {
        self.home.program("agentctl")
    }

    fn launch(&self, _: Step) -> Vec<String> {
        ["launch", "claude-code", "-p", "go", "--json"].map(str::to_owned).into()
    }

    fn program(&self) -> PathBuf {
        self.home.program("claude")
    }

    fn gates(&self) -> PathBuf {
        self.home.path("gates")
    }

    fn shut(&self, step: Step) {
        for other in WAITS.iter().take_while(|other| **other != step && step != Step::Exec) {
            fs::write(self.gate(*other), "").expect("a gate");
        }
    }

    fn reached(&self, step: Step, launched: Process) -> Process {
        if step != Step::Exec {
            let mark = self.gate(step).with_extension("reached");
            until(&format!("{step:?}"), || mark.exists().then_some(()));
        }
        launched
    }

    fn open(&self) {
        for step in WAITS {
            fs::write(self.gate(step), "").expect("a gate");
        }
    }

    fn killed(&self, _: Step, _: Signal) -> &'static [&'static str] {
        &["died"]
    }

    fn next(&self) -> i32 {
        0
    }
}

fn each(victim: Victim) {
    row("stand-in", victim, |cell| run(&Hall::new(), cell));
}

#[test]
fn the_caller_may_be_killed_at_any_step() {
    each(Victim::Caller);
}

#[test]
fn the_callers_group_may_be_killed_at_any_step() {
    each(Victim::Group);
}

#[test]
fn the_terminal_may_be_killed_at_any_step() {
    each(Victim::Terminal);
}

#[test]
fn the_shim_may_be_killed_at_any_step() {
    each(Victim::Shim);
}

#[test]
fn the_agent_may_be_killed_at_any_step() {
    each(Victim::Agent);
}

/// Whoever stands above the agent may be ended by whatever ends programs: it lives on, and is listed as before.
#[test]
fn who_launches_may_be_ended_by_any_signal() {
    for victim in [Victim::Caller, Victim::Group, Victim::Shim] {
        signals("stand-in", (victim, Step::Tool), |cell| run(&Hall::new(), cell));
    }
}

#[test]
fn the_daemon_may_be_killed_at_any_step() {
    each(Victim::Daemon);
}
