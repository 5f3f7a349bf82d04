//! What happens to sessions and locks, as watchers tell it that come and go.

use crate::home::{
    Agents, Home,
    lines::{id, prompt, reply},
    of, short, text,
};
use jiff::Timestamp;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{fs, io::Write, path::Path};

/// A line as it is written now.
fn now(mut line: Value) -> Value {
    line["timestamp"] = json!(Timestamp::now().to_string());
    line
}

/// Adds lines to a transcript.
fn append(path: &Path, lines: &[Value]) {
    let mut file = fs::File::options().append(true).create(true).open(path).expect("a file");
    file.write_all(text(lines).as_bytes()).expect("a write");
}

fn permission() -> Value {
    json!({"status": "waiting", "waitingFor": "permission prompt"})
}

/// From its first sign to its end, each step is told once, and soon.
#[test]
fn a_life_is_told() {
    let home = Home::new();
    let mut events = home.events();
    let mut process = home.stand_in();
    home.register(&process, &id(1), json!({"status": "idle"}));
    assert_eq!(events.told(&id(1)), "session.started: - idle");
    let record = home.claude(&id(1), &[now(prompt("Begin"))]);
    home.register(&process, &id(1), json!({"status": "busy"}));
    assert_eq!(events.told(&id(1)), "session.working: idle working");
    home.register(&process, &id(1), permission());
    assert_eq!(events.told(&id(1)), "session.waiting: working waiting");
    home.register(&process, &id(1), json!({"status": "busy"}));
    assert_eq!(events.told(&id(1)), "session.working: waiting working");
    append(&record, &[now(reply("Done"))]);
    home.register(&process, &id(1), json!({"status": "idle"}));
    assert_eq!(events.told(&id(1)), "session.idle: working idle");
    let mut more = now(prompt("More"));
    more["parentUuid"] = now(reply(""))["uuid"].clone();
    more["uuid"] = json!("44444444-0000-4000-8000-000000000000");
    append(&record, &[more]);
    home.register(&process, &id(1), json!({"status": "busy"}));
    assert_eq!(events.told(&id(1)), "session.working: idle working");
    process.kill();
    assert_eq!(events.told(&id(1)), "session.ended: working died");
}

/// The ids of what a record shows are the same for whoever saw it and whoever reads it later.
#[test]
fn what_is_read_later_has_the_same_ids() {
    let home = Home::new();
    let cursor = home.cursor();
    let mut seen = home.events_since(&cursor, &[]);
    seen.next();
    let process = home.stand_in();
    home.register(
        &process,
        &id(1),
        json!({"status": "idle", "startedAt": Timestamp::now().as_millisecond()}),
    );
    assert_eq!(seen.told(&id(1)), "session.started: - idle");
    let record = home.claude(&id(1), &[now(prompt("Begin"))]);
    home.register(&process, &id(1), json!({"status": "busy"}));
    assert_eq!(seen.told(&id(1)), "session.working: idle working");
    append(&record, &[now(reply("Done"))]);
    home.register(&process, &id(1), json!({"status": "idle"}));
    assert_eq!(seen.told(&id(1)), "session.idle: working idle");
    process.end();
    assert_eq!(seen.told(&id(1)), "session.ended: idle done");
    let later = home.run(&["events", "--once", "--json", "--since", &cursor]);
    assert_eq!(of(&later.stdout, &id(1)), seen.of_session(&id(1)));
}

/// Watchers that are killed after any line, while sessions go on: whoever comes next is told the rest.
#[test]
fn whoever_goes_on_is_told_the_rest() {
    let home = Home::new();
    let mut cursor = home.cursor();
    let (mut ids, mut told) = (Vec::new(), Vec::new());
    let mut read = |cursor: &mut String, lines: usize| {
        let mut stream = home.events_since(cursor, &["--once"]);
        for _ in 0..lines {
            let event = stream.next();
            cursor.clone_from(&stream.cursor());
            if event["type"] == "cursor" {
                break;
            }
            if event["session"]["id"] == id(1) {
                told.push(short(&event));
            }
            ids.push(event["id"].to_string());
        }
        stream.kill();
    };
    let process = home.stand_in();
    home.register(&process, &id(1), json!({"status": "idle"}));
    let record = home.claude(&id(1), &[now(prompt("1")), now(reply("1"))]);
    read(&mut cursor, 2);
    append(&record, &turn(2));
    append(&record, &turn(3));
    read(&mut cursor, 3);
    append(&record, &turn(4));
    read(&mut cursor, 4);
    process.end();
    read(&mut cursor, 2);
    read(&mut cursor, 100);
    let turn = ["session.working: idle working", "session.idle: working idle"];
    let mut all = vec!["session.started: - idle"];
    all.extend(turn.repeat(4));
    all.push("session.ended: idle done");
    assert_eq!(told, all);
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "an id was told twice: {ids:#?}");
}

/// A whole turn, under what came before.
fn turn(number: u32) -> Vec<Value> {
    let mut lines = [now(prompt(&number.to_string())), now(reply(&number.to_string()))];
    lines[0]["parentUuid"] = lines[1]["uuid"].clone();
    for (line, at) in lines.iter_mut().zip(0..) {
        line["uuid"] = json!(format!("{number}{at}111111-0000-4000-8000-000000000000"));
    }
    lines[1]["parentUuid"] = lines[0]["uuid"].clone();
    lines.to_vec()
}

/// What we launched is told with the exit that its parent saw, by whoever saw it and whoever did not.
#[test]
fn a_launch_that_is_killed_is_told_with_its_exit() {
    let agents = Agents::new();
    let home = &agents.home;
    let mut events = home.events();
    let cursor = events.cursor();
    let launched = home.run(&["launch", "claude-code", "--json", "--group", "g", "-p", "x"]);
    let session = &launched.json()["session"];
    let id = session["id"].as_str().expect("an id");
    assert_eq!(events.told(id), "session.started: - idle");
    assert_eq!(events.told(id), "session.working: idle working");
    let pid = i32::try_from(session["pid"].as_u64().expect("a pid")).expect("a pid");
    kill_process(Pid::from_raw(pid).expect("a pid"), Signal::KILL).expect("it lives");
    assert_eq!(events.told(id), "session.ended: working died");
    let last = events.read.last().expect("an event");
    assert_eq!(
        (&last["session"]["exit_code"], &last["session"]["group"]),
        (&json!(137), &json!("g"))
    );
    let later = home.run(&["events", "--once", "--json", "--since", &cursor]);
    // That it worked is in no record: only who was there saw it.
    let ids = |told: Vec<(String, String)>| -> Vec<String> {
        let proved = told.into_iter().filter(|(what, _)| !what.starts_with("session.working"));
        proved.map(|(_, id)| id).collect()
    };
    assert_eq!(ids(of(&later.stdout, id)), ids(events.of_session(id)));
}

/// A store that comes, goes and comes again is watched each time.
#[test]
fn stores_come_and_go() {
    let home = Home::new();
    fs::remove_dir_all(home.path(".claude")).expect("a store");
    let mut events = home.events();
    for number in 1..4 {
        let process = home.stand_in();
        home.register(&process, &id(number), json!({"status": "busy"}));
        assert_eq!(events.told(&id(number)), "session.started: - idle");
        assert_eq!(events.told(&id(number)), "session.working: idle working");
        home.register(&process, &id(number), json!({"status": "idle"}));
        assert_eq!(events.told(&id(number)), "session.idle: working idle");
        process.end();
        assert_eq!(events.told(&id(number)), "session.ended: idle done");
        fs::remove_dir_all(home.path(".claude")).expect("a store");
    }
    events.are_unique();
}

/// A directory is locked by a session as long as that works there, and by a person until unlocked.
#[test]
fn locks_are_told() {
    let agents = Agents::new();
    let home = &agents.home;
    let mut events = home.events();
    let mut lock = || loop {
        let event = events.next();
        if let Some(kind) = event["type"].as_str().filter(|kind| kind.starts_with("lock.")) {
            return (kind.to_owned(), event["lock"]["kind"].clone(), event["lock"]["by"].clone());
        }
    };
    let dir = home.path("mine");
    fs::create_dir(&dir).expect("a directory");
    let dir = dir.to_str().expect("a name");
    assert_eq!(home.run(&["lock", dir, "--by", "me"]).code, Some(0));
    assert_eq!(lock(), ("lock.taken".to_owned(), json!("manual"), json!("me")));
    assert_eq!(home.run(&["unlock", dir]).code, Some(0));
    assert_eq!(lock(), ("lock.released".to_owned(), json!("manual"), json!("me")));
    let process = home.stand_in();
    home.register(&process, &id(1), json!({"status": "busy"}));
    assert_eq!(lock(), ("lock.taken".to_owned(), json!("session"), Value::Null));
    process.end();
    assert_eq!(lock(), ("lock.released".to_owned(), json!("session"), Value::Null));
}

/// Only what is asked for is told; gaps always are, since others may be missing.
#[test]
fn filters_keep_what_they_name() {
    let home = Home::new();
    let mut events =
        home.events_since(&home.cursor(), &["--filter", "type=session.idle,agent=claude"]);
    assert_eq!(events.next()["type"], "gap");
    let process = home.stand_in();
    home.register(&process, &id(1), json!({"status": "busy"}));
    let mut all = Vec::new();
    while all.is_empty() {
        // What is quicker than a look was never there.
        home.register(&process, &id(1), json!({"status": "busy"}));
        assert_eq!(
            home.run(&["wait", &id(1), "--for", "waiting", "--timeout", "300ms"]).code,
            Some(7)
        );
        home.register(&process, &id(1), json!({"status": "idle"}));
        all.push(short(&events.next()));
    }
    assert_eq!(all, ["session.idle: working idle"]);
}

#[test]
fn words_that_mean_nothing_are_refused() {
    let home = Home::new();
    for words in [
        ["--since", "c1.AAAA"],
        ["--since", "c2.AAAA"],
        ["--since", "soon"],
        ["--filter", "type=session.begun"],
        ["--filter", "agent=nobody"],
        ["--filter", "colour=red"],
    ] {
        let refused = home.run(&[&["events", "--json", "--once"], &words[..]].concat());
        assert_eq!((refused.code, &refused.json()["error"]["kind"]), (Some(2), &json!("usage")));
    }
}

/// More happens than the kernel holds for a watcher that is stopped: it looks at everything anew.
#[test]
fn a_flood_is_survived() {
    let home = Home::new();
    let mut events = home.events();
    let watcher = Pid::from_raw(i32::try_from(events.pid()).expect("a pid")).expect("a pid");
    kill_process(watcher, Signal::STOP).expect("it runs");
    let held = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").expect("a limit");
    let held: usize = held.trim().parse().expect("a number");
    let process = home.stand_in();
    // By turns: what is like the last is not held twice.
    let files = ["one", "other"].map(|name| home.write(format!(".claude/sessions/{name}"), ""));
    for _ in 0..held {
        files.iter().for_each(|file| drop(fs::File::open(file).expect("a file")));
    }
    home.claude(&id(1), &[now(prompt("Begin"))]);
    home.register(&process, &id(1), json!({"status": "busy"}));
    kill_process(watcher, Signal::CONT).expect("it is there");
    assert_eq!(events.told(&id(1)), "session.started: - idle");
    assert_eq!(events.told(&id(1)), "session.working: idle working");
    home.register(&process, &id(1), json!({"status": "idle"}));
    // The record still has an open turn: what the process says counts, once that is clear.
    assert_eq!(events.told(&id(1)), "session.idle: working idle");
    process.end();
    assert_eq!(events.told(&id(1)), "session.ended: idle died");
    events.are_unique();
}
