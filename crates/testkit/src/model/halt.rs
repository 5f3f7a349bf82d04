//! Waiting that ends when the model is stopped.

use std::io;
use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::lock::locked;

/// How often a file is looked for.
const GLANCE: Duration = Duration::from_millis(10);

/// Tells every waiting thread, once, that the model has stopped.
#[derive(Default)]
pub(crate) struct Halt {
    stopped: Mutex<bool>,
    bell: Condvar,
}

impl Halt {
    /// Wakes all who wait, now and later.
    pub(crate) fn stop(&self) {
        *locked(&self.stopped) = true;
        self.bell.notify_all();
    }

    /// Whether [`Halt::stop`] was called.
    pub(crate) fn is_stopped(&self) -> bool {
        *locked(&self.stopped)
    }

    /// Waits for `time`; an error when the model stopped meanwhile.
    pub(crate) fn pause(&self, time: Duration) -> io::Result<()> {
        let (stopped, _) = self
            .bell
            .wait_timeout_while(locked(&self.stopped), time, |stopped| !*stopped)
            .unwrap_or_else(PoisonError::into_inner);
        if *stopped { Err(io::Error::other("the model was stopped")) } else { Ok(()) }
    }

    /// Waits until `file` exists, at most for `limit`; an error when the model stopped meanwhile.
    pub(crate) fn until(&self, file: &Path, limit: Duration) -> io::Result<()> {
        let start = Instant::now();
        while !file.exists() && start.elapsed() < limit {
            self.pause(GLANCE)?;
        }
        Ok(())
    }
}
