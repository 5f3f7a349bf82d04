//! Sessions before 2026.7: an index by key, and one JSONL file a transcript (2026.6.11).

use super::{entry::Entry, transcript::Transcript};
use crate::{
    agent::{Depth, Stub},
    agents::json,
    evidence::Record,
    host::{self, Host},
    lines::{self, Body, Flow},
    proof::Source,
};
use serde_json::Value;
use std::{
    io,
    path::{Path, PathBuf},
};

const INDEX: &str = "sessions.json";
/// The index holds every session with snapshots of its prompt; more than this is not read.
const LIMIT: usize = 64 << 20;
/// How many lines of either end a glance reads.
const GLANCE: usize = 16;

/// Every session of a folder, with the file that holds it: those of the index, and transcripts that
/// no key points to any more.
pub(super) fn all(host: &dyn Host, dir: &Path) -> io::Result<Vec<(Entry, PathBuf)>> {
    let names = match host.entries(dir) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        names => names?,
    };
    let mut found = Vec::new();
    for entry in index(host, dir)? {
        let transcript = dir.join(format!("{}.jsonl", entry.id));
        let path = match host.stat(&transcript).is_ok() {
            true => transcript,
            false => dir.join(INDEX),
        };
        found.push((entry, path));
    }
    for name in names {
        let Some(id) = name.name.strip_suffix(".jsonl").filter(|id| is_id(id)) else { continue };
        if found.iter().any(|(entry, _)| entry.id == id) {
            continue;
        }
        let path = dir.join(&name.name);
        let updated = host.stat(&path).ok().map(|stat| stat.modified);
        found.push((Entry { id: id.to_owned(), updated, ..Entry::default() }, path));
    }
    Ok(found)
}

fn index(host: &dyn Host, dir: &Path) -> io::Result<Vec<Entry>> {
    let index = match host::slurp(host, &dir.join(INDEX), LIMIT) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        index => index?,
    };
    let index: Value = serde_json::from_slice(&index)?;
    let entries = index.as_object().into_iter().flatten();
    Ok(entries.filter_map(|(key, value)| entry(key, value)).collect())
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

/// The place that shows a session's status.
pub(super) fn shown(host: &dyn Host, path: &Path, entry: &Entry) -> Source {
    let index = path.with_file_name(INDEX);
    let text = host::slurp(host, &index, LIMIT).unwrap_or_default();
    let status = entry.status.as_deref().unwrap_or_default();
    let loose = format!("\"status\": \"{status}\"");
    let shows = match String::from_utf8_lossy(&text).contains(&loose) {
        true => loose,
        false => format!("\"status\":\"{status}\""),
    };
    Source::File { path: index, shows }
}

/// What one session says of itself.
pub(super) fn read(host: &dyn Host, stub: &Stub, depth: Depth) -> io::Result<Record> {
    let dir = stub.path.parent().unwrap_or(&stub.path);
    let indexed = index(host, dir)?.into_iter().find(|entry| entry.id == stub.id);
    let unnamed = || Entry { id: stub.id.clone(), updated: Some(stub.updated), ..Entry::default() };
    let entry = indexed.unwrap_or_else(unnamed);
    let said = match stub.path.ends_with(INDEX) {
        true => Transcript::default(),
        false => transcript(host, &stub.path, depth)?,
    };
    let shown = shown(host, &stub.path, &entry);
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
        if left == 0 { Flow::Break(()) } else { Flow::Continue(()) }
    })?;
    let mut newest = Vec::new();
    if left == 0 {
        lines::back(&*file, &mut |line| {
            let more = line.at > end && newest.len() < GLANCE;
            if let (true, Body::Whole(bytes)) = (more, &line.body) {
                newest.push((line.at, bytes.to_vec()));
            }
            if more { Flow::Continue(()) } else { Flow::Break(()) }
        })?;
    }
    for (at, bytes) in newest.iter().rev() {
        add(&lines::Line { at: *at, body: Body::Whole(bytes) });
    }
    Ok(said)
}

fn is_id(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}
