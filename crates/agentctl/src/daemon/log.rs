//! Lines of the daemon's own, each with its time: to standard error, or to a file that does not grow for ever.

use agentctl_core::text::one_line;
use jiff::{SignedDuration, Timestamp, Unit};
use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::{Mutex, PoisonError},
};

/// A file longer than this begins anew.
const LOG: u64 = 1 << 20;

/// Where lines go.
pub(super) enum Log {
    /// In the foreground.
    Stderr,
    /// Detached.
    File(Mutex<File>),
}

impl Log {
    /// Appends to this file, or to standard error.
    pub(super) fn open(path: Option<&Path>) -> io::Result<Self> {
        let Some(path) = path else { return Ok(Self::Stderr) };
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        Ok(Self::File(Mutex::new(file)))
    }

    /// One line; what is in it may come from anybody.
    pub(super) fn say(&self, text: &str) {
        let now = Timestamp::now();
        let now = now
            .round(Unit::Second)
            .unwrap_or(now.saturating_sub(SignedDuration::ZERO).unwrap_or(now));
        let line = format!("{now} {}\n", one_line(text));
        // Nobody may be listening, and a full disk is no reason to stop.
        let _ = match self {
            Self::Stderr => io::stderr().write_all(line.as_bytes()),
            Self::File(file) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                if file.metadata().is_ok_and(|stat| stat.len() > LOG) {
                    let _ = file.set_len(0); // whoever appends goes on at its beginning
                }
                file.write_all(line.as_bytes())
            }
        };
    }
}
