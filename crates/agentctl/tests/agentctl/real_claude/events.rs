//! What is told of Claude Code, from a prompt on its terminal to its death.

use rustix::process::Signal;

use crate::support::{LIMIT, Stage, signal};

#[test]
fn every_step_of_a_conversation_is_told_once() {
    let stage = Stage::new();
    let mut events = stage.watch();
    let (terminal, id) = stage.talk(&[]);
    assert_eq!(events.told(&id), "session.started: - idle");

    let gate = stage.sandbox.gate("answer");
    terminal.send(&gate.until());
    assert_eq!(events.told(&id), "session.working: idle working");
    gate.open();
    assert_eq!(events.told(&id), "session.idle: working idle");

    let done = stage.sandbox.work().join("touched");
    terminal.send(&format!("MOCK:tool touch {}", done.display()));
    // It writes its transcript and what it says of itself one after the other: whoever looks in between may be told an older
    // word once more (7 of 8 runs alone on a quiet machine; see PROOF.md), from here on also when the next one is there.
    events.becomes(&id, &["working", "idle"], "waiting");
    terminal.shows("Do you want");
    terminal.press(&["Enter"]);
    events.becomes(&id, &["working", "waiting"], "idle");

    let never = stage.sandbox.gate("never");
    terminal.send(&never.until());
    events.becomes(&id, &["waiting", "idle"], "working");
    // What it was killed in is known once it was written down.
    let path = never.path().display().to_string();
    stage.sandbox.wait_for("recorded prompt", LIMIT, || {
        stage.sandbox.agentctl(&["logs", &id]).stdout.contains(&path).then_some(())
    });
    signal(Signal::KILL, terminal.pid());
    events.becomes(&id, &["waiting", "idle", "working"], "died");
    assert_eq!(events.read.last().expect("an event")["type"], "session.ended");
    events.are_unique();
}

/// What was launched is told with its exit code; and so it is by whoever comes later.
#[test]
fn a_launch_is_told_to_its_exit() {
    let stage = Stage::new();
    let mut events = stage.watch();
    let cursor = events.cursor();
    let gate = stage.sandbox.gate("answer");
    let launched = stage.launch(&["claude-code", "-p", &gate.until()]);
    let id = launched["session"]["id"].as_str().expect("it has an id").to_owned();
    assert_eq!(events.told(&id), "session.started: - idle");
    assert_eq!(events.told(&id), "session.working: idle working");
    stage.asked("until");
    gate.open();
    assert_eq!(events.told(&id), "session.idle: working idle");
    assert_eq!(events.told(&id), "session.ended: idle done");
    assert_eq!(events.read.last().expect("an event")["session"]["exit_code"], 0);
    events.are_unique();
    let later = stage.sandbox.agentctl(&["events", "--once", "--json", "--since", &cursor]);
    let seen = events.of_session(&id);
    assert_eq!(crate::home::of(&later.stdout, &id), seen, "{}", stage.sandbox.scene());
}
