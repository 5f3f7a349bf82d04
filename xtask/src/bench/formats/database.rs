//! SQLite databases of agents, made of captured ones: their schema is the real one.

use super::super::time::Moment;
use crate::failure::{Failure, Outcome};
use rusqlite::Connection;
use std::{
    fs::{self, File},
    path::Path,
    time::{Duration, SystemTime},
};

/// Copies a captured database, empties these tables of it, and fills it.
pub(super) fn fill(
    captured: &Path,
    to: &Path,
    tables: &[&str],
    rows: impl FnOnce(&Connection) -> rusqlite::Result<Outcome<()>>,
) -> Outcome<()> {
    if let Some(dir) = to.parent() {
        fs::create_dir_all(dir).map_err(|why| Failure::io("create", dir, &why))?;
    }
    fs::copy(captured, to).map_err(|why| Failure::io("copy", captured, &why))?;
    let made = make(to, tables, rows);
    made.map_err(|why| Failure::new(format!("cannot fill {}: {why}", to.display())))?
}

/// Nobody else has the file, and what a crash leaves is made anew: no journal until it is full.
fn make(
    path: &Path,
    tables: &[&str],
    rows: impl FnOnce(&Connection) -> rusqlite::Result<Outcome<()>>,
) -> rusqlite::Result<Outcome<()>> {
    let made = Connection::open(path)?;
    made.execute_batch(
        "pragma foreign_keys = off; pragma journal_mode = off; pragma synchronous = off;",
    )?;
    for table in tables {
        made.execute_batch(&format!("delete from \"{table}\""))?;
    }
    // Captures are packed as small as they go; the agents leave the size of pages to SQLite.
    made.execute_batch("pragma page_size = 4096; vacuum; begin")?;
    let filled = rows(&made)?;
    made.execute_batch("commit; pragma journal_mode = wal;")?;
    made.close().map_err(|(_, why)| why)?;
    Ok(filled)
}

/// The database was last written at that moment.
pub(super) fn date(path: &Path, at: Moment) -> Outcome<()> {
    let file = File::options().append(true).open(path);
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(at.0);
    let set = file.and_then(|file| file.set_modified(at));
    set.map_err(|why| Failure::io("set the time of", path, &why))
}
