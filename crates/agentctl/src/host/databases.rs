//! SQLite files of other programs, read so that their writer never waits and nothing is left behind.
//!
//! A question is limited in time, rows and bytes: a huge or broken database makes its own answer an
//! error, and delays nobody who asks another one.

mod answer;
#[cfg(test)]
mod hostile;
mod opened;
#[cfg(test)]
mod tests;

use agentctl_core::{
    host::{Cell, Showing, Shown, Tables},
    lines::Flow,
};
use opened::Opened;
use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// How often a file that changes under the reader is read anew.
const TRIES: usize = 5;

/// Databases opened for one command.
#[derive(Debug)]
pub(crate) struct Databases {
    /// Longest time for one answer.
    patience: Duration,
    /// By the name under which each is asked: who asks while another does has a connection of his own.
    open: Mutex<HashMap<PathBuf, Kept>>,
}

/// One database.
#[derive(Debug)]
struct Kept {
    /// SQLite keeps its log beside the file itself, whatever links lead there.
    file: PathBuf,
    /// Connections that nobody asks now.
    idle: Vec<Opened>,
}

impl Databases {
    /// `patience` is how long one answer may take.
    pub(crate) fn new(patience: Duration) -> Self {
        Self { patience, open: Mutex::default() }
    }

    /// The file, and a connection that was asked before.
    fn take(&self, db: &Path) -> io::Result<(PathBuf, Option<Opened>)> {
        if let Some(kept) = locked(&self.open).get_mut(db) {
            return Ok((kept.file.clone(), kept.idle.pop()));
        }
        let file = db.canonicalize()?;
        let kept = Kept { file: file.clone(), idle: Vec::new() };
        locked(&self.open).insert(db.to_owned(), kept);
        Ok((file, None))
    }

    fn put_back(&self, db: &Path, opened: Opened) {
        if let Some(kept) = locked(&self.open).get_mut(db) {
            kept.idle.push(opened);
        }
    }
}

impl Tables for Databases {
    fn rows(&self, db: &Path, sql: &str, args: &[Cell]) -> io::Result<Vec<Vec<Cell>>> {
        let (file, mut idle) = self.take(db)?;
        let until = Instant::now() + self.patience;
        for _ in 0..TRIES {
            let mut opened = match idle.take() {
                Some(opened) => opened,
                None => Opened::new(&file)?,
            };
            let rows = answer::rows(opened.connection(), sql, args, until);
            // What was read from a file that changed since it was opened may be old, or half old, half new.
            if opened.is_current(&file) {
                if opened.is_lasting() {
                    self.put_back(db, opened);
                }
                return rows;
            }
            if Instant::now() >= until {
                return Err(answer::late());
            }
        }
        Err(io::Error::other("it changes faster than it can be read"))
    }

    fn show(
        &self,
        db: &Path,
        question: (&str, &[Cell]),
        visit: &mut dyn FnMut(&[Shown<'_>]) -> Flow,
    ) -> io::Result<Showing> {
        let (file, idle) = self.take(db)?;
        let until = Instant::now() + self.patience;
        let mut opened = match idle {
            Some(opened) => opened,
            None => Opened::new(&file)?,
        };
        let shown = answer::show(opened.connection(), question, until, visit);
        if !opened.is_current(&file) {
            // Whatever went wrong, unless it took all the time.
            return if Instant::now() < until { Ok(Showing::Torn) } else { Err(answer::late()) };
        }
        if opened.is_lasting() {
            self.put_back(db, opened);
        }
        shown.map(|()| Showing::Sound)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
