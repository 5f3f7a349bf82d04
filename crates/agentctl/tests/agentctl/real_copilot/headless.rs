//! `copilot -p`: one prompt, one process, behind the script that npm installs.

use rustix::process::Signal;
use serde_json::json;
use std::fs;

use super::{EXE, tokens};
use crate::support::{LIMIT, Stage, alive, ended, is_real, signal, uuid};

#[test]
fn a_held_answer_is_work_and_then_done() {
    let stage = Stage::new();
    let (id, gate) = (uuid(), stage.sandbox.gate("answer"));
    let copilot = stage.copilot_prompt(&id, &gate.until()).spawn();
    stage.asked("until");
    let working = stage.becomes(&id, &["working"], &alive("working", "headless"));
    is_real(&working, EXE);
    assert_eq!(working["cwd"], json!(stage.sandbox.work()));
    let checks = stage.proved(&id);
    gate.open();
    assert!(copilot.wait(LIMIT).success(), "{copilot}");
    let done = stage.becomes(&id, &["working", "idle"], &ended("done", "completed"));
    assert_eq!((&done["last"], &done["model"]), (&json!("released"), &json!("mock-1")));
    assert_eq!(done["version"], "1.0.102");
    assert_eq!(stage.tokens(&id), tokens(1));
    assert!(checks.iter().all(|check| !stage.holds(check)), "{checks:#?}");
    stage.proved(&id);
    assert_eq!(stage.agreed().len(), 1);
}

#[test]
fn killed_in_a_tool_it_died_and_resumed_it_is_done() {
    let stage = Stage::new();
    let (id, tool) = (uuid(), stage.sandbox.gate("tool"));
    let copilot = stage.copilot_prompt(&id, &format!("MOCK:tool {}", tool.tool())).spawn();
    stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
    let working = stage.becomes(&id, &["working"], &alive("working", "headless"));
    // Its events come to the disk a while later, and not at all if it is killed before.
    let events = format!(".copilot/session-state/{id}/events.jsonl");
    let events = stage.sandbox.home().join(events);
    stage.sandbox.wait_for("events", LIMIT, || {
        let text = fs::read_to_string(&events).ok()?;
        text.contains("\"tool.execution_start\"").then_some(())
    });
    signal(Signal::KILL, is_real(&working, EXE));
    copilot.wait(LIMIT);
    stage.becomes(&id, &["working"], &ended("died", "killed or crashed"));
    stage.proved(&id);

    let gate = stage.sandbox.gate("answer");
    let again = stage.copilot_prompt(&id, &gate.until()).spawn();
    stage.asked("until");
    let working = stage.becomes(&id, &["died", "working"], &alive("working", "headless"));
    is_real(&working, EXE);
    gate.open();
    assert!(again.wait(LIMIT).success(), "{again}");
    stage.becomes(&id, &["working", "idle"], &ended("done", "completed"));
    assert_eq!(stage.tokens(&id), tokens(2));
}

#[test]
fn a_refused_prompt_has_failed() {
    let stage = Stage::new();
    let id = uuid();
    let copilot = stage.copilot_prompt(&id, "MOCK:err 401").spawn();
    stage.asked("err");
    assert!(!copilot.wait(LIMIT).success(), "{copilot}");
    let failed = json!({"state": "failed", "status": "error", "live": false});
    let failed = stage.becomes(&id, &["working", "idle"], &failed);
    assert!(failed["outcome"].to_string().contains("HTTP 401"), "{failed:#}");
    stage.proved(&id);
}

#[test]
fn a_signal_to_the_worker_stops_it() {
    let stage = Stage::new();
    for (way, name) in [(Signal::INT, "int"), (Signal::TERM, "term")] {
        let (id, tool) = (uuid(), stage.sandbox.gate(name));
        let copilot = stage.copilot_prompt(&id, &format!("MOCK:tool {}", tool.tool())).spawn();
        stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
        let working = stage.becomes(&id, &["working"], &alive("working", "headless"));
        signal(way, is_real(&working, EXE));
        copilot.wait(LIMIT);
        stage.becomes(&id, &["working", "idle"], &ended("stopped", "interrupted"));
        stage.proved(&id);
    }
}

#[test]
fn the_launcher_may_die() {
    let stage = Stage::new();
    let (id, gate) = (uuid(), stage.sandbox.gate("answer"));
    let copilot = stage.copilot_prompt(&id, &gate.until()).spawn();
    stage.asked("until");
    let working = stage.becomes(&id, &["working"], &alive("working", "headless"));
    copilot.signal(Signal::KILL);
    copilot.wait(LIMIT);
    let later = stage.becomes(&id, &[], &alive("working", "headless"));
    assert_eq!(later["process"], working["process"]);
    gate.open();
    stage.becomes(&id, &["working", "idle"], &ended("done", "completed"));
}
