//! Where sessions are: below `agents/<agent>/`, in a database or in files.

use super::{database, entry::Entry, files, lock};
use crate::{
    agent::{self, Claims, Depth, Listing, Message, Stub, Trouble},
    agents::{json, pi::messages},
    evidence::Record,
    host::{Host, Kind},
};
use std::{
    io,
    path::{Path, PathBuf},
};

/// Said of what only a gateway could tell while none answers.
pub(super) const SILENT: &str = "gateway unreachable";

/// The places of one agent.
struct Place {
    database: PathBuf,
    files: PathBuf,
}

fn places(host: &dyn Host, store: &Path) -> io::Result<Vec<Place>> {
    let agents = store.join("agents");
    let entries = match host.entries(&agents) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let dirs = entries.into_iter().filter(|entry| matches!(entry.kind, Kind::Dir | Kind::Link));
    let place = |name: String| Place {
        database: agents.join(&name).join("agent/openclaw-agent.sqlite"),
        files: agents.join(&name).join("sessions"),
    };
    Ok(dirs.map(|dir| place(dir.name)).collect())
}

impl Place {
    /// One that cannot be looked at is there.
    fn has_database(&self, host: &dyn Host) -> bool {
        let stat = host.stat(&self.database);
        stat.err().is_none_or(|why| why.kind() != io::ErrorKind::NotFound)
    }

    /// What was moved into the database may still lie among the files.
    fn has_moved(&self, host: &dyn Host, id: &str) -> bool {
        let stored = self.has_database(host).then(|| database::one(host, &self.database, id));
        matches!(stored, Some(Ok(Some(_))))
    }
}

/// Sessions that are stored as running.
pub(super) fn claims(host: &dyn Host, store: &Path) -> io::Result<Claims> {
    let locks = lock::all(host, store);
    let mut found = Claims::default();
    for place in places(host, store)? {
        if place.has_database(host) {
            let shown = |row: &Entry| row.claim(database::shown(&place.database, row), &locks);
            match database::running(host, &place.database) {
                Ok(rows) => found.claims.extend(rows.iter().map(shown)),
                Err(why) => found.problems.push(trouble(&place.database, &why)),
            }
        }
        let left =
            |(entry, _): &&(Entry, PathBuf)| entry.runs() && !place.has_moved(host, &entry.id);
        let shown =
            |(entry, path): &(Entry, PathBuf)| entry.claim(files::shown(host, path, entry), &locks);
        match files::all(host, &place.files) {
            Ok(all) => found.claims.extend(all.iter().filter(left).map(shown)),
            Err(why) => found.problems.push(trouble(&place.files, &why)),
        }
    }
    Ok(found)
}

/// Every session of a store.
pub(super) fn list(host: &dyn Host, store: &Path) -> io::Result<Listing> {
    let mut listing = Listing::default();
    for place in places(host, store)? {
        let mut stubs = Vec::new();
        if place.has_database(host) {
            match database::all(host, &place.database) {
                Ok(rows) => stubs.extend(rows.iter().map(|row| row.stub(&place.database))),
                Err(why) => listing.problems.push(trouble(&place.database, &why)),
            }
        }
        match files::all(host, &place.files) {
            Ok(all) => {
                let moved: Vec<String> = stubs.iter().map(|stub| stub.id.clone()).collect();
                let left = all.iter().filter(|(entry, _)| !moved.contains(&entry.id));
                stubs.extend(left.map(|(entry, path)| entry.stub(path)));
            }
            Err(why) => listing.problems.push(trouble(&place.files, &why)),
        }
        listing.stubs.append(&mut stubs);
    }
    Ok(listing)
}

fn trouble(path: &Path, why: &io::Error) -> Trouble {
    Trouble { path: path.to_owned(), why: why.to_string() }
}

/// One session.
pub(super) fn find(host: &dyn Host, store: &Path, id: &str) -> Option<Stub> {
    places(host, store).ok()?.into_iter().find_map(|place| {
        let stored = place.has_database(host).then(|| database::one(host, &place.database, id));
        if let Some(Ok(Some(row))) = stored {
            return Some(row.stub(&place.database));
        }
        let files = files::all(host, &place.files).ok()?;
        let (entry, path) = files.into_iter().find(|(entry, _)| entry.id == id)?;
        Some(entry.stub(&path))
    })
}

/// What one session says of itself.
pub(super) fn read(host: &dyn Host, stub: &Stub, depth: Depth) -> io::Result<Record> {
    match is_database(stub) {
        true => database::read(host, stub, depth),
        false => files::read(host, stub, depth),
    }
}

/// Its last messages, and where to go on.
pub(super) fn tail(host: &dyn Host, stub: &Stub, count: usize) -> io::Result<(Vec<Message>, u64)> {
    match is_database(stub) {
        true => database::tail(host, stub, count),
        false => agent::last_lines(said, host, &stub.path, count),
    }
}

/// The messages since then, and where to go on.
pub(super) fn since(host: &dyn Host, stub: &Stub, at: u64) -> io::Result<(Vec<Message>, u64)> {
    match is_database(stub) {
        true => database::since(host, stub, at),
        false => agent::lines_since(said, host, &stub.path, at),
    }
}

fn said(line: &[u8]) -> Vec<Message> {
    messages::of(&json::object(line))
}

/// The file that changes first when a session says more.
pub(super) fn grows(stub: &Stub) -> PathBuf {
    match is_database(stub) {
        true => PathBuf::from(format!("{}-wal", stub.path.display())),
        false => stub.path.clone(),
    }
}

fn is_database(stub: &Stub) -> bool {
    stub.path.extension().is_some_and(|ending| ending == "sqlite")
}
