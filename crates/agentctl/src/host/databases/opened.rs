//! How a file of another program is opened, and how long that stays true.

use crate::host::Disk;
use agentctl_core::host::{Files, Kind, Stat};
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OpenFlags, config::DbConfig};
use std::{
    ffi::OsString,
    fs::File,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

/// A writer that keeps the file to itself for longer makes the answer `unknown`, not late.
const PATIENCE: Duration = Duration::from_millis(100);
/// Largest database that is copied to be read.
const COPIED: u64 = 256 << 20;
/// Coarser than any file system's clock: what was written this long ago would show if written again.
const SETTLED: SignedDuration = SignedDuration::from_secs(2);

/// An open database.
#[derive(Debug)]
pub(super) struct Opened {
    connection: Connection,
    /// It sees what is written from now on. Otherwise it shows one moment, and knows no other.
    follows: bool,
    seen: Seen,
    lasting: bool,
}

impl Opened {
    pub(super) fn new(db: &Path) -> io::Result<Self> {
        let seen = Seen::now(db)?;
        // SQLite takes the log beside an empty file for what an earlier one left, and removes it, whoever reads. It is
        // its agent's, who still writes there.
        if seen.db.size == 0 && seen.log.is_some() {
            return Err(io::Error::other("it is empty, and its log is not"));
        }
        let (connection, follows) = match (&seen.log, seen.is_indexed, &seen.journal) {
            (Some(_), true, _) => (at(db, "mode=ro", OpenFlags::SQLITE_OPEN_READ_ONLY)?, true),
            (Some(_), false, _) => (copied(db, &seen)?, false),
            // A change is being made, or was left half made: only locks tell whether to believe the file.
            (None, _, Some(_)) => (at(db, "mode=ro", OpenFlags::SQLITE_OPEN_READ_ONLY)?, true),
            (None, _, None) => (at(db, "immutable=1", OpenFlags::SQLITE_OPEN_READ_ONLY)?, false),
        };
        let lasting = follows || seen.is_settled();
        Ok(Self { connection, follows, seen, lasting })
    }

    pub(super) fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// It still shows what the files hold.
    pub(super) fn is_current(&self, db: &Path) -> bool {
        Seen::now(db).is_ok_and(|now| match self.follows {
            true => self.seen.is_same_file(&now),
            false => self.seen == now,
        })
    }

    /// It may be asked again: if the files change, that will show.
    pub(super) fn is_lasting(&self) -> bool {
        self.lasting
    }
}

/// A database's files at one moment.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    db: Stat,
    /// What is written first goes here, if there is anything.
    log: Option<Stat>,
    /// There is a log, and it has an index.
    is_indexed: bool,
    /// What was there before a change that is not complete.
    journal: Option<Stat>,
}

impl Seen {
    fn now(db: &Path) -> io::Result<Self> {
        let file = Disk.stat(db)?;
        if file.kind != Kind::File {
            return Err(io::Error::other("not a regular file"));
        }
        let log = filled(&beside(db, "-wal"))?;
        Ok(Self {
            db: file,
            is_indexed: log.is_some() && stat(&beside(db, "-shm"))?.is_some(),
            log,
            journal: filled(&beside(db, "-journal"))?,
        })
    }

    fn is_same_file(&self, now: &Self) -> bool {
        let same = |one: &Option<Stat>, other: &Option<Stat>| {
            one.map(|file| file.identity) == other.map(|file| file.identity)
        };
        self.db.identity == now.db.identity
            && same(&self.log, &now.log)
            && same(&self.journal, &now.journal)
    }

    /// A write that comes now will have another time than those before it.
    fn is_settled(&self) -> bool {
        let now = Timestamp::now();
        let settled = |file: &Stat| now.duration_since(file.touched) >= SETTLED;
        [Some(&self.db), self.log.as_ref()].into_iter().flatten().all(settled)
    }
}

/// A file that has something in it.
fn filled(path: &Path) -> io::Result<Option<Stat>> {
    Ok(stat(path)?.filter(|file| file.size > 0))
}

/// One that cannot be looked at is not absent.
fn stat(path: &Path) -> io::Result<Option<Stat>> {
    match Disk.stat(path) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Reading a log without its index would make the index, and leave it behind: a copy is read, which
/// is removed as soon as it is open. Only who is killed while it is made leaves it.
fn copied(db: &Path, seen: &Seen) -> io::Result<Connection> {
    let size = seen.log.as_ref().map_or(0, |log| log.size).saturating_add(seen.db.size);
    if size > COPIED {
        let why = format!("its log has no index, and {size} bytes are too many to copy");
        return Err(io::Error::other(why));
    }
    let copy = tempfile::tempdir()?;
    let place = copy.path().join("copy.db");
    // Ours may be written to, whatever its agent's may.
    let copy_of =
        |from: &Path, to: &Path| io::copy(&mut File::open(from)?, &mut File::create_new(to)?);
    copy_of(db, &place)?;
    copy_of(&beside(db, "-wal"), &beside(&place, "-wal"))?;
    let connection = at(&place, "mode=rw", OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // Its log is opened by the first look, and its index is then kept in memory.
    let look = "pragma locking_mode = exclusive; begin; select count(*) from sqlite_master; commit";
    connection.execute_batch(look).map_err(io::Error::other)?;
    Ok(connection)
}

fn at(db: &Path, mode: &str, flags: OpenFlags) -> io::Result<Connection> {
    crate::write::outlive_limits(); // SQLite may make the shared memory of a log longer
    let uri = format!("file:{}?{mode}", escaped(db)?);
    // Who asks has the connection to himself: SQLite need not lock it for each cell.
    let flags = flags | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        let database = Connection::open_with_flags(uri, flags)?;
        database.busy_timeout(PATIENCE)?;
        // Else a question that was put before is thought over for each argument: as long as the answer takes.
        database.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(database)
    };
    open().map_err(|why: rusqlite::Error| io::Error::other(why))
}

/// A file that belongs to a database.
pub(super) fn beside(db: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(db);
    name.push(ending);
    PathBuf::from(name)
}

/// The path as part of a URI.
fn escaped(path: &Path) -> io::Result<String> {
    let text = path.to_str().ok_or_else(|| io::Error::other("its name is not UTF-8"))?;
    Ok(text.replace('%', "%25").replace('?', "%3f").replace('#', "%23"))
}
