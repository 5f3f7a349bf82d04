//! What a record is told by changes between two commands: each file of each agent, in every way.

use super::corpus::{Corpus, append, changed, log, many, reword, rewrite, same, sessions};
use crate::home::{ALL, Answer};
use rusqlite::Connection;
use std::{
    fs,
    path::{Path, PathBuf},
    thread,
};

const LIVE: &[&str] = &["list", "--json"];
const USAGE: &[&str] = &["list", "-a", "--since", "all", "--usage", "--json"];
/// Where those agents have their transcripts that have a file for each session.
const STORES: [&str; 5] = [
    ".claude/projects",
    ".codex/sessions",
    ".copilot/session-state",
    ".gemini/tmp",
    ".pi/agent/sessions",
];
/// Databases, and what changes nothing in them but records: neither names nor times of sessions.
const DATABASES: [(&str, &str); 2] = [
    (
        ".db",
        "update part set data = json_set(data, '$.text', 'Changed once.')
            where json_valid(data) and json_extract(data, '$.type') = 'text'",
    ),
    (".sqlite", "update session_windows set model = 'changed once'"),
];

/// With and without what was kept the same bytes are told, with tokens and without; and of each of these groups of
/// files something that was not told before.
fn differs(corpus: &Corpus, before: &Answer, groups: &[Vec<PathBuf>]) {
    let after = corpus.agree(ALL);
    corpus.agree(USAGE);
    let changed = changed(before, &after);
    for group in groups {
        assert!(group.iter().any(|path| changed.contains(path)), "as before: {group:?}");
    }
}

/// Does one of these to each file, in turn, and tells to which.
fn in_turn(files: Vec<PathBuf>, changes: [&dyn Fn(&Path); 3]) -> [Vec<PathBuf>; 3] {
    let mut groups = [const { Vec::new() }; 3];
    for (number, path) in files.into_iter().enumerate() {
        changes[number % 3](&path);
        groups[number % 3].push(path);
    }
    groups
}

/// The same said once more, a day later.
fn grow(path: &Path) {
    let text = String::from_utf8_lossy(&fs::read(path).expect("a transcript")).into_owned();
    append(path, &text.replace("2026-11-15T", "2026-11-16T"));
}

fn cut(path: &Path) {
    let bytes = fs::read(path).expect("a transcript");
    fs::write(path, &bytes[..bytes.len() / 3]).expect("room");
}

/// What stands in a log goes into its database.
fn move_over(db: &Path, sql: &str) {
    if log(db, sql) {
        let open = Connection::open(db).expect("a database");
        open.execute_batch("pragma wal_checkpoint(truncate)").expect("a change");
    }
}

/// Other words in the database itself, whatever else stands there.
fn replace(db: &Path) {
    rewrite(db, |bytes| put(bytes, b"hanged once", b"hanged also"));
}

/// The one in place of the other, which is as long.
fn put<const N: usize>(mut bytes: Vec<u8>, from: &[u8; N], to: &[u8; N]) -> Vec<u8> {
    while let Some(at) = bytes.windows(N).position(|part| part == from) {
        bytes[at..at + N].copy_from_slice(to);
    }
    bytes
}

#[test]
fn every_file_that_tells_of_a_record_is_looked_at() {
    let corpus = Corpus::new();
    many(&corpus.home.run(ALL));
    corpus.warm(USAGE);
    let before = corpus.warm(ALL);
    // What stands beside a record: as long as it was, and dated back; or a log that grows, or is new.
    let mut groups: Vec<Vec<PathBuf>> = Vec::new();
    for (end, store) in [("workspace.yaml", STORES[2]), (".project_root", STORES[3])] {
        corpus.files(end).iter().for_each(|path| reword(path, ("/home/dev", "/home/ved")));
        groups.push(corpus.transcripts(store));
    }
    for (end, sql) in DATABASES {
        let (old, new): (Vec<_>, Vec<_>) = corpus
            .files(end)
            .into_iter()
            .partition(|db| fs::exists(format!("{}-wal", db.display())).expect("a folder"));
        for db in old.iter().chain(&new) {
            log(db, sql);
        }
        groups.extend([old, new]);
    }
    differs(&corpus, &before, &groups);
    // Transcripts, and databases themselves.
    let before = corpus.warm(ALL);
    let mut groups: Vec<Vec<PathBuf>> = Vec::new();
    for store in STORES {
        let anew = |path: &Path| reword(path, ("2026-11-1", "2026-10-1"));
        groups.extend(in_turn(corpus.transcripts(store), [&grow, &anew, &cut]));
    }
    for (end, sql) in DATABASES {
        let more = |db: &Path| {
            log(db, &sql.replace("once", "more"));
        };
        let moved = |db: &Path| move_over(db, &sql.replace("once", "then"));
        groups.extend(in_turn(corpus.files(end), [&more, &moved, &moved]));
    }
    differs(&corpus, &before, &groups);
}

/// In place, as long as it was, and dated back.
#[test]
fn a_database_is_looked_at_however_it_looks() {
    let corpus = Corpus::of(&[".local/share/opencode/", ".openclaw/agents/"]);
    for (end, sql) in DATABASES {
        for db in corpus.files(end) {
            move_over(&db, sql);
        }
    }
    let before = corpus.warm(ALL);
    let groups = DATABASES.map(|(end, _)| corpus.files(end));
    groups.iter().flatten().for_each(|db| replace(db));
    differs(&corpus, &before, &groups);
}

/// That nothing runs is kept, too, of a database that nobody has open.
#[test]
fn a_database_in_which_something_runs_since_is_looked_at() {
    let corpus = Corpus::of(&[".openclaw/agents/"]);
    for db in corpus.files(".sqlite") {
        let open = Connection::open(&db).expect("a database");
        let rests = "pragma journal_mode = delete; update session_windows set status = 'timeout';
            update session_nodes set status = 'timeout'";
        open.execute_batch(rests).expect("a change");
    }
    corpus.files("sessions.json").iter().for_each(|old| reword(old, ("running", "timeout")));
    let before = corpus.warm(LIVE);
    assert!(sessions(&before).is_empty(), "{}", before.stdout);
    for db in corpus.files(".sqlite") {
        rewrite(&db, |bytes| put(bytes, b"timeout", b"running"));
    }
    assert!(!sessions(&corpus.agree(LIVE)).is_empty());
}

#[test]
fn whoever_asks_at_once_is_told_the_same() {
    let corpus = Corpus::new();
    corpus.warm(ALL);
    fs::remove_dir_all(corpus.home.path(".cache/agentctl")).expect("our folder");
    let bare = corpus.cold(USAGE);
    let asked: Vec<Answer> = thread::scope(|scope| {
        let ask = |_| scope.spawn(|| corpus.home.run(USAGE));
        let begun: Vec<_> = (0..4).map(ask).collect();
        begun.into_iter().map(|one| one.join().expect("an answer")).collect()
    });
    asked.iter().for_each(|answer| same(answer, &bare));
    same(&corpus.warm(USAGE), &bare);
}
