//! `opencode run`: one prompt, one process.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{EXE, tokens};
use crate::support::{LIMIT, Stage, alive, ended, is_real};

#[test]
fn a_held_answer_is_work_and_then_done() {
    let stage = Stage::opencode("allow");
    let gate = stage.sandbox.gate("answer");
    let run = stage.running(&[], &gate.until(), &stage.sandbox.work());
    let id = stage.made(&run);
    stage.asked("until");
    let session = stage.becomes(&id, &["working"], &alive("working", "headless"));
    assert_eq!(is_real(&session, EXE), run.pid());
    assert_eq!(session["cwd"], json!(stage.sandbox.work()));
    assert_eq!(session["model"], "mock/mock-1");
    assert_eq!(session["version"], "1.18.33");
    let checks = stage.proved(&id);
    gate.open();
    assert!(run.wait(LIMIT).success(), "{run}");
    let session = stage.becomes(&id, &[], &ended("done", "completed"));
    assert_eq!(session["last"], "released");
    assert_eq!(stage.tokens(&id), tokens(1));
    let cost = &stage.one("status", &id).expect("it is there")["cost_usd"];
    assert_eq!(*cost, json!(0.002_55)); // 800 at $3 and 10 at $15 a million
    stage.proved(&id);
    assert!(!checks.is_empty());
    assert!(checks.iter().all(|check| !stage.holds(check)), "{checks:#?}");
}

#[test]
fn killed_in_a_tool_it_died_and_resumed_it_is_the_same_session() {
    let stage = Stage::opencode("allow");
    let tool = stage.sandbox.gate("tool");
    let script = format!("MOCK:tool {}", tool.tool());
    let run = stage.running(&[], &script, &stage.sandbox.work());
    let id = stage.made(&run);
    stage.asked("tool");
    stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
    let working = stage.becomes(&id, &["working"], &alive("working", "headless"));
    is_real(&working, EXE);
    let checks = stage.proved(&id);

    run.signal(Signal::KILL);
    run.wait(LIMIT);
    let died = stage.becomes(&id, &[], &ended("died", "killed or crashed"));
    assert_eq!(died["source"], working["source"]);
    assert!(checks.iter().all(|check| !stage.holds(check)), "{checks:#?}");
    stage.proved(&id);

    let answer = stage.sandbox.gate("answer");
    let work = stage.sandbox.work();
    let again = stage.running(&["--session", &id], &answer.until(), &work);
    stage.asked("until");
    let working = stage.becomes(&id, &["died", "working"], &alive("working", "headless"));
    assert_eq!(is_real(&working, EXE), again.pid());
    stage.proved(&id);
    answer.open();
    assert!(again.wait(LIMIT).success(), "{again}");
    stage.becomes(&id, &["working", "idle"], &ended("done", "completed"));
    assert_eq!(stage.tokens(&id), tokens(1), "what was killed was not counted");
    assert_eq!(stage.agreed().len(), 1, "a resumed session is one session");
}

#[test]
fn a_refused_call_fails_the_session() {
    let stage = Stage::opencode("allow");
    let run = stage.running(&[], "MOCK:err 401", &stage.sandbox.work());
    let id = stage.made(&run);
    assert_eq!(run.wait(LIMIT).code(), Some(1), "{run}");
    stage.asked("err 401");
    stage.becomes(&id, &[], &ended("failed", "scripted 401"));
    assert_eq!(stage.tokens(&id), tokens(0));
    stage.proved(&id);
}

#[test]
fn signals_end_it_as_a_kill_does() {
    let stage = Stage::opencode("allow");
    for (name, signal) in [("one", Signal::INT), ("two", Signal::TERM)] {
        let gate = stage.sandbox.gate(name);
        let run = stage.running(&[], &gate.until(), &stage.sandbox.work());
        let id = stage.made(&run);
        stage.asked(&format!("until {}", gate.path().display()));
        let session = stage.becomes(&id, &["working"], &alive("working", "headless"));
        is_real(&session, EXE);
        run.signal(signal);
        run.wait(LIMIT);
        // 1.18.33 closes nothing when a signal ends `run`.
        stage.becomes(&id, &[], &ended("died", "killed or crashed"));
        stage.proved(&id);
    }
}

#[test]
fn what_is_not_allowed_ends_the_turn() {
    let stage = Stage::opencode("ask");
    let run = stage.running(&[], "MOCK:tool echo hello", &stage.sandbox.work());
    let id = stage.made(&run);
    assert!(run.wait(LIMIT).success(), "{run}");
    stage.asked("tool");
    stage.becomes(&id, &[], &ended("stopped", "interrupted"));
    stage.proved(&id);
}

#[test]
fn two_are_told_apart_by_their_directory_or_not_at_all() {
    let stage = Stage::opencode("allow");
    let gates = ["one", "two", "three"].map(|name| stage.sandbox.gate(name));
    let (work, side) = (stage.sandbox.work(), stage.sandbox.dir("side"));
    let first = stage.running(&[], &gates[0].until(), &work);
    let first_id = stage.made(&first);
    let second = stage.running(&[], &gates[1].until(), &side);
    let second_id = stage.made(&second);
    for (run, id) in [(&first, &first_id), (&second, &second_id)] {
        let session = stage.becomes(id, &["working"], &alive("working", "headless"));
        assert_eq!(is_real(&session, EXE), run.pid());
        let because = session["because"].as_array().expect("facts are a list");
        assert!(because.iter().any(|fact| fact["rule"] == "inferred"), "{session:#}");
    }
    // A third beside the first: each session there may be either's.
    let third = stage.running(&[], &gates[2].until(), &work);
    let third_id = stage.made(&third);
    let unknown = json!({"state": "unknown", "live": false});
    stage.becomes(&third_id, &["unknown"], &unknown);
    stage.becomes(&first_id, &[], &unknown);
    stage.becomes(&second_id, &[], &alive("working", "headless"));
    stage.asked(&format!("until {}", gates[0].path().display()));
    gates[0].open();
    assert!(first.wait(LIMIT).success(), "{first}");
    gates[1].open();
    gates[2].open();
    assert!(second.wait(LIMIT).success() && third.wait(LIMIT).success());
    for id in [&first_id, &second_id, &third_id] {
        stage.becomes(id, &[], &ended("done", "completed"));
    }
}

#[test]
fn a_spawned_session_has_a_parent() {
    let stage = Stage::opencode("allow");
    let inner = stage.sandbox.gate("inner");
    let task = json!({
        "description": "look around",
        "prompt": inner.until(),
        "subagent_type": "general",
    });
    let script = format!("MOCK:call task {task}\nMOCK:text all done");
    let run = stage.running(&[], &script, &stage.sandbox.work());
    let id = stage.made(&run);
    stage.asked("call");
    stage.asked("until");
    let parent = stage.becomes(&id, &["working"], &alive("working", "headless"));
    assert_eq!(is_real(&parent, EXE), run.pid());
    let rows = stage.agreed();
    assert_eq!(rows.len(), 2, "{:#}", json!(rows));
    let child = rows.iter().find(|row| row["parent"] == id).expect("what it spawned is listed");
    assert_eq!((&child["pid"], &child["shared"]), (&parent["pid"], &json!(true)));
    assert_eq!(parent["parent"], Value::Null);
    let child = child["id"].as_str().expect("a session has an id");
    stage.becomes(child, &[], &alive("working", "headless"));
    stage.proved(child);
    inner.open();
    assert!(run.wait(LIMIT).success(), "{run}");
    stage.becomes(&id, &[], &ended("done", "completed"));
    stage.becomes(child, &[], &ended("done", "completed"));
    assert_eq!((stage.tokens(child), stage.tokens(&id)), (tokens(1), tokens(2)));
}

#[test]
fn a_live_session_can_be_followed_to_its_end() {
    let stage = Stage::opencode("allow");
    let (tool, answer) = (stage.sandbox.gate("tool"), stage.sandbox.gate("answer"));
    let script = format!("MOCK:tool {}\n{}", tool.tool(), answer.until());
    let run = stage.running(&[], &script, &stage.sandbox.work());
    let id = stage.made(&run);
    stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
    stage.becomes(&id, &["working"], &alive("working", "headless"));
    let logs = stage.follow(&id);
    stage.sandbox.wait_for("call in the log", LIMIT, || (logs.heard().len() > 1).then_some(()));
    assert_eq!(logs.program.ended(), None, "the session is alive");
    tool.open();
    stage.sandbox.wait_for("result in the log", LIMIT, || (logs.heard().len() > 2).then_some(()));
    stage.asked("until");
    answer.open();
    assert!(run.wait(LIMIT).success(), "{run}");
    assert!(logs.program.wait(LIMIT).success(), "{}", logs.program);
    assert_eq!(logs.heard(), ["user", "call", "result", "assistant"]);
    stage.becomes(&id, &[], &ended("done", "completed"));
    assert_eq!(stage.tokens(&id), tokens(2));
}
