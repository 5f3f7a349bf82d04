//! Lines of the daemon's own, each with its time: to standard error, or to a file that does not grow for ever.

use crate::write::append;
use agentctl_core::text::one_line;
use jiff::{Timestamp, Unit};
use std::{
    fs::File,
    io::{self, Write},
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
        Ok(Self::File(Mutex::new(append(path)?)))
    }

    /// One line; what is in it may come from anybody.
    pub(super) fn say(&self, text: &str) {
        let now = Timestamp::now();
        let now = now.round(Unit::Second).unwrap_or(now);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_does_not_grow_for_ever_and_lines_stay_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let log = Log::open(Some(&path)).expect("a file");
        log.say("one\nline \u{1b}[31m");
        let text = std::fs::read_to_string(&path).expect("a file");
        assert_eq!((text.lines().count(), text.contains('\u{1b}')), (1, false), "{text:?}");
        let long = "x".repeat(1000);
        (0..2500).for_each(|_| log.say(&long));
        log.say("last");
        let text = std::fs::read_to_string(&path).expect("a file");
        let most = usize::try_from(LOG).expect("small") + 2000;
        assert!(text.len() < most && text.ends_with("last\n"), "{} bytes", text.len());
    }
}
