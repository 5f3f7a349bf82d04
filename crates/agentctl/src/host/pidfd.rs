//! A grip on one process that no other can slip into: a pidfd.

use super::{
    Refused, Waited,
    linux::{Door, boot, is_ours},
};
use agentctl_core::ident::ProcKey;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fd::{AsFd, BorrowedFd, OwnedFd},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use std::{
    io,
    time::{Duration, Instant},
};

/// One process, known to have been the one that was named when the handle was made.
#[derive(Debug)]
pub(crate) struct Handle {
    fd: OwnedFd,
}

impl Handle {
    /// Opens the process of this name, and no other. The pidfd is opened before its start is
    /// read: whoever has the right start now has had the pid all along.
    pub(super) fn open(key: &ProcKey) -> Result<Self, Refused> {
        if boot().map_err(|why| Refused::Untold(why.0))? != key.boot {
            return Err(Refused::Rebooted);
        }
        is_ours().map_err(|why| Refused::Untold(why.0))?;
        let pid = i32::try_from(key.pid).ok().and_then(Pid::from_raw).ok_or(Refused::Gone)?;
        let fd = pidfd_open(pid, PidfdFlags::empty()).map_err(|why| match why {
            Errno::SRCH => Refused::Gone,
            why => Refused::Untold(format!("cannot open a pidfd: {}", io::Error::from(why))),
        })?;
        Door::open(key)?;
        Ok(Self { fd })
    }

    /// Waits for its end until `stop` can be read or is closed at its other end.
    pub(super) fn wait_unless(&self, stop: BorrowedFd<'_>) -> io::Result<Waited> {
        wait_any(&[self.fd.as_fd(), stop], None)
    }

    /// Sends a signal to this process, never to a later one with its pid.
    pub(super) fn send(&self, signal: Signal) -> Result<(), Errno> {
        pidfd_send_signal(&self.fd, signal)
    }

    /// Waits for its end, for ever without a timeout.
    pub(super) fn wait(&self, timeout: Option<Duration>) -> io::Result<Waited> {
        wait_any(&[self.fd.as_fd()], timeout)
    }
}

/// Ended if the first descriptor is ready.
fn wait_any(fds: &[BorrowedFd<'_>], timeout: Option<Duration>) -> io::Result<Waited> {
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut fds: Vec<_> =
        fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    loop {
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut fds, left.as_ref()) {
            Err(Errno::INTR) => continue,
            Err(why) => return Err(why.into()),
            Ok(_) => {}
        }
        return Ok(match fds.first().is_some_and(|fd| !fd.revents().is_empty()) {
            true => Waited::Ended,
            false => Waited::TimedOut,
        });
    }
}
