//! Which databases and files a store has. Where a session is in both, the database counts.

use super::{database, storage};
use crate::{
    agent::{Listing, Stub, Trouble},
    host::{Host, Kind},
    proof::Source,
};
use jiff::Timestamp;
use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
};

/// Length of an id that OpenCode makes itself.
const FULL: usize = 30;

/// OpenCode makes its own ids so, and takes no other. Ids are names of files: one that leads elsewhere
/// is none.
pub(super) fn is_id(text: &str) -> bool {
    text.starts_with("ses") && !text.contains(['/', '\\', '\0'])
}

/// The session is in JSON files, not in a database.
pub(super) fn is_file(stub: &Stub) -> bool {
    stub.path.extension().is_some_and(|kind| kind == "json")
}

/// A store is a directory, or a database that a variable names.
fn is_directory(host: &dyn Host, store: &Path) -> io::Result<bool> {
    Ok(host.stat(store)?.kind != Kind::File)
}

/// The databases of a store: the store itself, or one for each release channel, the usual one first.
pub(super) fn databases(host: &dyn Host, store: &Path) -> io::Result<Vec<PathBuf>> {
    if !is_directory(host, store)? {
        return Ok(vec![store.to_owned()]);
    }
    let mut names: Vec<String> = host.entries(store)?.into_iter().map(|entry| entry.name).collect();
    let channel = |name: &str| name.starts_with("opencode-") && name.ends_with(".db");
    names.retain(|name| name == "opencode.db" || channel(name));
    names.sort_by_key(|name| (name != "opencode.db", name.clone()));
    Ok(names.iter().map(|name| store.join(name)).collect())
}

/// Every session of a store, once.
pub(super) fn list(host: &dyn Host, store: &Path) -> io::Result<Listing> {
    let mut listing = Listing::default();
    let mut broken = None;
    let mut seen = HashSet::new();
    for db in databases(host, store)? {
        match database::list(host, &db) {
            Ok(stubs) => {
                listing.stubs.extend(stubs.into_iter().filter(|stub| seen.insert(stub.id.clone())));
            }
            Err(why) => {
                listing.problems.push(Trouble { path: db.clone(), why: why.to_string() });
                broken.get_or_insert(db);
            }
        }
    }
    let older = match is_directory(host, store)? {
        true => storage::list(host, store, &mut listing.problems),
        false => Vec::new(),
    };
    for stub in older.into_iter().filter(|stub| seen.insert(stub.id.clone())) {
        // A database that cannot be read may know more than the files it was made from.
        let path = broken.clone().unwrap_or(stub.path);
        listing.stubs.push(Stub { path, ..stub });
    }
    Ok(listing)
}

/// One session by its full id. A database that cannot be read may hold it, and says why when read.
pub(super) fn find(host: &dyn Host, store: &Path, id: &str) -> Option<Stub> {
    if !is_id(id) {
        return None;
    }
    for db in databases(host, store).ok()? {
        match database::find(host, &db, id) {
            Ok(None) => {}
            Ok(found) => return found,
            Err(_) if id.len() < FULL => return None, // a part of one
            Err(_) => {
                let updated = host.stat(&db).ok()?.modified;
                return Some(Stub::new(id, db, updated));
            }
        }
    }
    match storage::find(host, store, id) {
        Ok(found) => found,
        Err(_) if id.len() < FULL => None,
        Err(path) => {
            let updated = host.stat(store).ok()?.modified;
            Some(Stub::new(id, path, updated))
        }
    }
}

/// Whether a session that no database has was written to since then, or may have been.
pub(super) fn has_newer_files(host: &dyn Host, store: &Path, since: Timestamp) -> bool {
    let is_newer = |stub: &Stub| is_file(stub) && since <= stub.updated;
    list(host, store)
        .map_or(true, |listing| !listing.problems.is_empty() || listing.stubs.iter().any(is_newer))
}

/// Sessions that this one spawned; only the database is asked, since only it is still written.
pub(super) fn spawned(host: &dyn Host, store: &Path, id: &str) -> io::Result<Vec<(Stub, Source)>> {
    let (mut found, mut unread) = (Vec::new(), None);
    for db in databases(host, store)? {
        match database::spawned(host, &db, id) {
            Ok(spawned) => found.extend(spawned),
            Err(why) => unread = Some(why),
        }
    }
    // They stand in one database: another that cannot be read hides none of them.
    match unread {
        Some(why) if found.is_empty() => Err(why),
        Some(_) | None => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_leads_nowhere() {
        assert!(is_id("ses_e1f7b6bd9ffeXM7NCCIsxbHspv"));
        assert!(!is_id("ses/../../../etc/passwd"));
        assert!(!is_id("msg_1e0859b040016t78kqxAAzR28n"));
    }
}
