//! SQLite files of other programs, read so that their writer never waits and nothing is left behind.

use agentctl_core::host::{Cell, Tables};
use rusqlite::{Connection, OpenFlags, params_from_iter, types::Value};
use std::{
    collections::HashMap,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// A writer that keeps the file to itself for longer makes the answer `unknown`, not late.
const PATIENCE: Duration = Duration::from_millis(100);

/// Databases opened for one command.
#[derive(Debug, Default)]
pub(crate) struct Databases {
    open: Mutex<HashMap<PathBuf, Opened>>,
}

#[derive(Debug)]
struct Opened(Connection);

impl Tables for Databases {
    fn rows(&self, db: &Path, sql: &str, args: &[Cell]) -> io::Result<Vec<Vec<Cell>>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if !open.contains_key(db) {
            open.insert(db.to_owned(), Opened::new(db)?);
        }
        let Opened(database) = open.get(db).expect("just opened");
        query(database, sql, args).map_err(io::Error::other)
    }
}

fn query(db: &Connection, sql: &str, args: &[Cell]) -> rusqlite::Result<Vec<Vec<Cell>>> {
    let mut query = db.prepare_cached(sql)?;
    let width = query.column_count();
    let rows = query.query_map(params_from_iter(args.iter().map(value)), |row| {
        (0..width).map(|at| row.get::<_, Value>(at).map(cell)).collect()
    })?;
    rows.collect()
}

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Number(number) => Value::Integer(*number),
        Cell::Fraction(number) => Value::Real(*number),
        Cell::Text(text) => Value::Text(text.clone()),
        Cell::Bytes(bytes) => Value::Blob(bytes.clone()),
    }
}

fn cell(value: Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Integer(number) => Cell::Number(number),
        Value::Real(number) => Cell::Fraction(number),
        Value::Text(text) => Cell::Text(text),
        Value::Blob(bytes) => Cell::Bytes(bytes),
    }
}

impl Opened {
    fn new(db: &Path) -> io::Result<Self> {
        if !fs::metadata(db)?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let written = fs::metadata(beside(db, "-wal")).is_ok_and(|wal| wal.len() > 0);
        match (written, beside(db, "-shm").exists()) {
            (false, _) => Self::at(db, "immutable=1", OpenFlags::SQLITE_OPEN_READ_ONLY),
            (true, true) => Self::at(db, "mode=ro", OpenFlags::SQLITE_OPEN_READ_ONLY),
            (true, false) => Self::copied(db),
        }
    }

    /// Reading a log without its index would make the index, and leave it behind: a copy is read, which
    /// is removed as soon as it is open, so that nothing is left however we end.
    fn copied(db: &Path) -> io::Result<Self> {
        let copy = tempfile::tempdir()?;
        let place = copy.path().join("copy.db");
        fs::copy(db, &place)?;
        fs::copy(beside(db, "-wal"), beside(&place, "-wal"))?;
        let opened = Self::at(&place, "mode=rw", OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // Its log is opened by the first look, and its index is then kept in memory.
        let look =
            "pragma locking_mode = exclusive; begin; select count(*) from sqlite_master; commit";
        opened.0.execute_batch(look).map_err(io::Error::other)?;
        Ok(opened)
    }

    fn at(db: &Path, mode: &str, flags: OpenFlags) -> io::Result<Self> {
        let uri = format!("file:{}?{mode}", escaped(db)?);
        let open = || {
            let database = Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?;
            database.busy_timeout(PATIENCE)?;
            Ok(database)
        };
        open().map(Self).map_err(|why: rusqlite::Error| io::Error::other(why))
    }
}

fn beside(db: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(db);
    name.push(ending);
    PathBuf::from(name)
}

/// The path as part of a URI.
fn escaped(path: &Path) -> io::Result<String> {
    let text = path.to_str().ok_or_else(|| io::Error::other("its name is not UTF-8"))?;
    Ok(text.replace('%', "%25").replace('?', "%3f").replace('#', "%23"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<OsString> {
        let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = entries.collect();
        names.sort();
        names
    }

    fn count(db: &Path) -> io::Result<Vec<Vec<Cell>>> {
        Databases::default().rows(db, "select count(*) from t", &[])
    }

    #[test]
    fn what_is_only_in_the_log_is_read_and_nothing_is_left_behind() {
        let home = tempfile::tempdir().unwrap();
        let db = home.path().join("a?b#c%.db");
        let writer = Connection::open(&db).unwrap();
        writer
            .execute_batch("pragma journal_mode=wal; create table t(x); insert into t values(1)")
            .unwrap();
        assert_eq!(count(&db).unwrap(), [[Cell::Number(1)]]);
        let crashed = tempfile::tempdir().unwrap();
        let copy = crashed.path().join("copied.db");
        fs::copy(&db, &copy).unwrap();
        fs::copy(beside(&db, "-wal"), beside(&copy, "-wal")).unwrap();
        let before = names(crashed.path());
        assert_eq!(count(&copy).unwrap(), [[Cell::Number(1)]]);
        assert_eq!(names(crashed.path()), before);
    }

    #[test]
    fn a_closed_database_stays_alone_and_a_locked_one_does_not_hang() {
        let home = tempfile::tempdir().unwrap();
        let db = home.path().join("a.db");
        let writer = Connection::open(&db).unwrap();
        writer.execute_batch("create table t(x)").unwrap();
        assert_eq!(count(&db).unwrap(), [[Cell::Number(0)]]);
        assert_eq!(names(home.path()), ["a.db"]);
        drop(writer);
        fs::write(&db, b"no database at all, but long enough to be looked at as one").unwrap();
        assert!(count(&db).is_err());
    }
}
