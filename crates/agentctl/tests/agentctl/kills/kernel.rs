//! What the kernel says of processes.

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs;

/// A process, named for good as long as the machine is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) start: u64,
}

/// What `/proc/PID/stat` says of one that is there, and no zombie: its parent and its start.
fn stat(pid: u32) -> Option<(u32, u64)> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let rest: Vec<&str> = line.rsplit_once(") ")?.1.split(' ').collect();
    // A main thread that ended before the others looks like a zombie; the process lives on.
    let alone = *rest.get(17)? == "1" || *rest.get(17)? == "0";
    let gone = matches!(rest.first(), None | Some(&("Z" | "X"))) && alone;
    (!gone).then_some((rest.get(1)?.parse().ok()?, rest.get(19)?.parse().ok()?))
}

impl Process {
    /// The process that has this pid now.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        stat(pid).map(|(_, start)| Self { pid, start })
    }

    pub(crate) fn lives(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// It lives, and is not on its way out: one that exits has no environment any more, and nothing
    /// that a shell could check.
    pub(crate) fn is_whole(self) -> bool {
        let environ = fs::read(format!("/proc/{}/environ", self.pid)).unwrap_or_default();
        self.lives() && !environ.is_empty()
    }

    /// None of its threads goes on.
    pub(crate) fn is_halted(self) -> bool {
        let threads = fs::read_dir(format!("/proc/{}/task", self.pid)).into_iter().flatten();
        threads.flatten().all(|thread| {
            let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('T'))
        })
    }

    pub(crate) fn parent(self) -> Option<Self> {
        stat(self.pid).and_then(|(parent, _)| Self::of(parent))
    }

    /// It is this one, or this one is below it.
    pub(crate) fn is_above(self, other: Self) -> bool {
        let mut at = Some(other);
        while let Some(process) = at.filter(|process| *process != self) {
            at = process.parent();
        }
        at.is_some()
    }

    /// Signals it. It is gripped first: a later process of the same pid cannot be hit.
    pub(crate) fn signal(self, signal: Signal) {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw).expect("a pid");
        let grip = pidfd_open(pid, PidfdFlags::empty());
        let grip = grip.unwrap_or_else(|why| panic!("cannot grip {self:?}: {why}"));
        assert!(self.lives(), "{self:?} is gone before it is killed");
        let sent = pidfd_send_signal(&grip, signal);
        assert!(sent.is_ok(), "cannot send {signal:?} to {self:?}: {sent:?}");
    }
}

/// Now, in the units of starts: hundredths of a second since the boot.
pub(crate) fn now() -> u64 {
    let uptime = fs::read_to_string("/proc/uptime").expect("Linux has one");
    let seconds = uptime.split(' ').next().expect("it has two numbers").replace('.', "");
    seconds.parse().expect("two digits behind the point")
}

/// All that live.
pub(crate) fn all() -> Vec<Process> {
    those(|_| true)
}

fn those(fits: impl Fn(u32) -> bool) -> Vec<Process> {
    let entries = fs::read_dir("/proc").expect("Linux has one").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| fits(*pid)).filter_map(Process::of).collect()
}

/// All whose environment holds this.
pub(crate) fn carriers(name: &str, value: &str) -> Vec<Process> {
    let pair = format!("{name}={value}");
    those(|pid| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|one| one == pair.as_bytes())
    })
}

/// The process below this one whose first argument is this.
pub(crate) fn below(above: Process, word: &str) -> Option<Process> {
    let fits = |pid: u32| {
        let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split('\0').nth(1) == Some(word)
    };
    those(fits).into_iter().find(|process| above.is_above(*process))
}
