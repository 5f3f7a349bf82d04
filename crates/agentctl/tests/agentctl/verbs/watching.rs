//! What a watcher tells where the kernel gives less than it was asked for, and where stores go and come.

use crate::home::{Agents, Home, StandIn, Stream, lines::id, short};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::{
    fs,
    os::unix::fs::symlink,
    path::PathBuf,
    time::{Duration, Instant},
};

/// More than the kernel keeps for one who does not listen (16384 on Linux).
const FLOOD: usize = 20_000;
/// Longer than anything is held back.
const SETTLED: Duration = Duration::from_secs(4);

fn signal(events: &Stream, signal: Signal) {
    let pid = i32::try_from(events.pid()).ok().and_then(Pid::from_raw).expect("a pid");
    kill_process(pid, signal).expect("it lives");
}

/// A session at rest that was told of.
fn at_rest(home: &Home, events: &mut Stream) -> StandIn {
    let process = home.stand_in();
    home.register(&process, &id(1), json!({"status": "idle"}));
    assert_eq!(events.told(&id(1)), "session.started: - idle");
    process
}

/// Makes the watcher look at all agents, and waits until it has.
fn nudge(home: &Home, events: &mut Stream) -> Vec<String> {
    let dir = home.work();
    let answer = home.run(&["fuse", "set", dir.to_str().expect("a name"), "--ttl", "1h"]);
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    let mut told = Vec::new();
    loop {
        let event = events.next();
        if event["type"] == "fuse.set" {
            return told;
        }
        if event["type"].as_str().is_some_and(|kind| kind.starts_with("session.")) {
            told.push(short(&event));
        }
    }
}

/// While the store is away its session is not told as ended; once it is back all goes on.
fn away_and_back(leave: impl Fn(&PathBuf)) {
    let agents = Agents::new();
    let home = &agents.home;
    let mut events = home.events();
    let mut process = at_rest(home, &mut events);
    let (store, aside) = (home.path(".claude"), home.path("aside"));
    fs::rename(&store, &aside).expect("a store");
    leave(&store);
    let end = Instant::now() + SETTLED;
    while Instant::now() < end {
        assert_eq!(nudge(home, &mut events), Vec::<String>::new());
    }
    if store.is_symlink() {
        fs::remove_file(&store).expect("a link");
    }
    fs::rename(&aside, &store).expect("a store");
    home.register(&process, &id(1), json!({"status": "busy"}));
    assert_eq!(events.told(&id(1)), "session.working: idle working");
    process.kill();
    assert_eq!(events.told(&id(1)), "session.ended: working died");
    events.are_unique();
}

#[test]
fn a_store_that_goes_for_a_while_ends_nothing() {
    away_and_back(|_| ());
}

#[test]
fn a_store_that_cannot_be_read_for_a_while_ends_nothing() {
    // Root may read everything but a link that leads to itself.
    away_and_back(|store| symlink(store, store).expect("a link"));
}

/// The kernel drops what comes after a flood: then everything is looked at, not only what was flooded.
#[test]
fn a_flood_hides_nothing() {
    let home = Home::new();
    home.write(".codex/sessions/first", "");
    let mut events = home.events();
    let mut first = at_rest(&home, &mut events);
    signal(&events, Signal::STOP);
    for number in 0..FLOOD {
        let name = home.path(format!(".codex/sessions/f{number}"));
        fs::File::create(name).expect("a file");
    }
    let second = home.stand_in();
    home.register(&second, &id(2), json!({"status": "busy"}));
    home.register(&first, &id(1), json!({"status": "busy"}));
    signal(&events, Signal::CONT);
    let mut told: Vec<String> = Vec::new();
    while told.len() < 3 {
        let event = events.next();
        if event["session"]["agent"] == "claude-code" {
            told.push(format!("{} {}", event["session"]["id"], short(&event)));
        }
    }
    told.sort();
    let line = |number, what: &str| format!("\"{}\" session.{what}", id(number));
    assert_eq!(
        told,
        [
            line(1, "working: idle working"),
            line(2, "started: - idle"),
            line(2, "working: idle working"),
        ]
    );
    first.kill();
    assert_eq!(events.told(&id(1)), "session.ended: working died");
    events.are_unique();
}

/// Without a single watch, the scan is what is left, and that is said.
#[test]
fn without_watches_it_still_tells() {
    let agents = Agents::new();
    let home = &agents.home;
    home.write(".claude/sessions/none", "");
    let limited = "echo 0 >/proc/sys/user/max_inotify_watches && exec \"$@\"";
    let mut unshare = home.command("/usr/bin/unshare");
    unshare.args(["--user", "--map-root-user", "/bin/sh", "-c", limited, "sh"]);
    let (cursor, said) = (home.cursor(), home.path("said"));
    unshare.arg(home.program("agentctl")).args(["events", "--json", "--since", &cursor]);
    unshare.stderr(fs::File::create(&said).expect("a file"));
    let mut events = Stream::of(&mut unshare);
    assert_eq!(events.next()["type"], "gap");
    nudge(home, &mut events);
    let said = fs::read_to_string(said).expect("a file");
    let complaints = said.lines().filter(|line| line.contains("not all can be watched")).count();
    assert_eq!(complaints, 1, "{said}");
}
