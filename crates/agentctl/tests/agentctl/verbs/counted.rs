//! Tokens that were counted by an earlier command: whatever becomes of a transcript, answers stay those of a
//! machine that never kept anything.

use crate::home::{Answer, Home, until};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::{MetadataExt, chown},
    path::{Path, PathBuf},
};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/fixtures");
const KEPT: &str = ".cache/agentctl/records";
const USAGE: &[&str] = &["list", "--since", "all", "--usage", "--json"];
/// Folders that hold one folder for each directory or session.
const STORES: &[&str] =
    &[".claude/projects", ".pi/agent/sessions", ".gemini/tmp", ".copilot/session-state"];

/// Every transcript of every case, beside its sub-agents', in one home whose user may keep caches.
fn corpus() -> Home {
    let home = Home::new();
    let mut found = Vec::new();
    below(Path::new(FIXTURES), &mut found);
    found.sort();
    for path in &found {
        let text = path.to_str().expect("a name");
        let Some(store) = STORES.iter().find(|store| text.contains(&format!("/home/{store}/")))
        else {
            continue;
        };
        let (case, below) = text.split_once(&format!("/home/{store}/")).expect("just found");
        let (folder, file) = below.split_once('/').expect("a folder each");
        let case = found.iter().position(|one| one.starts_with(case)).expect("it is one of them");
        // Copilot's folders are named after their sessions.
        let folder = match folder.len() == 36 && store.contains("copilot") {
            true => format!("{case:08x}{}", &folder[8..]),
            false => format!("{case:04}{folder}"),
        };
        home.write(format!("{store}/{folder}/{file}"), fs::read(path).expect("a fixture"));
    }
    let cache = home.path(".cache");
    fs::create_dir(&cache).expect("a folder");
    chown(&cache, home.user(), home.user()).expect("our folder");
    home
}

fn below(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a folder").map(|entry| entry.expect("an entry")) {
        match entry.path() {
            path if path.is_dir() => below(&path, found),
            path if path.extension().is_some_and(|kind| kind == "jsonl") => found.push(path),
            _ => {}
        }
    }
}

/// The transcripts of the home that count tokens, and the first line of each that does.
fn counting(home: &Home) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    STORES.iter().for_each(|store| below(&home.path(store), &mut found));
    found.sort();
    let counts = |line: &&str| {
        ["\"usage\"", "\"tokens\"", "usage_record"].iter().any(|word| line.contains(word))
    };
    let of = |path: PathBuf| {
        let text = String::from_utf8_lossy(&fs::read(&path).expect("a transcript")).into_owned();
        let line = text.lines().find(counts)?.to_owned();
        text.ends_with('\n').then_some((path, line))
    };
    found.into_iter().filter_map(of).collect()
}

/// What is kept: another writing has another number.
fn kept(home: &Home) -> Vec<(PathBuf, u64)> {
    let entries = fs::read_dir(home.path(KEPT)).into_iter().flatten().flatten();
    let mut files: Vec<_> =
        entries.map(|entry| (entry.path(), entry.metadata().expect("a file").ino())).collect();
    files.sort();
    files
}

fn told(answer: &Answer) -> (Option<i32>, &str, &str) {
    (answer.code, &answer.stdout, &answer.stderr)
}

/// Asks until nothing new is kept.
fn warm(home: &Home) -> Answer {
    until("all is kept", || {
        let before = kept(home);
        let answer = home.run(USAGE);
        (!before.is_empty() && before == kept(home)).then_some(answer)
    })
}

/// Whoever kept something, now and once more, and whoever did not say the same.
fn agree(home: &Home) -> Answer {
    let (first, second) = (home.run(USAGE), home.run(USAGE));
    let mut command = home.agentctl(USAGE);
    let bare = home.ask(command.env("XDG_CACHE_HOME", home.path("nowhere")));
    assert_eq!(told(&first), told(&bare));
    assert_eq!(told(&second), told(&bare));
    bare
}

fn append(path: &Path, text: &str) {
    let mut file = File::options().append(true).open(path).expect("a transcript");
    file.write_all(text.as_bytes()).expect("room");
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
    let home = corpus();
    let first = home.run(USAGE);
    let sessions = first.json()["sessions"].as_array().expect("sessions").clone();
    for agent in ["claude-code", "pi", "gemini", "copilot"] {
        let own = sessions.iter().filter(|one| one["agent"] == agent);
        let used = own.filter(|one| one["tokens"]["output"].as_u64() > Some(0)).count();
        assert!(used > 8, "{agent}: {used}");
    }
    assert_eq!(told(&first), told(&warm(&home)));
    assert_eq!(told(&first), told(&agree(&home)));
    fs::remove_dir_all(home.path(".cache/agentctl")).expect("our folder");
    assert_eq!(told(&first), told(&home.run(USAGE)));
}

#[test]
fn transcripts_that_grew_are_counted_as_if_read_whole() {
    let home = corpus();
    let before = warm(&home);
    let all = counting(&home);
    let every = |text: &dyn Fn(&str) -> String| {
        all.iter().for_each(|(path, line)| append(path, &text(line)));
    };
    // A message that is new, half a line, the rest of it, and one that was counted long ago.
    every(&|line| another(line, "new") + "\n");
    let grown = agree(&home);
    assert_ne!(before.stdout, grown.stdout);
    every(&|line| another(line, "newer")[..9].to_owned());
    agree(&home);
    every(&|line| another(line, "newer")[9..].to_owned() + "\n");
    let whole = agree(&home);
    assert_ne!(grown.stdout, whole.stdout);
    warm(&home);
    every(&|line| line.replace("output", "other") + "\n");
    assert_ne!(whole.stdout, agree(&home).stdout);
}

#[test]
fn transcripts_that_were_written_anew_are_counted_anew() {
    let home = corpus();
    let before = warm(&home);
    let all = counting(&home);
    let texts: Vec<Vec<u8>> =
        all.iter().map(|(path, _)| fs::read(path).expect("a transcript")).collect();
    let other = |line: &str| line.replace(['1', '2', '3', '4'], "5");
    let every = |change: &dyn Fn(&Path, &str, &str)| {
        for ((path, line), text) in all.iter().zip(&texts) {
            change(path, &String::from_utf8_lossy(text), line);
        }
    };
    // In place, as long as it was, and dated back.
    every(&|path, text, line| {
        let written = fs::metadata(path).and_then(|stat| stat.modified()).expect("a time");
        fs::write(path, text.replace(line, &other(line))).expect("room");
        let file = File::options().append(true).open(path).expect("a file");
        file.set_modified(written).expect("our file");
    });
    assert_ne!(before.stdout, agree(&home).stdout);
    warm(&home);
    // In place, and longer; then cut short; then grown again to what it was.
    every(&|path, text, line| fs::write(path, format!("{}\n{text}", other(line))).expect("room"));
    agree(&home);
    every(&|path, text, _| fs::write(path, &text[..text.len() / 2]).expect("room"));
    agree(&home);
    every(&|path, text, _| fs::write(path, text).expect("room"));
    warm(&home);
    // Another file under its name, which begins as the old one did.
    every(&|path, text, line| {
        let draft = path.with_extension("draft");
        fs::write(&draft, format!("{text}{}\n", another(line, "new"))).expect("room");
        chown(&draft, home.user(), home.user()).expect("our file");
        fs::rename(&draft, path).expect("our file");
    });
    assert_ne!(before.stdout, agree(&home).stdout);
}
