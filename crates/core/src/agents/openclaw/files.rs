//! Sessions before 2026.7: an index by key, and one JSONL file a transcript (2026.6.11).

use super::{entry::Entry, transcript::Transcript};
use crate::{
    agent::{Depth, Stub},
    agents::{files::is_id, json},
    evidence::Record,
    host::{self, Host},
    lines::{self, Body},
    proof::Source,
};
use jiff::Timestamp;
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    io,
    path::{Path, PathBuf},
};

const INDEX: &str = "sessions.json";
/// The index holds every session with snapshots of its prompt; more than this is not read.
const LIMIT: usize = 64 << 20;
/// How many lines of either end a glance reads.
const GLANCE: usize = 16;

/// A session, the file that holds it, and the place that shows its status.
pub(super) struct Found {
    pub(super) entry: Entry,
    pub(super) path: PathBuf,
    pub(super) shown: Source,
}

/// Every session of a folder: those of the index, and transcripts that no key points to any more.
pub(super) fn all(host: &dyn Host, dir: &Path) -> io::Result<Vec<Found>> {
    let names = match host.entries(dir) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        names => names?,
    };
    let mut found = Vec::new();
    for (entry, shown) in index(host, dir)? {
        let path = match transcript_of(&entry.id, dir).filter(|path| host.stat(path).is_ok()) {
            Some(transcript) => transcript,
            None => dir.join(INDEX),
        };
        found.push(Found { entry, path, shown });
    }
    let known: HashSet<String> = found.iter().map(|one| one.entry.id.clone()).collect();
    for name in names {
        let Some(id) = name.name.strip_suffix(".jsonl").filter(|id| is_id(id)) else { continue };
        if known.contains(id) {
            continue;
        }
        let path = dir.join(&name.name);
        let updated = host.stat(&path).ok().map(|stat| stat.modified);
        let (entry, shown) = unnamed(id, &path, updated);
        found.push(Found { entry, path, shown });
    }
    Ok(found)
}

/// Ids are read from a file: one that would lead elsewhere has no transcript.
fn transcript_of(id: &str, dir: &Path) -> Option<PathBuf> {
    (!id.contains(['/', '\\'])).then(|| dir.join(format!("{id}.jsonl")))
}

/// A transcript that no key points to tells of itself alone.
fn unnamed(id: &str, path: &Path, updated: Option<Timestamp>) -> (Entry, Source) {
    let shown = Source::File { path: path.to_owned(), shows: id.to_owned() };
    (Entry { id: id.to_owned(), updated, ..Entry::default() }, shown)
}

fn index(host: &dyn Host, dir: &Path) -> io::Result<Vec<(Entry, Source)>> {
    let path = dir.join(INDEX);
    let text = match host::slurp(host, &path, LIMIT) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text?,
    };
    let index: Value = serde_json::from_slice(&text)?;
    let mut lines = statuses(&text);
    let found = index.as_object().into_iter().flatten().filter_map(|(key, value)| {
        let entry = entry(key, value)?;
        let (path, id) = (path.clone(), entry.id.clone());
        let shown = match lines.remove(key) {
            Some((offset, shows)) => Source::Line { path, offset, shows, without: Vec::new() },
            None => Source::File { path, shows: id },
        };
        Some((entry, shown))
    });
    Ok(found.collect())
}

/// Where the index says each key's status, and the words there. 2026.6.11 writes it a field a line, two
/// spaces a level; in an index that is written otherwise no such line is found.
fn statuses(index: &[u8]) -> HashMap<String, (u64, String)> {
    let (mut found, mut key, mut at) = (HashMap::new(), None, 0u64);
    for line in index.split_inclusive(|byte| *byte == b'\n') {
        let offset = at;
        at += line.len() as u64;
        let Ok(text) = std::str::from_utf8(line) else { continue };
        let text = text.trim_end_matches(['\n', '\r', ',']);
        if let Some(name) = text.strip_prefix("  \"").and_then(|name| name.strip_suffix("\": {")) {
            key = serde_json::from_str::<String>(&format!("\"{name}\"")).ok();
        }
        if let (Some(key), true) = (&key, text.starts_with("    \"status\": ")) {
            found.insert(key.clone(), (offset, text.trim_start().to_owned()));
        }
    }
    found
}

fn entry(key: &str, value: &Value) -> Option<Entry> {
    Some(Entry {
        id: json::string(value, "sessionId")?,
        key: Some(key.to_owned()),
        label: json::string(value, "label"),
        status: json::string(value, "status"),
        error: json::string(value, "lastRunError"),
        began: json::millis(value, "startedAt"),
        ended: json::millis(value, "endedAt"),
        created: json::millis(value, "sessionStartedAt"),
        updated: json::millis(value, "updatedAt"),
        cwd: json::path(value, "spawnedCwd"),
        model: json::string(value, "model"),
        ..Entry::default()
    })
}

/// What one session says of itself.
pub(super) fn read(host: &dyn Host, stub: &Stub, depth: Depth) -> io::Result<Record> {
    let dir = stub.path.parent().unwrap_or(&stub.path);
    let indexed = index(host, dir)?.into_iter().find(|(entry, _)| entry.id == stub.id);
    let (entry, shown) =
        indexed.unwrap_or_else(|| unnamed(&stub.id, &stub.path, Some(stub.updated)));
    let said = match stub.path.ends_with(INDEX) {
        true => Transcript::default(),
        false => transcript(host, &stub.path, depth)?,
    };
    entry.record(shown, said)
}

fn transcript(host: &dyn Host, path: &Path, depth: Depth) -> io::Result<Transcript> {
    let file = host.open(path)?;
    let mut said = match depth {
        Depth::Whole => Transcript::counted(),
        Depth::Glance => Transcript::default(),
    };
    let mut left = match depth {
        Depth::Whole => usize::MAX,
        Depth::Glance => GLANCE,
    };
    let mut end = 0;
    let mut add = |line: &lines::Line<'_>| {
        if let Body::Whole(bytes) = line.body {
            let shows = "\"type\":\"message\"".to_owned();
            let place =
                Source::Line { path: path.to_owned(), offset: line.at, shows, without: Vec::new() };
            said.newer(&json::object(bytes), place);
        }
    };
    lines::forward(&*file, 0, &mut |line| {
        add(&line);
        end = line.at;
        left -= 1;
        lines::until(left == 0)
    })?;
    let mut newest = Vec::new();
    if left == 0 {
        lines::back(&*file, &mut |line| {
            let more = line.at > end && newest.len() < GLANCE;
            if let (true, Body::Whole(bytes)) = (more, &line.body) {
                newest.push((line.at, bytes.to_vec()));
            }
            lines::until(!more)
        })?;
    }
    for (at, bytes) in newest.iter().rev() {
        add(&lines::Line { at: *at, body: Body::Whole(bytes) });
    }
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_own_line() {
        let index = "{\n  \"a \\\"b\": {\n    \"status\": \"done\",\n    \"more\": {\n      \
                     \"status\": \"no\"\n    }\n  },\n  \"c\": {\n    \"status\": \"running\"\n  }\n}";
        let found = statuses(index.as_bytes());
        let shows = |key: &str| {
            let (at, shows) = found.get(key).expect("it has a status");
            assert!(index.get(*at as usize..).is_some_and(|rest| rest.trim().starts_with(shows)));
            shows.as_str()
        };
        assert_eq!(shows("a \"b"), "\"status\": \"done\"");
        assert_eq!(shows("c"), "\"status\": \"running\"");
        assert!(statuses(br#"{"a":{"status":"done"}}"#).is_empty());
    }

    #[test]
    fn an_id_makes_no_path_out_of_its_folder() {
        let dir = Path::new("/store");
        assert_eq!(transcript_of("mine", dir), Some(PathBuf::from("/store/mine.jsonl")));
        assert_eq!(transcript_of("../../etc/passwd", dir), None);
        assert_eq!(transcript_of("/etc/passwd", dir), None);
    }
}
