//! Every kind of file that we write, by its name: a home that holds another one fails its test.
//!
//! So that a new kind is added here, and to the home of `situations::furnished`, where each is damaged.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Below the home: what says nothing of a state, and what can be thrown away.
pub(crate) const ROOTS: [&str; 2] = [".local/state/agentctl", ".cache/agentctl"];

/// Their names below these; a star is any text without a slash.
pub(crate) const KINDS: &[&str] = &[
    "daemon.lock",
    "daemon.log",
    "run/agentctl.sock",
    "launches/*.json",
    "launches/*.log",
    "launches/*.exit",
    "launches/*.orders",
    "launches/*.prompt",
    "launches/*.in",
    "launches/*.on-create",
    "launches/*.on-complete",
    "stops/*.json",
    "locks/*.lock",
    "intents/locks/*.json",
    "intents/fuses/*.json",
    "intents/budgets/*.json",
    "outbox/*/queue/*.json",
    "outbox/*/done/*.json",
    "outbox/*/failed/*.json",
    "outbox/*/dropped.json",
    "outbox/*/trouble.json",
    "outbox/*/tries.json",
    "outbox/*/room.json",
    "records/*",
    "daemon-*.cursor",
];

/// What whoever was killed left half written stands beside what it was to become.
const DRAFT: &str = ".draft";

/// The kind of a file, by its name below one of the roots.
pub(crate) fn kind(below: &Path) -> Option<&'static str> {
    let name = below.to_str()?;
    if name.ends_with(DRAFT) {
        return Some(DRAFT);
    }
    KINDS.iter().copied().find(|kind| is_like(name, kind))
}

fn is_like(name: &str, kind: &str) -> bool {
    let (name, kind) = (name.split('/'), kind.split('/'));
    let is_one = |(part, kind): (&str, &str)| match kind.split_once('*') {
        Some((begin, end)) => {
            let rest = part.strip_prefix(begin).and_then(|rest| rest.strip_suffix(end));
            rest.is_some_and(|rest| !rest.is_empty())
        }
        None => part == kind,
    };
    name.clone().count() == kind.clone().count() && name.zip(kind).all(is_one)
}

/// Every file of ours in this home, whatever it is, with its root; those that go meanwhile are passed over.
pub(crate) fn files(home: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut found = Vec::new();
    for root in ROOTS.map(|root| home.join(root)) {
        let mut todo = vec![root.clone()];
        while let Some(dir) = todo.pop() {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    true => todo.push(entry.path()),
                    false => found.push((root.clone(), entry.path())),
                }
            }
        }
    }
    found.sort();
    found
}

/// Those of no kind that is known.
pub(super) fn strangers(home: &Path) -> Vec<PathBuf> {
    let is_strange = |(root, path): &(PathBuf, PathBuf)| {
        path.strip_prefix(root).is_ok_and(|below| kind(below).is_none())
    };
    files(home).into_iter().filter(is_strange).map(|(_, path)| path).collect()
}

#[test]
fn kinds_are_told_by_their_names() {
    let is = |name: &str| kind(Path::new(name));
    assert_eq!(is("launches/a.json"), Some("launches/*.json"));
    assert_eq!(is("outbox/x/queue/1-a-b.json"), Some("outbox/*/queue/*.json"));
    assert_eq!(is("intents/locks/x.7-0.draft"), Some(DRAFT));
    for other in ["launches/.json", "launches/a.state", "state.json", "launches/a/b.json"] {
        assert_eq!(is(other), None, "{other}");
    }
}
