//! Claude Code on a terminal.

use std::fs;

use rustix::process::Signal;
use serde_json::json;

use super::{EXE, tokens};
use crate::support::{LIMIT, Stage, alive, ended, fits, is_real, signal};

#[test]
fn a_conversation_is_followed_from_state_to_state() {
    let stage = Stage::new();
    let (terminal, id) = stage.talk(&[]);
    let fresh = stage.becomes(&id, &[], &alive("idle", "interactive"));
    assert_eq!(is_real(&fresh, EXE), terminal.pid());
    assert_eq!((&fresh["source"], &fresh["cwd"]), (&json!(null), &json!(stage.sandbox.work())));
    stage.proved(&id);

    let gate = stage.sandbox.gate("answer");
    terminal.send(&gate.until());
    stage.asked("until");
    stage.becomes(&id, &["idle", "working"], &alive("working", "interactive"));
    stage.proved(&id);
    gate.open();
    // It says it is idle up to 0.1 s before it writes down what it said.
    let mut idle = alive("idle", "interactive");
    idle["last"] = json!("released");
    stage.becomes(&id, &["working", "idle"], &idle);

    let done = stage.sandbox.work().join("touched");
    terminal.send(&format!("MOCK:tool touch {}", done.display()));
    stage.asked("tool");
    let mut waiting = alive("waiting", "interactive");
    waiting["waiting_for"] = json!("approval");
    stage.becomes(&id, &["idle", "working"], &waiting);
    assert!(!done.exists(), "nobody has allowed it yet");
    let checks = stage.proved(&id);
    terminal.shows("Do you want");
    terminal.press(&["Enter"]);
    idle["last"] = json!("done");
    stage.becomes(&id, &["waiting", "working", "idle"], &idle);
    assert!(done.exists(), "it was allowed");
    assert_eq!(stage.tokens(&id), tokens(3));

    signal(Signal::KILL, terminal.pid());
    stage.becomes(&id, &["idle"], &ended("done", "completed"));
    assert!(checks.iter().all(|check| !stage.holds(check)), "{checks:#?}");
    assert_eq!(stage.agreed().len(), 1);
}

#[test]
fn a_question_waits_for_an_answer() {
    let stage = Stage::new();
    let (terminal, id) = stage.talk(&[]);
    terminal.send("MOCK:ask Which way?");
    stage.asked("ask");
    terminal.shows("Enter to select");
    // 2.1.197 registers a question as `permission prompt`; what it is stands in the transcript, up
    // to 0.1 s later.
    let mut waiting = alive("waiting", "interactive");
    waiting["waiting_for"] = json!("answer");
    let waiting = stage.becomes(&id, &["idle", "working", "waiting"], &waiting);
    assert_eq!(is_real(&waiting, EXE), terminal.pid());
    stage.proved(&id);
    terminal.press(&["Enter"]);
    let idle = json!({"state": "idle", "last": "done"});
    stage.becomes(&id, &["waiting", "working", "idle"], &idle);
    assert_eq!(stage.tokens(&id), tokens(2));
}

#[test]
fn an_interrupted_turn_leaves_it_idle_and_its_end_stopped() {
    let stage = Stage::new();
    let (terminal, id) = stage.talk(&[]);
    let gate = stage.sandbox.gate("never");
    terminal.send(&gate.until());
    stage.asked("until");
    let working = stage.becomes(&id, &["idle", "working"], &alive("working", "interactive"));
    assert_eq!(is_real(&working, EXE), terminal.pid());
    terminal.press(&["Escape"]);
    stage.becomes(&id, &["working"], &alive("idle", "interactive"));
    stage.proved(&id);
    signal(Signal::TERM, terminal.pid());
    stage.becomes(&id, &["idle", "unknown"], &ended("stopped", "interrupted"));
    stage.proved(&id);
}

#[test]
fn killed_at_work_it_died_and_resumed_on_a_terminal_it_is_idle() {
    let stage = Stage::new();
    let (terminal, id) = stage.talk(&[]);
    let tool = stage.sandbox.gate("tool");
    terminal.send(&format!("MOCK:tool {}", tool.tool()));
    let mut waiting = alive("waiting", "interactive");
    waiting["waiting_for"] = json!("approval");
    stage.becomes(&id, &["idle", "working"], &waiting);
    terminal.shows("Do you want");
    terminal.press(&["Enter"]);
    stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
    stage.becomes(&id, &["waiting", "working"], &alive("working", "interactive"));
    signal(Signal::KILL, terminal.pid());
    let died = stage.becomes(&id, &["working"], &ended("died", "killed or crashed"));

    let (again, same) = stage.talk(&["--resume", &id]);
    assert_eq!(same, id);
    let idle = stage.becomes(&id, &["died"], &alive("idle", "interactive"));
    assert_eq!(is_real(&idle, EXE), again.pid());
    assert_eq!(idle["source"], died["source"]);
    again.send("MOCK:text back again");
    let done = json!({"state": "idle", "last": "back again"});
    stage.becomes(&id, &["idle", "working"], &done);
    signal(Signal::TERM, again.pid());
    stage.becomes(&id, &["idle", "unknown"], &ended("done", "completed"));
    assert_eq!(stage.agreed().len(), 1);
}

/// Whoever takes a session up moves the time of its file, and only a file that is named in full is one of another
/// directory: a session whose process has lost its registration has not ended.
#[test]
fn a_registration_that_is_lost_ends_nothing() {
    let stage = Stage::new();
    let (first, id) = stage.talk(&[]);
    first.send("MOCK:text hello");
    let said = json!({"state": "idle", "last": "hello"});
    let idle = stage.becomes(&id, &["idle", "working"], &said);
    let file = idle["source"].as_str().expect("it has a record");
    signal(Signal::KILL, first.pid());
    stage.becomes(&id, &["idle"], &ended("done", "completed"));
    for (dir, name) in [("work", id.as_str()), ("elsewhere", file)] {
        let dir = stage.sandbox.dir(dir);
        let again = stage.sandbox.run(&["claude", "--resume", name]).within(&dir).on_terminal();
        again.shows("? for shortcuts");
        let idle = stage.becomes(&id, &["done", "unknown"], &alive("idle", "interactive"));
        assert_eq!(is_real(&idle, EXE), again.pid());
        let registry = stage.sandbox.home().join(format!(".claude/sessions/{}.json", again.pid()));
        let held = format!("may be held by pid {}", again.pid());
        let unknown = json!({"state": "unknown", "live": false, "reason": held});
        // It writes itself down anew with every word it says, so this is taken away until it is silent.
        stage.sandbox.wait_for("session whose holder is not known", LIMIT, || {
            let _ = fs::remove_file(&registry);
            let listed = stage.list(&["--all"]);
            let session = listed.iter().find(|one| one["id"] == *id).expect("it has a record");
            let state = session["state"].as_str().expect("a session has a state");
            assert!(["idle", "unknown"].contains(&state), "{session:#}");
            fits(session, &unknown).then_some(())
        });
        signal(Signal::KILL, again.pid());
        // It may have written itself down again before.
        stage.becomes(&id, &["unknown", "idle"], &ended("done", "completed"));
    }
}
