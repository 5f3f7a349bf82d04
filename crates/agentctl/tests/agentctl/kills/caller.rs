//! Whoever launches: `agentctl launch --wait`, on a terminal or without one.

use super::{
    Cell, Ground, Victim,
    kernel::{Process, below},
    until,
};
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Stdio},
};

pub(super) struct Caller {
    child: Child,
    /// `agentctl launch`.
    pub(super) launch: Process,
}

impl Caller {
    pub(super) fn start(ground: &dyn Ground, cell: Cell) -> Self {
        let mut words = ground.launch(cell.step);
        words.insert(1, "--wait".to_owned()); // it is there to the end
        let agentctl = ground.agentctl();
        let on_terminal = cell.victim == Victim::Terminal;
        let mut command = if on_terminal {
            let all = [agentctl.to_string_lossy().into_owned()].into_iter().chain(words);
            let line = all.map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
            ground.command(Path::new("script"), &["-qec", &format!("exec {line}"), "/dev/null"])
        } else {
            ground.command(&agentctl, &words.iter().map(String::as_str).collect::<Vec<_>>())
        };
        command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
        let child = command.spawn().expect("it can be started");
        let top = Process::of(child.id()).expect("a child that nobody has waited for");
        let launch = match on_terminal {
            true => until("launch on a terminal", || below(top, "launch")),
            false => top,
        };
        Self { child, launch }
    }

    /// The terminal, or `agentctl launch` itself.
    pub(super) fn top(&self) -> Process {
        Process::of(self.child.id()).expect("it runs to the end")
    }

    pub(super) fn signal_group(&self, signal: Signal) {
        assert!(self.launch.lives(), "it is gone before it is killed");
        let group = Pid::from_raw(self.child.id().cast_signed()).expect("a pid");
        let sent = kill_process_group(group, signal);
        assert!(sent.is_ok(), "cannot send {signal:?} to a group: {sent:?}");
    }

    /// Waits for its end.
    pub(super) fn ends(&mut self) -> Option<i32> {
        let ended = || self.child.try_wait().expect("a child");
        until("end of the launch", ended).code()
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it is ours, and not waited for unless it has ended
        let _ = self.child.wait();
    }
}
