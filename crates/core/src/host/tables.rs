//! Databases of other programs, as plain rows.

use crate::lines::Flow;
use std::{io, path::Path};

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

    /// This database as it is now, for whoever has several questions; none where each question costs the same anyhow.
    fn moment(&self, _: &Path) -> io::Result<Option<Box<dyn Moment + '_>>> {
        Ok(None)
    }
}

/// A database that is asked more than once before anybody looks whether it has changed meanwhile.
pub trait Moment: Tables {
    /// It had not changed when the last question was answered: else no answer counts.
    fn stands(self: Box<Self>) -> io::Result<bool>;
}

/// How often whoever has several questions puts them anew.
const TRIES: usize = 5;

/// Several questions to one database. They are all put again where it changed under them.
pub fn together<T>(
    tables: &dyn Tables,
    db: &Path,
    ask: impl Fn(&dyn Tables) -> io::Result<T>,
) -> io::Result<T> {
    for _ in 0..TRIES {
        let Some(moment) = tables.moment(db)? else { return ask(tables) };
        let told = ask(&*moment);
        if moment.stands()? {
            return told;
        }
    }
    Err(io::Error::other("it changes faster than it can be read"))
}
