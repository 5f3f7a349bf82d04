//! `gemini -p`: one prompt, a launcher and a worker with the same arguments.

use rustix::process::Signal;
use serde_json::json;

use super::{is_worker, tokens};
use crate::support::{LIMIT, Stage, alive, ended, signal, uuid};

#[test]
fn a_held_answer_is_work_and_then_done() {
    let stage = Stage::new();
    let (id, gate) = (uuid(), stage.sandbox.gate("answer"));
    let gemini = stage.gemini(&["--session-id", &id, "-p", &gate.until()]).spawn();
    stage.asked("until");
    let working = stage.becomes(&id, &["working"], &alive("working", "headless"));
    is_worker(&working);
    assert_eq!(working["cwd"], json!(stage.sandbox.work()));
    assert_eq!(stage.agreed().len(), 1, "the launcher is no session");
    let checks = stage.proved(&id);
    gate.open();
    assert!(gemini.wait(LIMIT).success(), "{gemini}");
    let done = stage.becomes(&id, &["working", "idle"], &ended("done", "completed"));
    assert_eq!((&done["last"], &done["model"]), (&json!("released"), &json!("gemini-2.5-pro")));
    assert_eq!(stage.tokens(&id), tokens(1));
    assert!(checks.iter().all(|check| !stage.holds(check)), "{checks:#?}");
    stage.proved(&id);
}

#[test]
fn killed_in_a_tool_it_died_and_resumed_it_is_done() {
    let stage = Stage::new();
    let (id, tool) = (uuid(), stage.sandbox.gate("tool"));
    let script = format!("MOCK:tool {}", tool.tool());
    let gemini = stage.gemini(&["--session-id", &id, "-y", "-p", &script]).spawn();
    stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
    let working = stage.becomes(&id, &["working"], &alive("working", "headless"));
    stage.proved(&id);
    signal(Signal::KILL, is_worker(&working));
    gemini.wait(LIMIT);
    let died = stage.becomes(&id, &["working"], &ended("died", "killed or crashed"));
    stage.proved(&id);

    // It sends the prompt that was never answered together with the new one: the tool runs again.
    tool.open();
    let gate = stage.sandbox.gate("answer");
    let again = stage.gemini(&["-r", &id, "-y", "-p", &gate.until()]).spawn();
    stage.asked("until");
    let working = stage.becomes(&id, &["died", "working"], &alive("working", "headless"));
    is_worker(&working);
    assert_eq!(working["source"], died["source"]);
    assert_eq!(stage.agreed().len(), 1, "a second file of it is no second session");
    gate.open();
    assert!(again.wait(LIMIT).success(), "{again}");
    stage.becomes(&id, &["working", "idle"], &ended("done", "completed"));
    assert_eq!(stage.tokens(&id), tokens(3));
}

#[test]
fn a_refused_prompt_has_failed() {
    let stage = Stage::new();
    let id = uuid();
    let gemini = stage.gemini(&["--session-id", &id, "-p", "MOCK:err 400"]).spawn();
    stage.asked("err");
    assert!(!gemini.wait(LIMIT).success(), "{gemini}");
    stage.becomes(&id, &["working"], &ended("failed", "the model gave no answer"));
    stage.proved(&id);
}

#[test]
fn a_signal_leaves_no_trace_but_the_open_turn() {
    let stage = Stage::new();
    for (way, name) in [(Signal::INT, "int"), (Signal::TERM, "term")] {
        let (id, gate) = (uuid(), stage.sandbox.gate(name));
        let gemini = stage.gemini(&["--session-id", &id, "-p", &gate.until()]).spawn();
        stage.asked(&format!("until {}", gate.path().display()));
        let working = stage.becomes(&id, &["working"], &alive("working", "headless"));
        signal(way, is_worker(&working));
        gemini.wait(LIMIT);
        stage.becomes(&id, &["working"], &ended("died", "killed or crashed"));
    }
}

#[test]
fn two_in_one_directory_are_two() {
    let stage = Stage::new();
    let gates = ["one", "two"].map(|name| stage.sandbox.gate(name));
    let runs = gates.each_ref().map(|gate| {
        let id = uuid();
        (stage.gemini(&["--session-id", &id, "-p", &gate.until()]).spawn(), id)
    });
    let pids = [0, 1].map(|at| {
        stage.asked(&format!("until {}", gates[at].path().display()));
        let through = ["working", "unknown"];
        is_worker(&stage.becomes(&runs[at].1, &through, &alive("working", "headless")))
    });
    assert_ne!(pids[0], pids[1]);
    assert_eq!(stage.list(&[]).len(), 2);
    gates[0].open();
    assert!(runs[0].0.wait(LIMIT).success());
    stage.becomes(&runs[0].1, &["working", "idle"], &ended("done", "completed"));
    stage.becomes(&runs[1].1, &[], &alive("working", "headless"));
}
