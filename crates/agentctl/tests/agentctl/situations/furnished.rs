//! A home in which a file of every kind that we write lies beside an agent that works, and what can be done to each.

use super::{Kind, Scene, place::Place, planted, world::must};
use crate::{
    home::{
        kinds, lines,
        receipts::{NOBODY, boot, days},
        until,
    },
    kills::Process,
};
use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs::{self, Permissions},
    os::unix::{
        fs::{FileTypeExt, PermissionsExt},
        net::UnixListener,
    },
    path::{Path, PathBuf},
};

/// The directory of our state, below the home.
pub(super) const STATE: &str = ".local/state/agentctl";
/// What our launch is called.
pub(super) const LAUNCH: &str = "aaaaaaaaaaaa";
/// What one is called that was killed before its agent began.
const BROKEN: &str = "bbbbbbbbbbbb";
/// Who is told of what happens, and cannot be reached.
const TARGET: &str = "[webhook.ours]\nurl = 'http://127.0.0.1:9/'\n";

/// The receipt of a launch of a session in this process.
pub(super) fn receipt(name: &str, session: &str, process: Process) -> Value {
    json!({
        "schema": 1, "launch": name, "agent": "claude-code", "session": session,
        "log": format!("/{name}.log"), "at": days(0),
        "process": {"pid": process.pid, "start": process.start, "boot": boot()},
    })
}

/// Leaves a file of every kind that we write.
pub(super) fn furnish(scene: &Scene) {
    let Place::Played(home) = &scene.place else { panic!("it is played") };
    for number in 0..PAST {
        home.claude(&lines::id(number), &[lines::prompt(&words(number)), lines::reply("so")]);
    }
    write_launch(scene);
    write_outbox(scene);
    home.write(".config/agentctl/config.toml", TARGET);
    let nobody = json!({"pid": NOBODY, "start": 7, "boot": boot()});
    let stop = json!({"schema": 1, "agent": scene.kind.name(), "session": scene.id, "at": days(-1),
        "process": nobody});
    write(scene, &format!("stops/{NOBODY}-7.json"), &stop.to_string());
    write(scene, "locks/%2felse.lock", "launch 7 of claude-code");
    write(scene, "daemon.log", "words\n");
    for dir in ["else", "free"] {
        fs::create_dir(scene.place.path(dir)).expect("a folder"); // where nobody works
    }
    planted::give(&scene.place);
    let other = scene.place.path("else").display().to_string();
    for words in [
        &["lock", other.as_str()] as &[&str],
        &["fuse", "set", &other, "--ttl", "9h"],
        &["budget", "set", &scene.id, "--max-tokens", "9m"],
    ] {
        let answer = scene.place.ask(words);
        assert_eq!(answer.code, Some(0), "{answer:#?}");
    }
    let daemon = home.daemon();
    // It has read what waits, and cannot tell it.
    let tried = scene.place.path(STATE).join("outbox/ours/tries.json");
    until("message that was tried", || tried.exists().then_some(()));
    drop(daemon); // it is killed, and leaves what it leaves
    // What was written a moment ago is not kept yet.
    until("record that is kept", || {
        scene.place.ask(HISTORY);
        scene.place.path(".cache/agentctl/records").exists().then_some(())
    });
}

/// All that is recorded.
pub(super) const HISTORY: &[&str] = &["list", "--since", "all", "--json", "--timeout", "none"];

/// How many sessions are over: from so many on, what was read of each is kept.
const PAST: u32 = 24;

/// They are listed as they were left, whatever was kept of them.
pub(super) fn shows_the_past(list: &Value, what: &str) {
    let rows = list["sessions"].as_array().expect("sessions").iter();
    let own = |row: &&Value| {
        let number = row["id"].as_str().and_then(|id| (0..PAST).find(|one| lines::id(*one) == id));
        number.is_some_and(|number| row["prompt"] == words(number) && row["state"] == "done")
    };
    assert_eq!(rows.filter(own).count(), PAST as usize, "{what}: {list:#}");
}

fn words(number: u32) -> String {
    format!("words {number}")
}

fn write(scene: &Scene, below: &str, text: &str) {
    let Place::Played(home) = &scene.place else { panic!("it is played") };
    home.write(format!("{STATE}/{below}"), text);
}

/// A launch that can be sent to and has hooks, and what another left that was killed.
fn write_launch(scene: &Scene) {
    let process = scene.holder.process;
    let mut value = receipt(LAUNCH, &scene.id, process);
    let input = scene.place.path(STATE).join(format!("launches/{LAUNCH}.in"));
    value["agent"] = scene.kind.name().into();
    value["key"] = "ours".into();
    value["input"] = input.display().to_string().into();
    value["hooks"] = json!({"on_create": "true", "on_complete": "true",
        "cwd": scene.place.work(), "limit": {"secs": 9, "nanos": 0}});
    let ran = json!({"schema": 1, "at": days(0), "by": value["process"],
        "end": {"at": days(0), "code": 0, "timed_out": false}});
    let orders = json!({"argv": ["/bin/true"], "cwd": "/", "env": [], "without": [],
        "receipt": receipt(BROKEN, &scene.id, process), "log": format!("/{BROKEN}.log"), "ends_by": []});
    for (name, text) in [
        (format!("{LAUNCH}.json"), value.to_string()),
        (format!("{LAUNCH}.log"), "words\n".to_owned()),
        (format!("{LAUNCH}.exit"), json!({"schema": 1, "code": 0, "at": days(0)}).to_string()),
        (format!("{LAUNCH}.on-create"), ran.to_string()),
        (format!("{LAUNCH}.on-complete"), ran.to_string()),
        (format!("{BROKEN}.orders"), orders.to_string()),
        (format!("{BROKEN}.prompt"), "words".to_owned()),
        (format!("{BROKEN}.7-0.draft"), "{\"schema\":1,\"la".to_owned()),
    ] {
        write(scene, &format!("launches/{name}"), &text);
    }
    put(&input, &Bytes::Pipe);
}

/// A message that waits, one that was heard, one that was given up, and what is noted beside them.
fn write_outbox(scene: &Scene) {
    let message = json!({"schema": 1, "at": days(0), "message": {"kind": "session.ended",
        "content_type": "application/json", "title": "words", "urgent": false, "body": "{}"}});
    let dropped = json!({"schema": 1, "count": 1, "at": days(0), "message": "no room"});
    for (name, text) in [
        ("done/0000000000000001-a-one.json", String::new()),
        ("failed/0000000000000002-a-two.json", message.to_string()),
        ("queue/0000000000000003-a-three.json", message.to_string()),
        ("dropped.json", dropped.to_string()),
        ("room.json", "\"xx".to_owned()),
    ] {
        write(scene, &format!("outbox/ours/{name}"), &text);
    }
}

/// What is in a place of ours.
#[derive(Debug)]
pub(super) enum Bytes {
    File(Vec<u8>),
    Pipe,
    Socket,
}

/// Every file of ours, as it is.
pub(super) fn files(scene: &Scene) -> Vec<(PathBuf, Bytes)> {
    let content = |path: PathBuf| {
        let kind = path.symlink_metadata().expect("ours").file_type();
        let bytes = match (kind.is_fifo(), kind.is_socket()) {
            (true, _) => Bytes::Pipe,
            (_, true) => Bytes::Socket,
            (false, false) => Bytes::File(fs::read(&path).expect("ours")),
        };
        (path, bytes)
    };
    kinds::files(&scene.place.path("")).into_iter().map(|(_, path)| content(path)).collect()
}

/// Puts this there, whatever is there now.
pub(super) fn put(path: &Path, bytes: &Bytes) {
    let _ = fs::remove_file(path); // it may be gone
    let _ = fs::remove_dir(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("our folder");
    match bytes {
        Bytes::File(bytes) => fs::write(path, bytes).expect("our file"),
        Bytes::Pipe => {
            mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR).expect("a pipe");
        }
        Bytes::Socket => drop(UnixListener::bind(path).expect("a socket")), // it stays
    }
    fs::set_permissions(path, Permissions::from_mode(0o600)).expect("our file");
}

/// Puts bytes into a file as it is, or in the place of what is none.
pub(super) fn spoil(path: &Path, bytes: &[u8]) {
    match path.symlink_metadata().expect("ours").is_file() {
        true => fs::write(path, bytes).expect("our file"),
        false => put(path, &Bytes::File(bytes.to_vec())),
    }
}

/// Does something to each file of ours, looks, and then makes all as it was.
pub(super) fn one_by_one(scene: &Scene, harm: impl Fn(&Path, &Bytes), look: impl Fn(&Path)) {
    let all = files(scene);
    is_complete(scene, &all);
    let mut shards = 0;
    for (path, bytes) in all.iter().filter(|(path, _)| concerns(scene.kind, path)) {
        // Records are kept in many files, of which one is as good as the next.
        shards += u8::from(is_in(path, "records"));
        if is_in(path, "records") && shards > 2 {
            continue;
        }
        harm(path, bytes);
        give(scene);
        look(path);
        for (path, bytes) in &all {
            put(path, bytes);
        }
        give(scene);
    }
}

/// Ours belong to the home's user. The others are not touched: what was kept of them would not count any more.
fn give(scene: &Scene) {
    let Some(user) = scene.place.user() else { return };
    let roots = kinds::ROOTS.map(|root| scene.place.path(root));
    must(
        "chown",
        &["-hR", &user.to_string(), &roots[0].to_string_lossy(), &roots[1].to_string_lossy()],
    );
}

/// Only receipts and caches are about a session: the others are the same beside every agent.
fn concerns(kind: Kind, path: &Path) -> bool {
    kind == Kind::Claude || ["launches", "stops", "records"].iter().any(|one| is_in(path, one))
}

fn is_in(path: &Path, folder: &str) -> bool {
    path.components().any(|part| part.as_os_str() == folder)
}

/// A file of each kind is there, and none of another.
fn is_complete(scene: &Scene, all: &[(PathBuf, Bytes)]) {
    let roots = kinds::ROOTS.map(|root| scene.place.path(root));
    let kind = |(path, _): &(PathBuf, Bytes)| {
        let below = roots.iter().find_map(|root| path.strip_prefix(root).ok());
        let kind = below.and_then(kinds::kind);
        kind.unwrap_or_else(|| panic!("{} is of no kind of ours", path.display()))
    };
    let there: BTreeSet<&str> = all.iter().map(kind).collect();
    let missing: Vec<&&str> = kinds::KINDS.iter().filter(|kind| !there.contains(*kind)).collect();
    assert!(missing.is_empty(), "no file is damaged of these kinds: {missing:?}");
}
