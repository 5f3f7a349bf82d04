//! What happens to sessions and locks, as watchers tell it that come and go.

use crate::home::{
    Home, Stream,
    lines::{id, prompt, reply},
    short, text,
};
use jiff::Timestamp;
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
    let mine = |stream: &[Value]| -> Vec<(String, Value)> {
        let own = stream.iter().filter(|event| event["session"]["id"] == id(1));
        own.map(|event| (short(event), event["id"].clone())).collect()
    };
    let later = home.run(&["events", "--once", "--json", "--since", &cursor]);
    let later: Vec<Value> =
        later.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (seen, later) = (mine(&seen.read), mine(&later));
    let ids = |told: &[(String, Value)]| told.iter().map(|(_, id)| id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&later), ids(&seen), "{later:#?} {seen:#?}");
}
