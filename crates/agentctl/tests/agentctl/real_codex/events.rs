//! What is told of Codex, from a prompt on its terminal to its death.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use super::{EXE, send::Daemon};
use crate::{
    home::until,
    support::{Stage, alive, is_real, signal},
};

/// Everything is looked at this often though nobody says anything.
const SCAN: Duration = Duration::from_secs(15);

#[test]
fn every_step_of_a_conversation_is_told_once() {
    let stage = Stage::new();
    let mut events = stage.watch();
    let (terminal, id) = stage.chat(&["-a", "on-request"]);
    assert_eq!(events.told(&id), "session.started: - idle");

    let gate = stage.sandbox.gate("answer");
    terminal.send(&gate.until());
    assert_eq!(events.told(&id), "session.working: idle working");
    gate.open();
    assert_eq!(events.told(&id), "session.idle: working idle");

    let done = stage.sandbox.root().join("touched");
    terminal.send(&format!("MOCK:escalate touch {}", done.display()));
    events.becomes(&id, &["working"], "waiting");
    terminal.shows("Would you like to run");
    terminal.press(&["y"]);
    events.becomes(&id, &["working"], "idle");

    let never = stage.sandbox.gate("never");
    terminal.send(&never.until());
    assert_eq!(events.told(&id), "session.working: idle working");
    stage.asked(&format!("until {}", never.path().display()));
    let working = stage.becomes(&id, &["idle", "working"], &alive("working", "interactive"));
    signal(Signal::KILL, is_real(&working, EXE));
    assert_eq!(events.told(&id), "session.ended: working died");
    events.are_unique();
}

/// That a command which was asked for begins to run is written down nowhere, and told all the same: three
/// times in less time than two scans are apart.
#[test]
fn a_server_tells_that_it_goes_on() {
    let stage = Stage::new();
    let mut events = stage.watch();
    let mut daemon = Daemon::start(&stage);
    let id = daemon.thread(&json!({
        "cwd": stage.sandbox.work(), "approvalPolicy": "on-request", "sandbox": "workspace-write",
    }));
    assert_eq!(events.told(&id), "session.started: - idle");
    let mut took = Duration::ZERO;
    for number in 0..3 {
        let tool = stage.sandbox.gate(&format!("tool-{number}"));
        stage.send(&id, &format!("MOCK:escalate {}", tool.tool()));
        events.becomes(&id, &["working"], "waiting");
        let approved = stage.sandbox.agentctl(&["approve", &id]);
        assert_eq!(approved.code, Some(0), "{approved:?}");
        let began = Instant::now();
        assert_eq!(events.told(&id), "session.working: waiting working");
        took += began.elapsed();
        until("what was told is true", || tool.has_begun().then_some(()));
        tool.open();
        assert_eq!(events.told(&id), "session.idle: working idle");
    }
    assert!(took < SCAN, "{took:?}");
}

/// What was launched is told with its exit code; and so it is by whoever comes later.
#[test]
fn a_launch_is_told_to_its_exit() {
    let stage = Stage::new();
    let mut events = stage.watch();
    let cursor = events.cursor();
    let launched = stage.launch(&["codex", "-p", "MOCK:text hello"]);
    let id = launched["session"]["id"].as_str().expect("it has an id").to_owned();
    for told in [
        "session.started: - idle",
        "session.working: idle working",
        "session.idle: working idle",
        "session.ended: idle done",
    ] {
        assert_eq!(events.told(&id), told);
    }
    assert_eq!(events.read.last().expect("an event")["session"]["exit_code"], 0);
    let later = stage.sandbox.agentctl(&["events", "--once", "--json", "--since", &cursor]);
    assert_eq!(crate::home::of(&later.stdout, &id), events.of_session(&id));
}
