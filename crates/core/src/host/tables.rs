//! Databases of other programs, as plain rows.

use crate::{lines::Flow, text};
use std::{borrow::Cow, io, path::Path};

/// One value of a database row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing.
    Null,
    /// A whole number.
    Number(i64),
    /// A fraction.
    Fraction(f64),
    /// Text, or bytes that are.
    Text(String),
    /// Other bytes.
    Bytes(Vec<u8>),
}

impl Cell {
    /// Its text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Null | Self::Number(_) | Self::Fraction(_) | Self::Bytes(_) => None,
        }
    }

    /// Its number, cut to a whole one.
    pub fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Fraction(number) => Some(*number as i64),
            Self::Null | Self::Text(_) | Self::Bytes(_) => None,
        }
    }

    /// Its number as a fraction.
    pub fn fraction(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number as f64),
            Self::Fraction(number) => Some(*number),
            Self::Null | Self::Text(_) | Self::Bytes(_) => None,
        }
    }
}

/// One value of a database row where it stands, until the next row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shown<'r> {
    /// Nothing.
    Null,
    /// A whole number.
    Number(i64),
    /// A fraction.
    Fraction(f64),
    /// Bytes that should be text.
    Text(&'r [u8]),
    /// Other bytes.
    Bytes(&'r [u8]),
}

impl<'r> Shown<'r> {
    /// Its text, mended where it is none.
    pub fn text(&self) -> Option<Cow<'r, str>> {
        match *self {
            Self::Text(bytes) => Some(text::mended(bytes)),
            Self::Null | Self::Number(_) | Self::Fraction(_) | Self::Bytes(_) => None,
        }
    }
}

impl<'r> From<&'r Cell> for Shown<'r> {
    fn from(cell: &'r Cell) -> Self {
        match cell {
            Cell::Null => Self::Null,
            Cell::Number(number) => Self::Number(*number),
            Cell::Fraction(number) => Self::Fraction(*number),
            Cell::Text(text) => Self::Text(text.as_bytes()),
            Cell::Bytes(bytes) => Self::Bytes(bytes),
        }
    }
}

/// Whether rows that were shown one after the other belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Showing {
    /// They are what the database held at one moment.
    Sound,
    /// The database changed meanwhile: nothing that was shown counts.
    Torn,
}

/// Reads of SQLite databases that other programs write.
pub trait Tables {
    /// The rows a query gives. Never blocks the writer, and leaves no file behind.
    fn rows(&self, db: &Path, sql: &str, args: &[Cell]) -> io::Result<Vec<Vec<Cell>>>;

    /// Shows the same rows until the visitor has enough. They are not held, however long they are.
    fn show(
        &self,
        db: &Path,
        (sql, args): (&str, &[Cell]),
        visit: &mut dyn FnMut(&[Shown<'_>]) -> Flow,
    ) -> io::Result<Showing> {
        for row in self.rows(db, sql, args)? {
            if visit(&row.iter().map(Shown::from).collect::<Vec<_>>()).is_break() {
                break;
            }
        }
        Ok(Showing::Sound)
    }

    /// Has somebody put several questions to this database, and all of them again where its files show that they changed; that a
    /// log has grown does not count. `None` where they may as well be put one by one.
    fn at_once(&self, _: &Path, _: &mut dyn FnMut(&dyn Tables)) -> Option<io::Result<()>> {
        None
    }
}

/// Several questions to one database, put [at once](Tables::at_once): each sees what a log holds by then.
pub fn together<T>(
    tables: &dyn Tables,
    db: &Path,
    ask: impl Fn(&dyn Tables) -> io::Result<T>,
) -> io::Result<T> {
    let mut told = None;
    match tables.at_once(db, &mut |tables| told = Some(ask(tables))) {
        None => ask(tables),
        Some(done) => done.and_then(|()| told.unwrap_or_else(|| ask(tables))),
    }
}

/// Shows every row of an answer where it stands: what is not kept of it is not held. To be put [`together`] with others, or alone.
pub fn each_row(
    tables: &dyn Tables,
    db: &Path,
    question: (&str, &[Cell]),
    visit: &mut dyn FnMut(&[Shown<'_>]),
) -> io::Result<()> {
    let shown = tables.show(db, question, &mut |row| {
        visit(row);
        Flow::Continue(())
    });
    match shown? {
        Showing::Sound => Ok(()),
        Showing::Torn => Err(io::Error::other("it changed while it was read")),
    }
}
