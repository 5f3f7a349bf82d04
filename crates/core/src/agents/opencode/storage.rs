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
use serde_json::Value;
use std::{
    io,
    path::{Path, PathBuf},
};

/// More than any of these files holds.
const LIMIT: usize = 64 << 20;
/// How many messages from the end are searched for the last thing the agent said.
const TAIL: usize = 20;

/// Every session file of a store.
pub(super) fn list(host: &dyn Host, store: &Path, problems: &mut Vec<Trouble>) -> Vec<Stub> {
    let mut stubs = Vec::new();
    let top = store.join("storage/session");
    for project in names(host, &top).unwrap_or_default() {
        let dir = top.join(project);
        match names(host, &dir) {
            Ok(files) => {
                let ids = files.iter().filter_map(|file| file.strip_suffix(".json"));
                stubs.extend(ids.filter_map(|id| stub(host, &dir, id)));
            }
            Err(why) => problems.push(Trouble { path: dir, why: why.to_string() }),
        }
    }
    stubs
}

/// One session file.
pub(super) fn find(host: &dyn Host, store: &Path, id: &str) -> Option<Stub> {
    let top = store.join("storage/session");
    names(host, &top).ok()?.iter().find_map(|project| stub(host, &top.join(project), id))
}

fn stub(host: &dyn Host, dir: &Path, id: &str) -> Option<Stub> {
    let path = dir.join(format!("{id}.json"));
    let updated = host.stat(&path).ok()?.modified;
    // The newest message's file is made while the session's own stands still.
    let messages = beside(&path, &["message", id]);
    let newest = messages.and_then(|dir| host.stat(&dir).ok()).map(|dir| dir.modified);
    let updated = newest.map_or(updated, |newest| newest.max(updated));
    Some(Stub { id: id.to_owned(), path, updated, title: None })
}

/// A path below the `storage` directory that a session's file is in.
fn beside(session: &Path, below: &[&str]) -> Option<PathBuf> {
    Some(below.iter().fold(session.ancestors().nth(3)?.to_owned(), |path, part| path.join(part)))
}

/// Names in a directory, sorted: ids of messages and parts grow with time.
fn names(host: &dyn Host, dir: &Path) -> io::Result<Vec<String>> {
    let mut names: Vec<String> = match host.entries(dir) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
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
    Err(io::Error::other(why))
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
        info: body(host, &stub.path)?.0,
        first: tree.messages.first().map(|name| tree.said(name)).transpose()?,
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

    fn said(&self, name: &str) -> io::Result<Said> {
        let path = self.message(name);
        let (value, text) = body(self.host, &path)?;
        let parts = self.parts(name)?.into_iter().map(|part| Ok(body(self.host, &part)?.0));
        let line = |key: &str| text.lines().find(|line| line.contains(key));
        let shows =
            line("\"finish\"").or_else(|| line("\"completed\"")).or_else(|| line("\"role\""));
        let shows = shows.unwrap_or_default().trim().to_owned();
        let parts = parts.collect::<io::Result<_>>()?;
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
    let skip = match window {
        Window::Last(count) => tree.messages.len().saturating_sub(count),
        Window::Since(_) => 0,
    };
    let written = |path: &Path| {
        let at = host.stat(path).map(|stat| stat.modified.as_millisecond());
        at.ok().and_then(|at| u64::try_from(at).ok()).unwrap_or(0)
    };
    let mut pieces = Vec::new();
    for name in &tree.messages[skip..] {
        let path = tree.message(name);
        let said = body(host, &path)?.0;
        for part in tree.parts(name)? {
            let at = written(&part);
            pieces.push(Piece::part(&said, body(host, &part)?.0, (at, at)));
        }
        pieces.extend(Piece::error(&said, written(&path)));
    }
    Ok(pieces)
}
