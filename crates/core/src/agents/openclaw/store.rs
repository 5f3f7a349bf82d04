//! Where sessions are: below `agents/<agent>/`, in a database or in files.

use super::{
    database,
    entry::Entry,
    files::{self, Found},
    lock,
};
use crate::{
    agent::{self, Claims, Depth, Listing, Message, Speaker, Stub, Trouble},
    agents::{files::is_id, json, pi::messages},
    evidence::Record,
    host::{Host, Kind},
};
use serde_json::Value;
use std::{
    collections::HashSet,
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

    /// What its database says of a session.
    fn stored(&self, host: &dyn Host, id: &str) -> io::Result<Option<Entry>> {
        match self.has_database(host) {
            true => database::one(host, &self.database, id),
            false => Ok(None),
        }
    }

    /// What its files say of a session. What was moved into the database may still lie among them.
    fn left(&self, host: &dyn Host, id: &str) -> Option<Stub> {
        let found = files::all(host, &self.files).ok()?;
        found.into_iter().find(|one| one.entry.id == id).map(|one| one.entry.stub(&one.path))
    }
}

/// Sessions that are stored as running.
pub(super) fn claims(host: &dyn Host, store: &Path) -> io::Result<Claims> {
    let (locks, problems) = lock::all(host, store);
    let mut found = Claims { problems, ..Claims::default() };
    for place in places(host, store)? {
        if place.has_database(host) {
            let shown = |row: &Entry| row.claim(database::shown(&place.database, row), &locks);
            match database::running(host, &place.database) {
                Ok(rows) => found.claims.extend(rows.iter().map(shown)),
                Err(why) => found.problems.push(trouble(&place.database, &why)),
            }
        }
        let left = |one: &&Found| {
            one.entry.runs() && !matches!(place.stored(host, &one.entry.id), Ok(Some(_)))
        };
        let claim = |one: &Found| one.entry.claim(one.shown.clone(), &locks);
        match files::all(host, &place.files) {
            Ok(all) => found.claims.extend(all.iter().filter(left).map(claim)),
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
        let mut broken = None;
        if place.has_database(host) {
            match database::all(host, &place.database) {
                Ok(rows) => stubs.extend(rows.iter().map(|row| row.stub(&place.database))),
                Err(why) => {
                    listing.problems.push(trouble(&place.database, &why));
                    broken = Some(&place.database);
                }
            }
        }
        match files::all(host, &place.files) {
            Ok(all) => {
                let moved: HashSet<String> = stubs.iter().map(|stub| stub.id.clone()).collect();
                let left = all.iter().filter(|one| !moved.contains(&one.entry.id));
                // A database that cannot be read may know more than the files it was made from.
                stubs.extend(left.map(|one| one.entry.stub(broken.unwrap_or(&one.path))));
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

/// One session. A database that cannot be read may hold it, and says why when read.
pub(super) fn find(host: &dyn Host, store: &Path, id: &str) -> Option<Stub> {
    let mut broken = None;
    for place in places(host, store).ok()? {
        match place.stored(host, id) {
            Ok(Some(row)) => return Some(row.stub(&place.database)),
            Ok(None) => {
                if let Some(stub) = place.left(host, id) {
                    return Some(stub);
                }
            }
            Err(_) => broken = broken.or(Some(place)),
        }
    }
    let place = broken?;
    let title = match place.left(host, id) {
        Some(left) => left.title,
        None if is_id(id) => None,
        None => return None, // a part of one, or another agent's
    };
    let updated = host.stat(&place.database).map(|stat| stat.modified).unwrap_or_default();
    Some(Stub { title, ..Stub::new(id, place.database, updated) })
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

/// The key of a session, unless its key has another transcript since.
pub(super) fn key(host: &dyn Host, record: &Path, id: &str) -> Option<String> {
    match record.extension().is_some_and(|ending| ending == "sqlite") {
        true => database::key(host, record, id),
        false => {
            let all = files::all(host, record.parent()?).ok()?;
            all.into_iter().find(|one| one.entry.id == id)?.entry.key
        }
    }
}

/// The session whose key ends so.
pub(super) fn of_key(host: &dyn Host, store: &Path, end: &str) -> Option<String> {
    let is_it = |key: &Option<String>| key.as_ref().is_some_and(|key| key.ends_with(end));
    places(host, store).ok()?.into_iter().find_map(|place| {
        let stored = || database::of_key(host, &place.database, end);
        stored().or_else(|| {
            let mut left = files::all(host, &place.files).ok()?.into_iter();
            Some(left.find(|one| is_it(&one.entry.key))?.entry.id)
        })
    })
}

/// An entry of a transcript is this prompt.
pub(super) fn is_prompt(entry: &Value, text: &str) -> bool {
    let is_it = |one: &Message| one.speaker == Speaker::User && one.text.trim() == text.trim();
    messages::of(entry).iter().any(is_it)
}

pub(super) fn is_database(stub: &Stub) -> bool {
    stub.path.extension().is_some_and(|ending| ending == "sqlite")
}
