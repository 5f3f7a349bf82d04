//! `storage/`: one JSON file for each session, message and part, as OpenCode up to 1.1.65 wrote them.
//!
//! Files are cut and written anew in place: a reader may meet an empty or a torn one.

use super::{
    adapter::Window,
    messages::Piece,
    record::{Said, Saved, Spent},
};
use crate::{
    agent::{Depth, Stub, Trouble},
    agents::json,
    host::{self, Host},
    proof::Source,
};
use jiff::Timestamp;
use serde_json::Value;
use std::{
    io::{
        self,
        ErrorKind::{NotADirectory, NotFound},
    },
    path::{Path, PathBuf},
};

/// More than any of these files holds.
const LIMIT: usize = 64 << 20;
/// Where session files are, below a store: one directory for each project.
const SESSIONS: &str = "storage/session";
/// How many messages from the end are searched for the last thing the agent said.
const TAIL: usize = 20;

/// Every session file of a store.
pub(super) fn list(host: &dyn Host, store: &Path, problems: &mut Vec<Trouble>) -> Vec<Stub> {
    let top = store.join(SESSIONS);
    let mut stubs = Vec::new();
    let mut trouble = |path: PathBuf, why: &io::Error| {
        problems.push(Trouble { path, why: why.to_string() });
    };
    let projects = names(host, &top).unwrap_or_else(|why| {
        trouble(top.clone(), &why);
        Vec::new()
    });
    for project in projects {
        let dir = top.join(project);
        let files = names(host, &dir).unwrap_or_else(|why| {
            trouble(dir.clone(), &why);
            Vec::new()
        });
        for id in files.iter().filter_map(|file| file.strip_suffix(".json")) {
            match stub(host, &dir, id) {
                Ok(found) => stubs.extend(found),
                Err(why) => trouble(dir.join(format!("{id}.json")), &why),
            }
        }
    }
    stubs
}

/// One session file; where it may be one that cannot be looked at, the error is its path.
pub(super) fn find(host: &dyn Host, store: &Path, id: &str) -> Result<Option<Stub>, PathBuf> {
    let (top, name) = (store.join(SESSIONS), format!("{id}.json"));
    let mut hidden = None;
    for project in names(host, &top).map_err(|_| top.join(&name))? {
        let dir = top.join(project);
        match stub(host, &dir, id) {
            Ok(None) => {}
            Ok(found) => return Ok(found),
            Err(_) => hidden = Some(dir.join(&name)),
        }
    }
    hidden.map_or(Ok(None), Err)
}

fn stub(host: &dyn Host, dir: &Path, id: &str) -> io::Result<Option<Stub>> {
    let path = dir.join(format!("{id}.json"));
    let Some(updated) = written(host, &path)? else { return Ok(None) };
    // The newest message's file is made while the session's own stands still.
    let messages = beside(&path, &["message", id]);
    let newest = messages.map(|dir| written(host, &dir)).transpose()?.flatten();
    let updated = newest.map_or(updated, |newest| newest.max(updated));
    Ok(Some(Stub::new(id, path, updated)))
}

/// When a path was last written to, if it is there.
fn written(host: &dyn Host, path: &Path) -> io::Result<Option<Timestamp>> {
    match host.stat(path) {
        // A stray file among directories has nothing below it.
        Err(why) if matches!(why.kind(), NotFound | NotADirectory) => Ok(None),
        stat => Ok(Some(stat?.modified)),
    }
}

/// A path below the `storage` directory that a session's file is in.
fn beside(session: &Path, below: &[&str]) -> Option<PathBuf> {
    Some(below.iter().fold(session.ancestors().nth(3)?.to_owned(), |path, part| path.join(part)))
}

/// Names in a directory, sorted: ids of messages and parts grow with time.
fn names(host: &dyn Host, dir: &Path) -> io::Result<Vec<String>> {
    let mut names: Vec<String> = match host.entries(dir) {
        Err(why) if matches!(why.kind(), NotFound | NotADirectory) => return Ok(Vec::new()),
        entries => entries?.into_iter().map(|entry| entry.name).collect(),
    };
    names.sort();
    Ok(names)
}

/// A whole file, tried twice.
fn body(host: &dyn Host, path: &Path) -> io::Result<(Value, String)> {
    for _ in 0..2 {
        let bytes = host::slurp(host, path, LIMIT)?;
        let value = json::object(&bytes);
        if value.is_object() {
            return Ok((value, String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    let why =
        format!("{} is no JSON object (it may be in the middle of a rewrite)", path.display());
    Err(io::Error::new(io::ErrorKind::InvalidData, why))
}

/// What a session says of itself.
pub(super) fn saved(host: &dyn Host, stub: &Stub, depth: Depth) -> io::Result<Saved> {
    let tree = Tree::of(host, stub)?;
    let spent = match depth {
        Depth::Glance => None,
        Depth::Whole => {
            let all = tree.messages.iter().map(|name| Ok(body(host, &tree.message(name))?.0));
            Some(all.collect::<io::Result<Vec<Value>>>()?.iter().map(Spent::of).sum())
        }
    };
    Ok(Saved {
        session: body(host, &stub.path)?.0,
        first: tree.messages.first().map_or(Ok(Vec::new()), |name| tree.bodies(name))?,
        newest: tree.messages.last().map(|name| tree.said(name)).transpose()?,
        last: tree.last()?,
        spent,
    })
}

/// The files of one session.
struct Tree<'a> {
    host: &'a dyn Host,
    root: PathBuf,
    id: &'a str,
    /// Names of its messages' files, oldest first.
    messages: Vec<String>,
}

impl<'a> Tree<'a> {
    fn of(host: &'a dyn Host, stub: &'a Stub) -> io::Result<Self> {
        let root = beside(&stub.path, &[]).ok_or(io::ErrorKind::NotFound)?;
        let messages = names(host, &root.join("message").join(&stub.id))?;
        Ok(Self { host, root, id: &stub.id, messages })
    }

    fn message(&self, name: &str) -> PathBuf {
        self.root.join("message").join(self.id).join(name)
    }

    /// Files of the parts of a message.
    fn parts(&self, name: &str) -> io::Result<Vec<PathBuf>> {
        let dir = self.root.join("part").join(name.strip_suffix(".json").unwrap_or(name));
        Ok(names(self.host, &dir)?.iter().map(|part| dir.join(part)).collect())
    }

    fn bodies(&self, name: &str) -> io::Result<Vec<Value>> {
        self.parts(name)?.iter().map(|part| Ok(body(self.host, part)?.0)).collect()
    }

    fn said(&self, name: &str) -> io::Result<Said> {
        let path = self.message(name);
        let (value, text) = body(self.host, &path)?;
        let line = |key: &str| text.lines().find(|line| line.contains(key));
        let shows =
            line("\"finish\"").or_else(|| line("\"completed\"")).or_else(|| line("\"role\""));
        let shows = shows.unwrap_or_default().trim().to_owned();
        let parts = self.bodies(name)?;
        Ok(Said { body: value, parts, source: Source::File { path, shows } })
    }

    /// The newest text of the agent.
    fn last(&self) -> io::Result<Option<Value>> {
        for name in self.messages.iter().rev().take(TAIL) {
            let said = self.said(name)?;
            let spoken = |part: &&Value| json::string(part, "text").is_some();
            let text = |part: &&Value| json::text(part, "type") == Some("text");
            let newest = said.parts.iter().rev().filter(text).find(spoken);
            if json::text(&said.body, "role") == Some("assistant") && newest.is_some() {
                return Ok(newest.cloned());
            }
        }
        Ok(None)
    }
}

/// Pieces of a session as they were said, oldest first.
pub(super) fn pieces(host: &dyn Host, stub: &Stub, window: Window) -> io::Result<Vec<Piece>> {
    let tree = Tree::of(host, stub)?;
    let last = tree.messages.len().saturating_sub(window.last);
    let mut pieces = Vec::new();
    for (at, name) in tree.messages.iter().enumerate() {
        let path = tree.message(name);
        let written = millis(host, &path)?;
        let is_asked = |written: u64| last <= at || window.since.settled() <= written;
        let parts = tree.parts(name)?.into_iter().map(|part| Ok((millis(host, &part)?, part)));
        let mut parts = parts.collect::<io::Result<Vec<_>>>()?;
        parts.retain(|(written, _)| is_asked(*written));
        if parts.is_empty() && !is_asked(written) {
            continue;
        }
        let settled = |written: u64| written < window.since.settled();
        let whole = |path: &Path, written: u64| -> io::Result<Option<Value>> {
            match body(host, path) {
                // In the middle of a rewrite: whoever follows the session meets it again.
                Err(why) if why.kind() == io::ErrorKind::InvalidData && !settled(written) => {
                    Ok(None)
                }
                read => Ok(Some(read?.0)),
            }
        };
        let Some(said) = whole(&path, written)? else { continue };
        let begun = said["time"].get("created").and_then(Value::as_u64);
        for (written, part) in parts {
            let id = part.to_string_lossy();
            // A file tells when it was last written, not when it was made.
            let created = begun.filter(|_| json::text(&said, "role") == Some("user"));
            let created = created.unwrap_or(written);
            let Some(body) = whole(&part, written)? else { continue };
            pieces.push(Piece::part(&said, &id, body, (created, written)));
        }
        pieces.extend(Piece::error(&said, name, written));
    }
    Ok(pieces)
}

fn millis(host: &dyn Host, path: &Path) -> io::Result<u64> {
    Ok(u64::try_from(host.stat(path)?.modified.as_millisecond()).unwrap_or(0))
}
