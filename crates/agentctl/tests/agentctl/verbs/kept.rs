//! Records that were kept from an earlier command: whatever becomes of them, answers stay the same.

use crate::home::{
    ALL, Answer, Home,
    lines::{id, prompt, reply},
    until,
};
use serde_json::json;
use std::{
    fs::{self, File},
    os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink},
    path::{Path, PathBuf},
};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/fixtures");
const KEPT: &str = ".cache/agentctl/records";

/// Every transcript and rollout of the corpus in one home, whose user may keep caches.
fn corpus() -> Home {
    let home = Home::new();
    let mut found = Vec::new();
    below(Path::new(FIXTURES), &mut found);
    found.sort();
    for (number, path) in found.iter().enumerate() {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let is_project =
            path.parent().and_then(Path::parent).is_some_and(|dir| dir.ends_with("projects"));
        let at = match name.starts_with("rollout-") {
            true => format!(".codex/sessions/{number:04}/11/01/{name}"),
            false if is_project => format!(".claude/projects/{number:04}/{name}"),
            false => continue,
        };
        home.write(at, fs::read(path).expect("a fixture"));
    }
    may_keep(&home);
    home
}

fn may_keep(home: &Home) {
    let cache = home.path(".cache");
    fs::create_dir(&cache).expect("a folder");
    chown(&cache, home.user(), home.user()).expect("our folder");
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

/// The files of kept records, with what tells one writing of each from another.
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

/// Asks until nothing new is kept: what was touched a moment ago is not kept yet.
fn warm(home: &Home) -> Answer {
    until("all is kept", || {
        let before = kept(home);
        let answer = home.run(ALL);
        let is_young = fs::read_dir(home.path(KEPT)).is_err();
        (!is_young && before == kept(home)).then_some(answer)
    })
}

/// The answer of a machine that never kept anything.
fn cold(home: &Home) -> Answer {
    let mut command = home.agentctl(ALL);
    home.ask(command.env("XDG_CACHE_HOME", home.path("nowhere")))
}

fn agree(home: &Home) -> Answer {
    let (first, second, bare) = (home.run(ALL), home.run(ALL), cold(home));
    assert_eq!(told(&first), told(&bare));
    assert_eq!(told(&second), told(&bare));
    bare
}

/// One transcript of the corpus that has a prompt, and that prompt.
fn spoken(home: &Home) -> (PathBuf, String) {
    let answer = home.run(ALL).json();
    let sessions = answer["sessions"].as_array().expect("sessions").iter();
    let of = |one: &&serde_json::Value| {
        let text = |key: &str| one[key].as_str().map(str::to_owned);
        let (path, prompt) = (PathBuf::from(text("source")?), text("prompt")?);
        let plain = prompt.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b' ');
        let is_claude = path.starts_with(home.path(".claude/projects/"));
        (plain && is_claude && prompt.len() > 3).then_some((path, prompt))
    };
    sessions.into_iter().find_map(|one| of(&one)).expect("somebody said something")
}

#[test]
fn cold_and_warm_answers_are_the_same_bytes() {
    let home = corpus();
    let first = home.run(ALL);
    let last = warm(&home);
    assert_eq!(told(&first), told(&last));
    assert_eq!(told(&first), told(&cold(&home)));
    for (path, _) in kept(&home) {
        let stat = fs::symlink_metadata(&path).expect("a file");
        assert_eq!((stat.is_file(), stat.mode() & 0o777), (true, 0o600), "{}", path.display());
    }
    let folder = fs::metadata(home.path(KEPT)).expect("a folder");
    assert_eq!(folder.mode() & 0o777, 0o700);
    fs::remove_dir_all(home.path(".cache/agentctl")).expect("our folder");
    assert_eq!(told(&first), told(&home.run(ALL)));
}

#[test]
fn a_file_that_changed_is_read_again_however_it_looks() {
    let home = corpus();
    let before = warm(&home);
    let (path, prompt) = spoken(&home);
    let stat = fs::metadata(&path).expect("a file");
    let text = fs::read_to_string(&path).expect("a transcript");
    let other = prompt.chars().rev().collect::<String>().replace(' ', "_");
    // In place, as long as it was, and dated back: only what nobody can set tells.
    fs::write(&path, text.replace(&prompt, &other)).expect("room");
    let file = File::options().append(true).open(&path).expect("a file");
    file.set_modified(stat.modified().expect("a time")).expect("our file");
    drop(file);
    let same = fs::metadata(&path).expect("a file");
    assert_eq!((same.len(), same.ino()), (stat.len(), stat.ino()));
    assert_eq!(same.modified().ok(), stat.modified().ok());
    let changed = agree(&home);
    assert_ne!(before.stdout, changed.stdout);
    assert!(changed.stdout.contains(&other), "{}", changed.stdout);
    // Cut short, and then grown again.
    fs::write(&path, &text[..text.len() / 2]).expect("room");
    agree(&home);
    fs::write(&path, &text).expect("room");
    assert!(!agree(&home).stdout.contains(&other));
    // Gone, and another file under its name.
    fs::remove_file(&path).expect("our file");
    let without = agree(&home);
    assert_ne!(before.stdout, without.stdout);
}

#[test]
fn what_is_no_whole_file_of_ours_is_as_good_as_none() {
    let home = corpus();
    let before = warm(&home);
    let spoil: [fn(&Path); 6] = [
        |path| {
            let mut bytes = fs::read(path).expect("a file");
            let middle = bytes.len() * 3 / 4;
            bytes[middle] ^= 1;
            fs::write(path, bytes).expect("room");
        },
        |path| {
            let bytes = fs::read(path).expect("a file");
            fs::write(path, &bytes[..bytes.len() - 1]).expect("room");
        },
        |path| fs::write(path, "").expect("room"),
        |path| fs::write(path, "agentctl records 1 0000000000000000\n").expect("room"),
        |path| {
            let (other, kept) = (path.with_extension("elsewhere"), fs::read(path).expect("a file"));
            fs::write(&other, kept).expect("room");
            fs::remove_file(path).expect("our file");
            symlink(other, path).expect("a link");
        },
        |path| fs::set_permissions(path, fs::Permissions::from_mode(0o666)).expect("our file"),
    ];
    for spoil in spoil {
        let files = kept(&home);
        files.iter().for_each(|(path, _)| spoil(path));
        assert_eq!(told(&before), told(&agree(&home)));
        // It is written anew.
        let new = warm(&home);
        assert_eq!(told(&before), told(&new));
        let is_file = |path: &Path| fs::symlink_metadata(path).is_ok_and(|stat| stat.is_file());
        assert!(kept(&home).iter().all(|(path, _)| is_file(path)));
    }
}

#[test]
fn where_nothing_can_be_kept_the_answer_is_the_same() {
    let home = corpus();
    let before = warm(&home);
    let folder = home.path(KEPT);
    fs::remove_dir_all(&folder).expect("our folder");
    fs::write(&folder, "no folder").expect("room");
    assert_eq!(told(&before), told(&agree(&home)));
    fs::remove_file(&folder).expect("our file");
    symlink(home.path(".ssh"), &folder).expect("a link that leads nowhere");
    assert_eq!(told(&before), told(&agree(&home)));
    assert!(!home.path(".ssh").exists());
}

#[test]
fn a_plain_list_needs_nothing_that_was_kept() {
    let home = corpus();
    home.run(&["list", "--json"]);
    assert!(!home.path(".cache/agentctl").exists());
}

/// A process of which nobody can say what it holds may hold all sessions of its directory.
#[test]
fn nor_does_one_of_many_that_may_be_alive() {
    let home = Home::new();
    may_keep(&home);
    let process = home.stand_in();
    for number in 0..24 {
        let mut lines = [prompt("Begin"), reply("Done")];
        for line in &mut lines {
            line["cwd"] = home.work().display().to_string().into();
        }
        home.claude(&id(number), &lines);
    }
    home.register(&process, &id(1), json!({"status": "busy"}));
    let registration = home.path(format!(".claude/sessions/{}.json", process.pid()));
    fs::set_permissions(&registration, fs::Permissions::from_mode(0o000)).expect("our file");
    warm(&home); // they have rested long enough to be kept
    fs::remove_dir_all(home.path(".cache/agentctl")).expect("our folder");
    let answer = home.run(&["list", "--json"]).json();
    let sessions = answer["sessions"].as_array().expect("sessions").iter();
    assert_eq!(sessions.filter(|one| one["id"].is_string()).count(), 24, "{answer:#}");
    assert!(!home.path(".cache/agentctl").exists());
}
