//! What is told of OpenCode, whose records are in a database, and what watching it costs.

use std::{fs, thread, time::Duration};

use rustix::process::Signal;

use crate::support::{Stage, signal};

#[test]
fn every_step_of_a_conversation_is_told_once() {
    let stage = Stage::opencode("ask");
    let mut events = stage.watch();
    let terminal = stage.terminal();
    let gate = stage.sandbox.gate("answer");
    terminal.send(&gate.until());
    stage.asked("until");
    let id = stage.only();
    assert_eq!(events.told(&id), "session.started: - idle");
    assert_eq!(events.told(&id), "session.working: idle working");
    gate.open();
    assert_eq!(events.told(&id), "session.idle: working idle");

    let tool = stage.sandbox.gate("tool");
    terminal.send(&format!("MOCK:tool {}", tool.tool()));
    assert_eq!(events.told(&id), "session.working: idle working");
    terminal.shows("Permission required");
    assert_eq!(events.told(&id), "session.waiting: working waiting");
    terminal.press(&["Enter"]);
    tool.open();
    let mut next = events.told(&id);
    if next == "session.working: waiting working" {
        next = events.told(&id);
    }
    assert!(next.ends_with(" idle"), "{next}");

    let never = stage.sandbox.gate("never");
    terminal.send(&never.until());
    assert_eq!(events.told(&id), "session.working: idle working");
    stage.asked(&format!("until {}", never.path().display()));
    signal(Signal::KILL, terminal.pid());
    assert_eq!(events.told(&id), "session.ended: working died");
    events.are_unique();
}

/// A look at a database wakes no watcher: else it would look for ever.
#[test]
fn looking_is_no_change() {
    let stage = Stage::opencode("allow");
    let terminal = stage.terminal();
    terminal.send("MOCK:text hello");
    stage.asked("text hello");
    let mut events = stage.watch();
    terminal.send("MOCK:text again");
    let id = stage.only();
    while events.told(&id) != "session.idle: working idle" {}
    let looks = || -> u64 {
        let tasks =
            fs::read_dir(format!("/proc/{}/task", events.pid())).expect("it runs").flatten();
        let status = tasks.filter_map(|task| fs::read_to_string(task.path().join("status")).ok());
        let count = |status: String| -> Option<u64> {
            let line = status.lines().find(|line| line.starts_with("voluntary_ctxt"))?.to_owned();
            line.split_whitespace().nth(1)?.parse().ok()
        };
        status.filter_map(count).sum()
    };
    let rest = Duration::from_secs(3);
    thread::sleep(rest); // what came of the turn
    let before = looks();
    thread::sleep(rest);
    let woken = looks() - before;
    assert!(woken < 100, "woken {woken} times in {rest:?} while nothing happened");
}
