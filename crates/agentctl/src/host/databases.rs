//! SQLite files of other programs, read so that their writer never waits and nothing is left behind.
//!
//! A question is limited in time, rows and bytes: a huge or broken database makes its own answer an
//! error, and delays nobody who asks another one.

mod answer;
mod opened;
#[cfg(test)]
mod tests;

use agentctl_core::host::{Cell, Tables};
use opened::Opened;
use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// How often a file that changes under the reader is read anew.
const TRIES: usize = 5;

/// One database: where it really is, and how it was opened.
#[derive(Clone, Debug)]
struct Own {
    db: PathBuf,
    opened: Arc<Mutex<Option<Opened>>>,
}

/// Databases opened for one command.
#[derive(Debug)]
pub(crate) struct Databases {
    /// Longest time for one answer.
    patience: Duration,
    /// Each has a lock of its own: who asks one does not wait for who asks another.
    open: Mutex<HashMap<PathBuf, Own>>,
}

impl Databases {
    /// `patience` is how long one answer may take.
    pub(crate) fn new(patience: Duration) -> Self {
        Self { patience, open: Mutex::default() }
    }

    /// A thousand questions go the way to it once. SQLite keeps its log beside the file itself, whatever links
    /// lead there.
    fn own(&self, db: &Path) -> io::Result<Own> {
        if let Some(own) = locked(&self.open).get(db) {
            return Ok(own.clone());
        }
        let own = Own { db: db.canonicalize()?, opened: Arc::default() };
        Ok(locked(&self.open).entry(db.to_owned()).or_insert(own).clone())
    }
}

impl Tables for Databases {
    fn rows(&self, db: &Path, sql: &str, args: &[Cell]) -> io::Result<Vec<Vec<Cell>>> {
        let Own { db, opened } = &self.own(db)?;
        let mut kept = locked(opened);
        let until = Instant::now() + self.patience;
        for _ in 0..TRIES {
            let mut opened = match kept.take().filter(|opened| opened.is_current(db)) {
                Some(opened) => opened,
                None => Opened::new(db)?,
            };
            let rows = answer::rows(opened.connection(), sql, args, until);
            // What was read from a file that changed meanwhile may be half old, half new.
            if opened.is_current(db) {
                *kept = Some(opened).filter(Opened::is_lasting);
                return rows;
            }
            if Instant::now() >= until {
                return Err(answer::late());
            }
        }
        Err(io::Error::other("it changes faster than it can be read"))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
