//! A grip on one process: a pidfd where the kernel has them, else its name, looked up before each act.
//!
//! Which one follows from the name itself: each reader of processes has its own way to name a boot.

#[cfg(target_os = "linux")]
use super::{Handle, Proc, linux};
use super::{Portable, portable};
use agentctl_core::{
    host::{CannotTell, Kernel},
    ident::ProcKey,
    launch,
};
use rustix::{
    io::Errno,
    process::{Pid, Signal, kill_process},
};
use std::{
    io, thread,
    time::{Duration, Instant},
};

/// How often a process is looked for whose end nobody tells.
const TICK: Duration = Duration::from_millis(10);

/// Why a process cannot be reached under the name it was given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// It ended; it may be a zombie still.
    #[error("process is gone")]
    Gone,
    /// Its pid belongs to another one now.
    #[error("process is gone and its pid was reused")]
    Reused,
    /// The name is from another boot of the machine.
    #[error("process is gone: it ran before the machine was booted")]
    Rebooted,
    /// It is not known whether it is there.
    #[error("{0}")]
    Untold(String),
}

impl From<Refused> for CannotTell {
    fn from(why: Refused) -> Self {
        Self(why.to_string())
    }
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The process ended; its parent may not have collected it yet.
    Ended,
    /// The time was up, or something else was due, and it lives.
    TimedOut,
}

/// One process, known to have been the one that was named when the grip was taken.
#[derive(Debug)]
pub(crate) enum Grip {
    /// No other can slip in.
    #[cfg(target_os = "linux")]
    Held(Handle),
    /// Whoever has the pid is compared with the name right before each signal.
    Named(ProcKey),
}

impl Grip {
    /// Takes hold of the process of this name, and no other.
    pub(crate) fn open(key: &ProcKey) -> Result<Self, Refused> {
        #[cfg(target_os = "linux")]
        if !portable::is_name(key) {
            return Handle::open(key).map(Self::Held);
        }
        portable::check(key).map(|()| Self::Named(key.clone()))
    }

    /// Sends a signal to this process, never to a later one with its pid.
    pub(crate) fn signal(&self, signal: launch::Signal) -> Result<(), Refused> {
        let signal = match signal {
            launch::Signal::Interrupt => Signal::INT,
            launch::Signal::Terminate => Signal::TERM,
            launch::Signal::Kill => Signal::KILL,
        };
        self.send(signal)
    }

    /// Stops it where it is, so that it starts nothing more before it is killed.
    pub(super) fn freeze(&self) {
        let _ = self.halt(); // it may be gone
    }

    /// Stops it where it is.
    pub(super) fn halt(&self) -> Result<(), Refused> {
        self.send(Signal::STOP)
    }

    /// Lets it go on.
    pub(super) fn thaw(&self) -> Result<(), Refused> {
        self.send(Signal::CONT)
    }

    fn send(&self, signal: Signal) -> Result<(), Refused> {
        let sent = match self {
            #[cfg(target_os = "linux")]
            Self::Held(handle) => handle.send(signal),
            Self::Named(key) => {
                portable::check(key)?;
                let pid = i32::try_from(key.pid).ok().and_then(Pid::from_raw);
                kill_process(pid.ok_or(Refused::Gone)?, signal)
            }
        };
        sent.map_err(|why| match why {
            Errno::SRCH => Refused::Gone,
            why => Refused::Untold(io::Error::from(why).to_string()),
        })
    }

    /// Waits for its end, for ever without a timeout.
    pub(crate) fn wait(&self, timeout: Option<Duration>) -> io::Result<Waited> {
        let key = match self {
            #[cfg(target_os = "linux")]
            Self::Held(handle) => return handle.wait(timeout),
            Self::Named(key) => key,
        };
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            match portable::check(key) {
                Ok(()) => {}
                Err(Refused::Gone | Refused::Reused | Refused::Rebooted) => {
                    return Ok(Waited::Ended);
                }
                Err(Refused::Untold(why)) => return Err(io::Error::other(why)),
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Ok(Waited::TimedOut);
            }
            thread::sleep(left.map_or(TICK, |left| left.min(TICK)));
        }
    }

    /// It has not ended; a zombie has.
    pub(crate) fn is_alive(&self) -> io::Result<bool> {
        Ok(self.wait(Some(Duration::ZERO))? == Waited::TimedOut)
    }
}

/// A new reader of processes that gives names as this one is.
pub(super) fn kernel(key: &ProcKey) -> Box<dyn Kernel> {
    #[cfg(target_os = "linux")]
    if !portable::is_name(key) {
        return Box::new(Proc::new());
    }
    let _ = key;
    Box::new(Portable::new())
}

/// The name of the process that has this pid now. Only its parent knows that it is the right one.
pub(crate) fn key_of(pid: u32) -> Result<ProcKey, Refused> {
    #[cfg(target_os = "linux")]
    return linux::key_of(pid);
    #[cfg(not(target_os = "linux"))]
    return portable::key_of(pid);
}
