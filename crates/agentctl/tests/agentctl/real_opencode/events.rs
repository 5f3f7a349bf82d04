//! What is told of OpenCode, whose records are in a database.

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
