//! What happens to our own files: none of them says what state a session is in.

use super::{
    Kind, Scene, each,
    furnished::{
        Bytes, HISTORY, LAUNCH, STATE, files, furnish, one_by_one, put, receipt, shows_the_past,
        spoil,
    },
    place::Place,
    planted,
    stores::works,
    truth::Said,
    world::{Mounted, must},
};
use crate::{
    home::{
        Daemon,
        receipts::{boot, days},
    },
    kills::Process,
};
use serde_json::{Value, json};
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

const CLAUDE: &[Kind] = &[Kind::Claude];
/// Claude Code writes down itself who has a session; of Pi, our receipt alone says it.
const BOTH: &[Kind] = &[Kind::Claude, Kind::Pi];
/// Those of our commands that read our state, of the session that this names.
const ID: &str = "ID";
const FACES: &[&[&str]] = &[
    &["list", "--json", "--timeout", "none"],
    HISTORY,
    &["status", ID, "--json"],
    &["locks", "--json"],
    &["fuse", "list", "--json"],
    &["budget", "list", "--json"],
    &["webhook", "list", "--json"],
    &["daemon", "status", "--json"],
    &["events", "--once", "--json"],
    &["send", ID, "words", "--timeout", "1s", "--json"],
    &["doctor", "--json"],
];

/// Whatever our files say, the session works in its process; no command falls over them.
fn bears(scene: &Scene, what: &str) {
    for words in FACES {
        let named =
            |word: &&'static str| if *word == ID { scene.id.clone() } else { (*word).into() };
        let own: Vec<String> = words.iter().map(named).collect();
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let answer = scene.place.ask(&own); // fails unless the exit code is one of ours
        if words[0] != "list" {
            continue;
        }
        let list = answer.json();
        if *words == HISTORY {
            shows_the_past(&list, what);
        }
        let rows = list["sessions"].as_array().expect("sessions").iter();
        let rows: Vec<&Value> = rows.filter(|row| row["id"] == *scene.id).collect();
        let [row] = rows.as_slice() else { panic!("{what}: {list:#}") };
        assert_eq!((&row["state"], &row["live"]), (&json!("working"), &json!(true)), "{what}");
        assert_eq!(row["pid"], scene.holder.process.pid, "{what}");
    }
    assert!(scene.holder.process.lives(), "{what}");
}

/// A daemon comes up over them, or says in its own words why not.
fn daemon_bears(scene: &Scene, what: &str) {
    let Place::Played(home) = &scene.place else { panic!("it is played") };
    let mut daemon = Daemon::begin(home, &mut home.agentctl(&["daemon", "run"]));
    let refuses = crate::home::until("a daemon, or its end", || {
        let said = daemon.said();
        let refuses = said.contains("error: ");
        (refuses || said.contains("listens on")).then_some(refuses)
    });
    if refuses {
        let code = daemon.ended();
        assert!(matches!(code, Some(1 | 5 | 8)), "{what}: {code:?}: {}", daemon.said());
    } else {
        let waits = at_rest(daemon.pid()).into_iter().find(|thread| thread.at == PIPE);
        assert!(waits.is_none(), "{what}: {waits:?} would wait for ever");
    }
    assert!(!daemon.said().contains("panicked"), "{what}: {}", daemon.said());
}

/// Where the kernel keeps whoever opens a pipe that nobody else has open.
const PIPE: &str = "wait_for_partner";

/// A thread of a daemon, and what it has done so far.
#[derive(Debug, PartialEq)]
struct Thread {
    name: String,
    used: Vec<u64>,
    at: String,
}

/// The threads of a daemon once those that begin by themselves are there, and all rest: what they do at first is done.
fn at_rest(pid: u32) -> Vec<Thread> {
    let mut before = Vec::new();
    crate::home::until("threads that rest", || {
        let now = threads(pid);
        let is_there = |name: &&str| now.iter().any(|thread| thread.name == **name);
        let all = ["watcher", "due", "budgets"].iter().all(is_there);
        let rest = now == before && now.iter().all(|thread| thread.at != "0");
        before = now;
        (all && rest).then(|| std::mem::take(&mut before))
    })
}

fn threads(pid: u32) -> Vec<Thread> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let thread = |task: PathBuf| {
        let read = |name: &str| fs::read_to_string(task.join(name)).ok();
        let name = read("comm")?.trim_end().to_owned();
        let status = read("status")?;
        let switches = status.lines().filter_map(|line| line.split_once("ctxt_switches:"));
        let used = switches.filter_map(|(_, count)| count.trim().parse().ok()).collect();
        Some(Thread { name, used, at: read("wchan")? })
    };
    tasks.filter_map(|task| thread(task.path())).collect()
}

/// Does something to each file of ours beside an agent that lives.
fn each_file(kind: Kind, harm: impl Fn(&Path, &Bytes)) {
    let scene = Scene::new(kind);
    furnish(&scene);
    one_by_one(&scene, harm, |path| {
        let what = path.display().to_string();
        bears(&scene, &what);
        if kind == Kind::Claude {
            daemon_bears(&scene, &what);
        }
    });
    works(&scene);
}

#[test]
fn a_file_of_ours_that_is_cut_or_empty() {
    each(BOTH, |kind| {
        each_file(kind, |path, bytes| match bytes {
            Bytes::File(bytes) => spoil(path, &bytes[..bytes.len() / 2]),
            Bytes::Pipe | Bytes::Socket => fs::remove_file(path).expect("ours"),
        });
        each_file(kind, |path, _| spoil(path, b""));
    });
}

#[test]
fn a_file_of_ours_full_of_garbage() {
    each(BOTH, |kind| {
        let garbage: Vec<u8> = (0..5000_u32).map(|number| (number * 31 % 251) as u8).collect();
        each_file(kind, |path, _| spoil(path, &garbage));
        each_file(kind, |path, _| spoil(path, b"{\"schema\":1}"));
    });
}

#[test]
fn a_file_of_ours_that_nobody_may_read_or_that_is_none() {
    each(BOTH, |kind| {
        for mode in [0o444, 0o000] {
            each_file(kind, |path, _| {
                fs::set_permissions(path, Permissions::from_mode(mode)).expect("our file");
            });
        }
        each_file(kind, |path, _| {
            fs::remove_file(path).expect("our file");
            fs::create_dir(path).expect("our folder");
        });
        // Whoever opens it as a file waits for ever.
        each_file(kind, |path, _| put(path, &Bytes::Pipe));
    });
}

/// It is a receipt that was destroyed: every face that tells of problems names it.
fn is_told(scene: &Scene, path: &Path) {
    let name = path.display().to_string();
    for words in
        [&["list", "--all", "--json"][..], &["status", &scene.id, "--json"], &["doctor", "--json"]]
    {
        let answer = scene.place.ask(words);
        let problems = answer.json()["problems"].as_array().cloned().unwrap_or_default();
        let named = problems.iter().any(|problem| problem["path"] == *name);
        assert!(named && answer.code == Some(8), "{name}: {answer:#?}");
    }
    let events = scene.place.ask(&["events", "--once", "--json"]);
    assert!(events.stderr.contains(&name), "{name}: {events:#?}");
}

/// What we noted of an end cannot begin a session again, and what is lost of it is told.
#[test]
fn a_file_of_ours_of_a_session_that_has_ended() {
    each(BOTH, |kind| {
        let mut scene = Scene::new(kind);
        furnish(&scene);
        let process = scene.holder.process;
        scene.holder.end();
        let stop = json!({"schema": 1, "agent": kind.name(), "session": scene.id, "at": days(0),
            "process": {"pid": process.pid, "start": process.start, "boot": boot()}});
        let stopped = format!("stops/{}-{}.json", process.pid, process.start);
        let ours = scene.place.path(STATE);
        fs::write(ours.join(&stopped), stop.to_string()).expect("our file");
        planted::give(&scene.place);
        assert_eq!(scene.said(), Some(Said::new("stopped", None)));
        let launch = ["json", "exit"].map(|kind| format!("launches/{LAUNCH}.{kind}"));
        for name in launch.iter().chain([&stopped]) {
            let path = ours.join(name);
            let bytes = fs::read(&path).expect("our file");
            for text in ["", "\u{1}garbage"] {
                fs::write(&path, text).expect("our file");
                let state = if *name == stopped { "died" } else { "stopped" };
                assert_eq!(scene.said(), Some(Said::new(state, None)), "{name}");
                is_told(&scene, &path);
            }
            fs::write(&path, bytes).expect("our file");
        }
    });
}

/// Our files are on a file system of their own, which this does something to.
fn on_a_small_disk(harm: impl Fn(&Path)) -> Scene {
    let mut scene = Scene::new(Kind::Claude);
    let disks = [STATE, ".cache/agentctl"].map(|dir| scene.place.path(dir));
    for dir in &disks {
        fs::create_dir_all(dir).expect("a folder");
        scene.mounted.push(Mounted::memory("size=256k", dir));
    }
    planted::give(&scene.place);
    furnish(&scene);
    disks.iter().for_each(|dir| harm(dir));
    scene
}

/// Nothing can be written: all is told, nothing is promised, and a stop is a stop.
fn stops_without_a_note(scene: &mut Scene, why: &str) {
    works(scene);
    let counted = scene.place.ask(&["list", "--all", "--since", "all", "--usage", "--json"]);
    shows_the_past(&counted.json(), why);
    let dir = scene.place.path("free").display().to_string();
    for words in [&["lock", dir.as_str()] as &[&str], &["fuse", "set", &dir, "--ttl", "1h"]] {
        let answer = scene.place.ask(words);
        assert_eq!(answer.code, Some(1), "{answer:#?}");
        assert!(answer.stderr.contains(why), "{answer:#?}");
    }
    scene.innocent(None);
    scene.place.ask(&["stop", &scene.id, "--force"]);
    assert!(!scene.holder.process.lives(), "it was to be stopped");
    let said = scene.said().expect("it is listed");
    assert!(matches!(said.state.as_str(), "died" | "stopped"), "{said:?}");
}

#[test]
fn our_files_on_a_full_disk() {
    each(CLAUDE, |_| {
        let mut scene = on_a_small_disk(|disk| {
            let full = fs::write(disk.join("full"), vec![0; 1 << 20]);
            assert!(full.is_err(), "there is room");
        });
        stops_without_a_note(&mut scene, "No space left");
    });
}

#[test]
fn our_files_on_a_disk_that_is_read_only() {
    each(CLAUDE, |_| {
        let mut scene = on_a_small_disk(|disk| {
            must("mount", &["-o", "remount,ro", &disk.to_string_lossy()]);
        });
        stops_without_a_note(&mut scene, "Read-only file system");
    });
}

/// How many files of a kind are old: half of them for months, the others since today.
const MANY: u32 = 400;

/// Receipts of launches and stops. All name pids that live: of the innocent, and of the agent.
fn old_receipts(scene: &Scene, lives: [Process; 3]) {
    for folder in ["launches", "stops"] {
        fs::create_dir_all(scene.place.path(STATE).join(folder)).expect("a folder");
    }
    for number in 0..MANY {
        let living = lives[number as usize / 2 % 3];
        let name = format!("{number:012x}");
        let mut value = receipt(&name, &crate::home::lines::id(number), living);
        value["at"] = days(if is_months_old(number) { -60 - i64::from(number) } else { 0 }).into();
        let start = living.start + 1 + u64::from(number); // somebody who had that pid
        value["process"]["start"] = start.into();
        if number / 2 % 4 == 0 {
            value["process"]["start"] = living.start.into();
            value["process"]["boot"] = "11111111-2222-4333-8444-555555555555".into();
        }
        let stop = json!({"schema": 1, "agent": "claude-code", "session": scene.id,
            "at": value["at"], "process": value["process"]});
        let write = |below: String, value: &Value| {
            let path = scene.place.path(STATE).join(below);
            fs::write(path, value.to_string()).expect("our file");
        };
        write(format!("launches/{name}.json"), &value);
        write(format!("stops/{}-{start}.json", living.pid), &stop);
    }
}

fn is_months_old(number: u32) -> bool {
    number.is_multiple_of(2)
}

/// Locks of a person, and what daemons of other homes threw away. One of each is made by us, and the
/// others are called like it.
fn old_locks_and_cursors(scene: &Scene) {
    let dir = scene.place.path("d0000");
    fs::create_dir(&dir).expect("a folder");
    planted::give(&scene.place);
    let locked = scene.place.ask(&["lock", &dir.to_string_lossy(), "--by", "ada"]);
    assert_eq!(locked.code, Some(0), "{locked:#?}");
    let Place::Played(home) = &scene.place else { panic!("it is played") };
    drop(home.daemon());
    let all = files(scene);
    let made = |word: &str| {
        let named = |(path, _): &&(PathBuf, Bytes)| path.to_string_lossy().contains(word);
        let found = all.iter().find(named).map(|(path, _)| path);
        found.unwrap_or_else(|| panic!("no {word} in {all:?}"))
    };
    let (lock, cursor) = (made("d0000"), made(".cursor"));
    let text = fs::read_to_string(lock).expect("our file");
    let bytes = fs::read(cursor).expect("our file");
    for number in 1..MANY {
        let name = format!("d{number:04}");
        let path = lock.to_string_lossy().replace("d0000", &name);
        fs::write(path, text.replace("d0000", &name)).expect("our file");
        let path = cursor.with_file_name(format!("daemon-{number:016x}.cursor"));
        fs::write(path, &bytes).expect("our file");
    }
}

/// What is months old is swept, what is of today or a person's stays, and none of it is a session or
/// leads to a process.
#[test]
fn hundreds_of_old_files_of_ours() {
    each(CLAUDE, |_| {
        let mut scene = Scene::new(Kind::Claude);
        let innocents = [scene.innocent(None), scene.innocent(None)];
        old_locks_and_cursors(&scene);
        old_receipts(&scene, [innocents[0], innocents[1], scene.holder.process]);
        planted::give(&scene.place);
        let mut told = scene.truth();
        let own = told.rows.remove(&scene.id);
        assert_eq!(own, Some(Said::new("working", Some(scene.holder.process))));
        let made_up = told.rows.keys().filter(|id| id.starts_with("000")).count();
        assert_eq!(made_up, 0, "sessions are made of receipts: {told:#?}");
        let left = |folder: &str| -> Vec<PathBuf> {
            let dir = scene.place.path(STATE).join(folder);
            let paths = files(&scene).into_iter().map(|(path, _)| path);
            paths.filter(|path| path.starts_with(&dir)).collect()
        };
        let receipts = left("launches");
        let name = |number| format!("{number:012x}.json");
        for number in 0..MANY {
            let there = receipts.iter().any(|path| path.ends_with(name(number)));
            assert_eq!(there, !is_months_old(number), "{number}: {receipts:#?}");
        }
        assert!(!left("stops").is_empty(), "those of today are needed");
        let locks = scene.place.ask(&["locks", "--json"]).json();
        let theirs = locks["locks"].as_array().expect("locks").iter();
        assert_eq!(theirs.filter(|lock| lock["by"] == "ada").count(), MANY as usize);
        let stopped = scene.place.ask(&["stop", "--all", "--force", "--grace", "100ms", "--json"]);
        assert!(innocents.iter().all(|one| one.lives()), "{stopped:#?}");
        assert!(!scene.holder.process.lives(), "{stopped:#?}");
        scene.harmed_nobody();
    });
}

/// A daemon is killed, and several begin at once: one stays, and what is listed never changes.
#[test]
fn daemons_that_race() {
    each(CLAUDE, |_| {
        let scene = Scene::new(Kind::Claude);
        let Place::Played(home) = &scene.place else { panic!("it is played") };
        for _ in 0..3 {
            let run = |_| Daemon::begin(home, &mut home.agentctl(&["daemon", "run"]));
            let mut all: Vec<Daemon> = (0..4).map(run).collect();
            let listens = |one: &Daemon| one.said().contains("listens on");
            crate::home::until("a daemon", || all.iter().any(listens).then_some(()));
            works(&scene);
            let first = all.iter().position(listens).expect("one listens");
            let mut winner = all.remove(first);
            for mut loser in all {
                assert_eq!(loser.ended(), Some(5), "{}", loser.said());
            }
            winner.kill();
            works(&scene);
        }
    });
}
