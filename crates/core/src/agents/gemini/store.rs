//! Where sessions are: `tmp/<name of the directory>/chats/session-<minute>-<start of the id>.jsonl`.
//!
//! Files vanish at any moment: 0.61 tidies up at every start.

use crate::{
    agent::{Listing, Stub, Trouble},
    agents::json,
    host::{self, Bytes, Host, Kind},
    lines::{self, Body, Flow},
};
use jiff::Timestamp;
use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

/// Every session of a store, once.
pub(super) fn list(host: &dyn Host, store: &Path) -> io::Result<Listing> {
    let mut listing = Listing::default();
    for dir in folders(host, store)? {
        if let Err(why) = folder(host, &dir, &mut listing)
            && why.kind() != io::ErrorKind::NotFound
        {
            listing.problems.push(Trouble { path: dir, why: why.to_string() });
        }
    }
    Ok(listing)
}

/// Sessions of one directory. A resumed one has a second file, which holds nothing but its head
/// (0.61): the longer one counts, and the newer time.
fn folder(host: &dyn Host, dir: &Path, listing: &mut Listing) -> io::Result<()> {
    let mut found: BTreeMap<String, (u64, Stub)> = BTreeMap::new();
    for entry in host.entries(dir)?.into_iter().filter(|entry| start(&entry.name).is_some()) {
        let path = dir.join(&entry.name);
        let (mut size, mut stub) = match stub(host, &path) {
            Ok(found) => found,
            Err(why) if why.kind() == io::ErrorKind::NotFound => continue,
            Err(why) => {
                listing.problems.push(Trouble { path, why: why.to_string() });
                continue;
            }
        };
        if let Some((other, known)) = found.remove(&stub.id) {
            let newest = stub.updated.max(known.updated);
            stub = if other > size { known } else { stub };
            size = size.max(other);
            stub.updated = newest;
        }
        found.insert(stub.id.clone(), (size, stub));
    }
    listing.stubs.extend(found.into_values().map(|(_, stub)| stub));
    Ok(())
}

/// One session, in the folder where a file is named after it.
pub(super) fn find(host: &dyn Host, store: &Path, id: &str) -> Vec<Stub> {
    let named = |name: &str| start(name).is_some_and(|start| id.starts_with(start));
    let mut found = Vec::new();
    for dir in folders(host, store).unwrap_or_default() {
        let entries = host.entries(&dir).unwrap_or_default();
        if !entries.iter().any(|entry| named(&entry.name)) {
            continue;
        }
        let mut listing = Listing::default();
        if folder(host, &dir, &mut listing).is_ok() {
            found.extend(listing.stubs.into_iter().filter(|stub| stub.id == id));
        }
    }
    found
}

/// The directory a session works in: written down once for all of them.
pub(super) fn directory(host: &dyn Host, chat: &Path) -> io::Result<Option<PathBuf>> {
    let Some(root) = root_of(chat) else { return Ok(None) };
    let bytes = match host::slurp(host, &root, 64 << 10) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes?,
    };
    let root = String::from_utf8(bytes).ok().map(|text| text.trim_end_matches('\n').into());
    Ok(root.filter(|root: &PathBuf| root.is_absolute()))
}

/// Where that is written.
pub(super) fn root_of(chat: &Path) -> Option<PathBuf> {
    Some(chat.parent()?.parent()?.join(".project_root"))
}

fn folders(host: &dyn Host, store: &Path) -> io::Result<Vec<PathBuf>> {
    let dir = store.join("tmp");
    let entries = match host.entries(&dir) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let projects = entries.into_iter().filter(|entry| matches!(entry.kind, Kind::Dir | Kind::Link));
    Ok(projects.map(|entry| dir.join(entry.name).join("chats")).collect())
}

/// The session of a file and the file's length: only its first line has the whole id.
fn stub(host: &dyn Host, path: &Path) -> io::Result<(u64, Stub)> {
    let stat = host.stat(path)?;
    let file = host.open(path)?;
    let mut id = None;
    lines::forward(&*file, 0, &mut |line| {
        if let Body::Whole(bytes) = line.body {
            id = json::string(&json::object(bytes), "sessionId");
        }
        Flow::Break(())
    })?;
    let id = match id {
        Some(id) => id,
        None if is_begun(&*file)? => {
            return Err(io::Error::other("its first line names no session"));
        }
        None => return Err(io::ErrorKind::NotFound.into()), // being made: nothing is there yet
    };
    // Whoever reads it says why it cannot be read.
    let updated = written(&*file).unwrap_or_default().unwrap_or(stat.modified);
    let (touched, size) = (stat.touched, file.size());
    Ok((size, Stub { touched, stat: Some(stat), ..Stub::new(id, path, updated) }))
}

/// Its first line is whole.
fn is_begun(file: &dyn Bytes) -> io::Result<bool> {
    let mut start = vec![0; 64 << 10];
    let read = file.read_at(&mut start, 0)?;
    Ok(read == start.len() || start[..read].contains(&b'\n'))
}

/// When the session itself wrote last. The file's own time moves when another process of the same
/// directory begins, and adds a summary (0.61).
fn written(file: &dyn Bytes) -> io::Result<Option<Timestamp>> {
    let mut written = None;
    lines::recent(file, &mut |line| {
        if let Body::Whole(bytes) = line.body {
            let line = json::object(bytes);
            let set = json::time(&line["$set"], "lastUpdated");
            let head = || json::time(&line, "lastUpdated");
            written = set.or_else(|| json::time(&line, "timestamp")).or_else(head);
        }
        written.map(|_| Flow::Break(()))
    })?;
    Ok(written)
}

/// The first characters of the id, at the end of a file's name.
fn start(name: &str) -> Option<&str> {
    let (_, start) = name.strip_prefix("session-")?.strip_suffix(".jsonl")?.rsplit_once('-')?;
    Some(start).filter(|start| !start.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_how_an_id_starts() {
        assert_eq!(start("session-2026-11-15T18-50-aaaaaaa1.jsonl"), Some("aaaaaaa1"));
        assert_eq!(start("session-2026-11-15T18-50-aaaaaaa1.json"), None);
        assert_eq!(start("logs.json"), None);
    }
}
