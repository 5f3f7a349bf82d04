//! `claude -p`: one prompt, one process.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{EXE, tokens};
use crate::support::{LIMIT, Stage, alive, ended, is_real, signal, uuid};

#[test]
fn a_held_answer_is_work_and_then_done() {
    let stage = Stage::new();
    let (id, gate) = (uuid(), stage.sandbox.gate("answer"));
    let claude = stage.print(&id, &gate.until());
    stage.asked("until");
    let session = stage.becomes(&id, &["working"], &alive("working", "headless"));
    assert_eq!(is_real(&session, EXE), claude.pid());
    assert_eq!(session["cwd"], json!(stage.sandbox.work()));
    let checks = stage.proved(&id);
    gate.open();
    assert!(claude.wait(LIMIT).success(), "{claude}");
    let session = stage.becomes(&id, &[], &ended("done", "completed"));
    assert_eq!(session["last"], "released");
    assert_eq!(stage.tokens(&id), tokens(1));
    stage.proved(&id);
    assert!(!checks.is_empty());
    assert!(checks.iter().all(|check| !stage.holds(check)), "{checks:#?}");
}

#[test]
fn killed_in_a_tool_it_died_and_resumed_it_is_the_same_session() {
    let stage = Stage::new();
    let (id, tool) = (uuid(), stage.sandbox.gate("tool"));
    let claude = stage.print(&id, &format!("MOCK:tool {}", tool.tool()));
    stage.asked("tool");
    stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
    let working = stage.becomes(&id, &["working"], &alive("working", "headless"));
    is_real(&working, EXE);
    let checks = stage.proved(&id);

    claude.signal(Signal::KILL);
    claude.wait(LIMIT);
    let died = stage.becomes(&id, &[], &ended("died", "killed or crashed"));
    assert_eq!(died["source"], working["source"]);
    assert!(checks.iter().all(|check| !stage.holds(check)), "{checks:#?}");
    stage.proved(&id);

    let answer = stage.sandbox.gate("answer");
    let again = stage.printing(&["--resume", &id], &answer.until()).spawn();
    stage.asked("until");
    let working = stage.becomes(&id, &["died", "working"], &alive("working", "headless"));
    assert_eq!(is_real(&working, EXE), again.pid());
    assert_eq!(working["source"], died["source"]);
    stage.proved(&id);
    answer.open();
    assert!(again.wait(LIMIT).success(), "{again}");
    stage.becomes(&id, &[], &ended("done", "completed"));
    assert_eq!(stage.tokens(&id), tokens(2));
    assert_eq!(stage.agreed().len(), 1, "a resumed session is one session");
}

#[test]
fn a_refused_call_fails_the_session() {
    let stage = Stage::new();
    let cases = [
        ("MOCK:err 400", "unknown (HTTP 400)"), // the agent's own word
        ("MOCK:err 401", "authentication_failed (HTTP 401)"),
    ];
    let runs = cases.map(|(script, why)| {
        let id = uuid();
        (stage.print(&id, script), id, why)
    });
    for (claude, _, _) in &runs {
        assert_eq!(claude.wait(LIMIT).code(), Some(1), "{claude}");
    }
    for (_, id, why) in runs {
        stage.becomes(&id, &[], &ended("failed", why));
        assert_eq!(stage.tokens(&id), tokens(0));
        stage.proved(&id);
    }
    stage.asked("err 400");
    stage.asked("err 401");
}

#[test]
fn signals_stop_it_in_the_midst_of_an_answer() {
    let stage = Stage::new();
    let gate = stage.sandbox.gate("never");
    let ids = [Signal::INT, Signal::TERM].map(|signal| {
        let id = uuid();
        let claude = stage.print(&id, &gate.until());
        let session = stage.becomes(&id, &["working"], &alive("working", "headless"));
        is_real(&session, EXE);
        stage.asked("until");
        claude.signal(signal);
        claude.wait(LIMIT);
        stage.becomes(&id, &[], &ended("stopped", "interrupted"));
        stage.proved(&id);
        id
    });
    assert_eq!(stage.agreed().len(), ids.len());
}

#[test]
fn an_interrupted_tool_stops_the_session() {
    let stage = Stage::new();
    let (id, tool) = (uuid(), stage.sandbox.gate("tool"));
    let claude = stage.print(&id, &format!("MOCK:tool {}", tool.tool()));
    stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
    stage.becomes(&id, &["working"], &alive("working", "headless"));
    claude.signal(Signal::INT);
    claude.wait(LIMIT);
    stage.becomes(&id, &[], &ended("stopped", "interrupted"));
    stage.asked("tool");
}

#[test]
fn two_in_one_directory_are_two() {
    let stage = Stage::new();
    let gates = ["one", "two"].map(|name| stage.sandbox.gate(name));
    let ids = [uuid(), uuid()];
    let runs = [0, 1].map(|n| stage.print(&ids[n], &gates[n].until()));
    for (id, run) in ids.iter().zip(&runs) {
        let session = stage.becomes(id, &["working"], &alive("working", "headless"));
        assert_eq!(is_real(&session, EXE), run.pid());
    }
    stage.asked(&format!("until {}", gates[0].path().display()));
    stage.asked(&format!("until {}", gates[1].path().display()));
    assert_eq!(stage.list(&[]).len(), 2);
    gates[0].open();
    assert!(runs[0].wait(LIMIT).success());
    stage.becomes(&ids[0], &[], &ended("done", "completed"));
    stage.becomes(&ids[1], &[], &alive("working", "headless"));
    gates[1].open();
    assert!(runs[1].wait(LIMIT).success());
    stage.becomes(&ids[1], &[], &ended("done", "completed"));
}

#[test]
fn the_launching_shell_may_die() {
    let stage = Stage::new();
    let (id, gate) = (uuid(), stage.sandbox.gate("answer"));
    let line = format!("claude -p --session-id {id} '{}'; true", gate.until());
    let shell = stage.sandbox.run(&["sh", "-c", &line]).spawn();
    stage.asked("until");
    let session = stage.becomes(&id, &["working"], &alive("working", "headless"));
    let pid = is_real(&session, EXE);
    assert_ne!(pid, shell.pid());
    signal(Signal::KILL, shell.pid());
    shell.wait(LIMIT);
    let later = stage.becomes(&id, &[], &alive("working", "headless"));
    assert_eq!(later["process"], session["process"]);
    gate.open();
    // 2.1.197 takes its registry file away first and goes a moment later: then it may be either.
    stage.becomes(&id, &["working", "idle", "unknown"], &ended("done", "completed"));
    assert_eq!(stage.tokens(&id), tokens(1));
}

#[test]
fn from_its_start_to_its_end_it_is_one_row() {
    let stage = Stage::new();
    let (id, gate) = (uuid(), stage.sandbox.gate("answer"));
    let claude = stage.print(&id, &gate.until());
    let look = || {
        let rows = stage.list(&["--all"]);
        assert!(rows.len() < 2, "one process and one session are two rows: {:#}", json!(rows));
        let named = rows.iter().all(|row| row["id"].is_null() || row["id"] == id);
        assert!(named, "another id than its own: {:#}", json!(rows));
        rows.into_iter().next()
    };
    let is_working = |row: &Value| row["id"] == id && row["state"] == "working";
    stage.sandbox.wait_for("work", LIMIT, || look().filter(is_working));
    stage.asked("until");
    gate.open();
    stage.sandbox.wait_for("end", LIMIT, || {
        let row = look().expect("a session that was there stays there");
        let through = ["working", "idle", "unknown", "done"];
        assert!(through.iter().any(|state| row["state"] == *state), "{row:#}");
        claude.ended()
    });
    stage.becomes(&id, &[], &ended("done", "completed"));
}
