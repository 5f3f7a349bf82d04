//! What really happened, by the kernel and by whoever did it: what was told is judged by this.

use super::Over;
use crate::kills::Process;
use jiff::Timestamp;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};
use std::{
    os::fd::OwnedFd,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// How often the kernel is asked whether a process is still there.
const GLANCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// How a session was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It did what it was asked for, and exited.
    Done,
    /// `agentctl stop`.
    Stop,
    Kill,
    Term,
}

/// When a process went: it was there at the first moment, and gone at the second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gone {
    pub(super) lived: Timestamp,
    pub(super) gone: Timestamp,
}

/// One run of an agent, from its start to its end.
#[derive(Clone, Debug)]
pub(super) struct Life {
    pub(super) agent: &'static str,
    /// By `agentctl launch`; else by hand.
    pub(super) launched: bool,
    pub(super) id: String,
    /// Nobody had started it before.
    pub(super) began: Timestamp,
    pub(super) way: Way,
    /// None where it was quicker than whoever launched it.
    pub(super) gone: Option<Gone>,
    /// Where a stand-in writes down its turns.
    pub(super) record: Option<PathBuf>,
    /// Since when and until when it asked something.
    pub(super) asked: Vec<(Timestamp, Timestamp)>,
}

/// What became of a fuse.
#[derive(Clone, Debug)]
pub(super) struct Fused {
    pub(super) id: String,
    pub(super) cancelled: bool,
    pub(super) extended: usize,
    /// It runs a script.
    pub(super) script: bool,
}

/// One daemon that ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reign {
    /// It had come so far.
    pub(super) listened: bool,
    /// By a signal that it cannot hear.
    pub(super) killed: bool,
}

/// All of it.
#[derive(Default)]
pub(super) struct Record {
    lives: Mutex<Vec<Life>>,
    fuses: Mutex<Vec<Fused>>,
    reigns: Mutex<Vec<Reign>>,
    refused: Mutex<Vec<String>>,
}

impl Record {
    /// An agent that did not start, in its own words.
    pub(super) fn refused(&self, words: String) {
        locked(&self.refused).push(words);
    }

    pub(super) fn refusals(&self) -> usize {
        locked(&self.refused).len()
    }

    pub(super) fn life(&self, life: Life) {
        locked(&self.lives).push(life);
    }

    pub(super) fn fuse(&self, fuse: Fused) {
        locked(&self.fuses).push(fuse);
    }

    pub(super) fn reign(&self, reign: Reign) {
        locked(&self.reigns).push(reign);
    }

    pub(super) fn lives(&self) -> Vec<Life> {
        locked(&self.lives).clone()
    }

    pub(super) fn fuses(&self) -> Vec<Fused> {
        locked(&self.fuses).clone()
    }

    pub(super) fn reigns(&self) -> Vec<Reign> {
        locked(&self.reigns).clone()
    }
}

/// A process that the kernel is asked about, and no other that comes after it.
pub(super) struct Grip {
    fd: OwnedFd,
    /// It lived then.
    lived: Timestamp,
}

impl Grip {
    /// Of a process that lives.
    pub(super) fn of(process: Process) -> Self {
        let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw).expect("a pid");
        let fd = pidfd_open(pid, PidfdFlags::empty());
        let fd = fd.unwrap_or_else(|why| panic!("cannot grip {process:?}: {why}"));
        let lived = Timestamp::now();
        assert!(process.lives(), "{process:?} is gone before it was looked at");
        Self { fd, lived }
    }

    /// Asks until it is gone; `None` if it never goes.
    pub(super) fn gone(&self, over: &Over) -> Option<Gone> {
        let mut lived = self.lived;
        loop {
            let before = Timestamp::now();
            let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
            match poll(&mut fds, Some(&GLANCE)) {
                Ok(0) => lived = before,
                Ok(_) => return Some(Gone { lived, gone: Timestamp::now() }),
                Err(_) => {}
            }
            if over.is_long_past() {
                return None;
            }
        }
    }
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
