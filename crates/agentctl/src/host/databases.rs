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
    cell::{Cell as Flag, RefCell, RefMut},
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// How often questions are put, if each time a change comes in between.
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
    /// How many answers came too late.
    late: u32,
}

impl Databases {
    /// `patience` is how long one answer may take.
    pub(crate) fn new(patience: Duration) -> Self {
        Self { patience, open: Mutex::default() }
    }

    /// A connection that was asked before, or a new one. `until`: when its answers come too late, if that is fixed already.
    fn asked(&self, db: &Path, until: Option<Instant>) -> io::Result<Asked<'_>> {
        let (file, idle) = self.take(db)?;
        let opened = idle.map_or_else(|| Opened::new(&file), Ok)?;
        let (db, opened, was_asked) = (db.to_owned(), RefCell::new(opened), Flag::new(false));
        Ok(Asked { all: self, db, file, opened, was_asked, until })
    }

    /// Has questions put until nothing changes meanwhile; not again after the time of one answer, or after `by`.
    fn again_and_again<T>(
        &self,
        db: &Path,
        by: Option<Instant>,
        mut ask: impl FnMut(&dyn Tables) -> T,
    ) -> io::Result<T> {
        let (until, mut left) = (by.unwrap_or_else(|| self.until(db)), by);
        for _ in 0..TRIES {
            let asked = self.asked(db, left)?;
            let told = ask(&asked);
            if asked.stands_by(until)? {
                return Ok(told);
            }
            left = Some(until);
        }
        Err(io::Error::other("it changes faster than it can be read"))
    }

    fn show_by(
        &self,
        until: Instant,
        db: &Path,
        question: (&str, &[Cell]),
        visit: &mut dyn FnMut(&[Shown<'_>]) -> Flow,
    ) -> io::Result<Showing> {
        let asked = self.asked(db, Some(until))?;
        let shown = asked.show(db, question, visit);
        // Whatever went wrong, if it was asked while it changed.
        if asked.stands_by(until)? { shown } else { Ok(Showing::Torn) }
    }

    /// When an answer to what is asked now comes too late. Each that did halves the time of the next: however many are late,
    /// together they take twice the time of one.
    fn until(&self, db: &Path) -> Instant {
        let late = locked(&self.open).get(db).map_or(0, |kept| kept.late);
        Instant::now() + self.patience / 2u32.saturating_pow(late)
    }

    /// Counts an answer that came too late.
    fn noted<T>(&self, db: &Path, answer: io::Result<T>) -> io::Result<T> {
        if answer.as_ref().is_err_and(|why| why.kind() == io::ErrorKind::TimedOut)
            && let Some(kept) = locked(&self.open).get_mut(db)
        {
            kept.late = kept.late.saturating_add(1);
        }
        answer
    }

    fn take(&self, db: &Path) -> io::Result<(PathBuf, Option<Opened>)> {
        if let Some(kept) = locked(&self.open).get_mut(db) {
            return Ok((kept.file.clone(), kept.idle.pop()));
        }
        let file = db.canonicalize()?;
        let kept = Kept { file: file.clone(), idle: Vec::new(), late: 0 };
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
        self.again_and_again(db, None, |tables| tables.rows(db, sql, args))?
    }

    fn show(
        &self,
        db: &Path,
        question: (&str, &[Cell]),
        visit: &mut dyn FnMut(&[Shown<'_>]) -> Flow,
    ) -> io::Result<Showing> {
        self.show_by(self.until(db), db, question, visit)
    }

    fn at_once(&self, db: &Path, ask: &mut dyn FnMut(&dyn Tables)) -> Option<io::Result<()>> {
        Some(self.again_and_again(db, None, ask))
    }
}

/// One of them, while it is asked.
struct Asked<'d> {
    all: &'d Databases,
    db: PathBuf,
    file: PathBuf,
    opened: RefCell<Opened>,
    was_asked: Flag<bool>,
    /// When answers come too late; else each may take its time.
    until: Option<Instant>,
}

impl Asked<'_> {
    /// The connection, unless another database is meant, who is shown a row asks for more, or a change might not show: then each
    /// question has its own.
    fn opened_at(&self, db: &Path) -> Option<RefMut<'_, Opened>> {
        let opened = self.opened.try_borrow_mut().ok().filter(|_| db == self.db)?;
        let is_first = !self.was_asked.replace(true);
        (is_first || opened.is_lasting()).then_some(opened)
    }

    fn until(&self) -> Instant {
        self.until.unwrap_or_else(|| self.all.until(&self.db))
    }

    /// What was read from a file that changed since it was opened may be old, or half old, half new.
    fn stands_by(self, until: Instant) -> io::Result<bool> {
        let opened = self.opened.into_inner();
        let is_current = opened.is_current(&self.file);
        if is_current && opened.is_lasting() {
            self.all.put_back(&self.db, opened);
        }
        if is_current || Instant::now() < until { Ok(is_current) } else { Err(answer::late()) }
    }
}

impl Tables for Asked<'_> {
    fn rows(&self, db: &Path, sql: &str, args: &[Cell]) -> io::Result<Vec<Vec<Cell>>> {
        match self.opened_at(db) {
            Some(mut opened) => {
                let rows = answer::rows(opened.connection(), sql, args, self.until());
                self.all.noted(db, rows)
            }
            None => self.all.again_and_again(db, self.until, |all| all.rows(db, sql, args))?,
        }
    }

    fn show(
        &self,
        db: &Path,
        question: (&str, &[Cell]),
        visit: &mut dyn FnMut(&[Shown<'_>]) -> Flow,
    ) -> io::Result<Showing> {
        let Some(mut opened) = self.opened_at(db) else {
            return self.all.show_by(self.until(), db, question, visit);
        };
        let shown = answer::show(opened.connection(), question, self.until(), visit);
        self.all.noted(db, shown.map(|()| Showing::Sound))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
