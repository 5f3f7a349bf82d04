//! Tokens that were counted by an earlier command: whatever becomes of a transcript, answers stay those of a
//! machine that never kept anything.

use super::corpus::{Corpus, append, reword, same};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::chown,
    path::{Path, PathBuf},
};

const USAGE: &[&str] = &["list", "--since", "all", "--usage", "--json"];
/// Folders of transcripts whose tokens are counted apart.
const STORES: &[&str] =
    &[".claude/projects", ".pi/agent/sessions", ".gemini/tmp", ".copilot/session-state"];

/// The transcripts of the home that count tokens, and the first line of each that does.
fn counting(corpus: &Corpus) -> Vec<(PathBuf, String)> {
    let found = STORES.iter().flat_map(|store| corpus.transcripts(store));
    let counts = |line: &&str| {
        ["\"usage\"", "\"tokens\"", "usage_record"].iter().any(|word| line.contains(word))
    };
    let of = |path: PathBuf| {
        let text = String::from_utf8_lossy(&fs::read(&path).expect("a transcript")).into_owned();
        let line = text.lines().find(counts)?.to_owned();
        text.ends_with('\n').then_some((path, line))
    };
    found.filter_map(of).collect()
}

/// The same message under another id.
fn another(line: &str, id: &str) -> String {
    let mut value: Value = serde_json::from_str(line).expect("a line");
    let is_inside = value["message"]["id"].is_string();
    let message = if is_inside { &mut value["message"] } else { &mut value };
    message["id"] = json!(id);
    value.to_string()
}

#[test]
fn cold_and_warm_counts_are_the_same_bytes() {
    let corpus = Corpus::of(STORES);
    let first = corpus.home.run(USAGE);
    let sessions = first.json()["sessions"].as_array().expect("sessions").clone();
    for agent in ["claude-code", "pi", "gemini", "copilot"] {
        let own = sessions.iter().filter(|one| one["agent"] == agent);
        let used = own.filter(|one| one["tokens"]["output"].as_u64() > Some(0)).count();
        assert!(used > 8, "{agent}: {used}");
    }
    same(&first, &corpus.warm(USAGE));
    same(&first, &corpus.agree(USAGE));
    fs::remove_dir_all(corpus.home.path(".cache/agentctl")).expect("our folder");
    same(&first, &corpus.home.run(USAGE));
}

#[test]
fn transcripts_that_grew_are_counted_as_if_read_whole() {
    let corpus = Corpus::of(STORES);
    let before = corpus.settled(USAGE);
    let all = counting(&corpus);
    let every = |text: &dyn Fn(&str) -> String| {
        all.iter().for_each(|(path, line)| append(path, &text(line)));
    };
    // A message that is new, half a line, the rest of it, and one that was counted long ago.
    every(&|line| another(line, "new") + "\n");
    let grown = corpus.agree(USAGE);
    assert_ne!(before.stdout, grown.stdout);
    every(&|line| another(line, "newer")[..9].to_owned());
    corpus.agree(USAGE);
    every(&|line| another(line, "newer")[9..].to_owned() + "\n");
    let whole = corpus.agree(USAGE);
    assert_ne!(grown.stdout, whole.stdout);
    corpus.settled(USAGE);
    every(&|line| line.replace("output", "other") + "\n");
    assert_ne!(whole.stdout, corpus.agree(USAGE).stdout);
}

#[test]
fn transcripts_that_were_written_anew_are_counted_anew() {
    let corpus = Corpus::of(STORES);
    let before = corpus.settled(USAGE);
    let all = counting(&corpus);
    let texts: Vec<Vec<u8>> =
        all.iter().map(|(path, _)| fs::read(path).expect("a transcript")).collect();
    let other = |line: &str| line.replace(['1', '2', '3', '4'], "5");
    let every = |change: &dyn Fn(&Path, &str, &str)| {
        for ((path, line), text) in all.iter().zip(&texts) {
            change(path, &String::from_utf8_lossy(text), line);
        }
    };
    // In place, as long as it was, and dated back.
    every(&|path, _, line| reword(path, (line, &other(line))));
    assert_ne!(before.stdout, corpus.agree(USAGE).stdout);
    corpus.settled(USAGE);
    // In place, and longer; then cut short; then grown again to what it was.
    every(&|path, text, line| fs::write(path, format!("{}\n{text}", other(line))).expect("room"));
    corpus.agree(USAGE);
    every(&|path, text, _| fs::write(path, &text[..text.len() / 2]).expect("room"));
    corpus.agree(USAGE);
    every(&|path, text, _| fs::write(path, text).expect("room"));
    corpus.settled(USAGE);
    // Another file under its name, which begins as the old one did.
    every(&|path, text, line| {
        let draft = path.with_extension("draft");
        fs::write(&draft, format!("{text}{}\n", another(line, "new"))).expect("room");
        chown(&draft, corpus.home.user(), corpus.home.user()).expect("our file");
        fs::rename(&draft, path).expect("our file");
    });
    assert_ne!(before.stdout, corpus.agree(USAGE).stdout);
}
