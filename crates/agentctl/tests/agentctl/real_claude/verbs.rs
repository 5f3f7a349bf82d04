//! Claude Code launched, waited for, stopped and resumed by agentctl.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::EXE;
use crate::support::{Stage, alive, ended, is_real, signal};

#[test]
fn launch_returns_a_session_that_is_there() {
    let stage = Stage::new();
    let gate = stage.sandbox.gate("answer");
    let launched =
        stage.launch(&["claude-code", "-p", &gate.until(), "--group", "g", "--label", "a=b"]);
    let id = launched["session"]["id"].as_str().expect("it has an id").to_owned();
    let pid = is_real(&launched["session"], EXE);
    assert_eq!(launched["session"]["group"], "g");
    assert_eq!(launched["session"]["labels"], json!({"a": "b"}));
    stage.asked("until");
    let working = stage.becomes(&id, &["working"], &alive("working", "headless"));
    assert_eq!(working["pid"], pid);
    gate.open();
    let waited = stage.sandbox.agentctl(&["wait", &id, "--json"]);
    assert_eq!(waited.code, Some(0), "{waited:?}");
    let done = stage.becomes(&id, &[], &ended("done", "completed"));
    assert_eq!((&done["exit_code"], &done["last"]), (&json!(0), &json!("released")));
}

#[test]
fn stop_ends_it_and_its_tool_and_resume_goes_on() {
    let stage = Stage::new();
    let tool = stage.sandbox.gate("tool");
    let prompt = format!("MOCK:tool {}", tool.tool());
    let more = ["--", "--allowedTools=Bash"];
    let launched = stage.launch(&[&["claude-code", "-p", &prompt], &more[..]].concat());
    let id = launched["session"]["id"].as_str().expect("it has an id").to_owned();
    stage
        .sandbox
        .wait_for("running tool", crate::support::LIMIT, || tool.has_begun().then_some(()));
    let refused = stage.sandbox.agentctl(&["launch", "claude-code", "-p", "MOCK:text hi"]);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    let resumed = stage.sandbox.agentctl(&["resume", &id, "MOCK:text hi"]);
    assert_eq!(resumed.code, Some(5), "{resumed:?}");

    let stopped = stage.sandbox.agentctl(&["stop", &id, "--json"]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    let certificate: Value = stopped.json();
    assert_eq!(certificate[0]["session"]["state"], "stopped", "{certificate:#}");
    let survivors = certificate[0]["deaths"].as_array().expect("a list").iter();
    assert_eq!(survivors.filter(|death| death["survived"].is_string()).count(), 0);
    stage.becomes(&id, &[], &ended("stopped", "interrupted"));

    let again = stage.sandbox.agentctl(&["resume", &id, "MOCK:text once more", "--wait", "--json"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    let session = stage.becomes(&id, &[], &ended("done", "completed"));
    assert_eq!(session["last"], "once more");
}

#[test]
fn launch_of_what_dies_at_once_leaves_nothing() {
    let stage = Stage::new();
    let more = ["claude-code", "-p", "MOCK:text hi", "--", "--no-such-flag"];
    let failed = stage.sandbox.agentctl(&[&["launch"], &more[..]].concat());
    assert_eq!(failed.code, Some(6), "{failed:?}");
    assert!(failed.stderr.contains("no-such-flag"), "{failed:?}");
    let left = stage.sandbox.home().join(".local/state/agentctl/launches");
    assert_eq!(std::fs::read_dir(left).map(Iterator::count).unwrap_or_default(), 0);
    assert_eq!(stage.list(&["--all"]), Vec::<Value>::new());
}

#[test]
fn launch_survives_whoever_started_it() {
    let stage = Stage::new();
    let gate = stage.sandbox.gate("answer");
    let launched = stage.launch(&["claude-code", "-p", &gate.until()]);
    let id = launched["session"]["id"].as_str().expect("it has an id").to_owned();
    let pid = is_real(&launched["session"], EXE);
    let shim = stage.parent(pid);
    signal(Signal::KILL, shim);
    stage.becomes(&id, &["working"], &alive("working", "headless"));
    gate.open();
    // Its last lines may be written while processes are looked at: then nothing is said.
    let through = ["working", "idle", "unknown"];
    let done = stage.becomes(&id, &through, &ended("done", "completed"));
    assert_eq!(done["exit_code"], Value::Null, "nobody saw how it ended");
}

#[test]
fn launch_survives_its_terminal() {
    let stage = Stage::new();
    let gate = stage.sandbox.gate("answer");
    let program = stage.sandbox.program().display().to_string();
    let words = [program.as_str(), "launch", "claude-code", "-p", &gate.until()];
    let line = format!("{}; sleep 1000", words.map(|word| format!("'{word}'")).join(" "));
    let terminal = stage.sandbox.run(&["sh", "-c", &line]).on_terminal();
    stage.asked("until");
    let live = stage.sandbox.wait_for("live session", crate::support::LIMIT, || {
        stage.list(&[]).into_iter().find(|one| one["state"] == "working" && one["id"].is_string())
    });
    signal(Signal::HUP, terminal.pid());
    let id = live["id"].as_str().expect("it has an id");
    stage.becomes(id, &["working"], &alive("working", "headless"));
    gate.open();
    let done = stage.becomes(id, &["working", "idle"], &ended("done", "completed"));
    assert_eq!(done["exit_code"], 0);
}

#[test]
fn launch_with_a_deadline_is_stopped_at_it() {
    let stage = Stage::new();
    let gate = stage.sandbox.gate("never");
    let launched = stage.launch(&["claude-code", "-p", &gate.until(), "--timeout", "10s"]);
    let id = launched["session"]["id"].as_str().expect("it has an id").to_owned();
    assert!(launched["session"]["deadline"].is_string(), "{launched:#}");
    let waited = stage.sandbox.agentctl(&["wait", &id, "--timeout", "60s"]);
    assert_eq!(waited.code, Some(1), "{waited:?}");
    stage.becomes(&id, &[], &ended("stopped", "interrupted"));
}

/// Without a pidfd, by calls that every Unix has.
#[test]
fn stop_by_portable_calls_ends_it_and_its_tool() {
    let stage = Stage::new();
    let tool = stage.sandbox.gate("tool");
    let prompt = format!("MOCK:tool {}", tool.tool());
    let launched = stage.launch(&["claude-code", "-p", &prompt, "--", "--allowedTools=Bash"]);
    let id = launched["session"]["id"].as_str().expect("it has an id").to_owned();
    stage
        .sandbox
        .wait_for("running tool", crate::support::LIMIT, || tool.has_begun().then_some(()));
    let portable = [("AGENTCTL_PORTABLE", "true")];
    let stopped = stage.sandbox.agentctl_with(&portable, &["stop", &id, "--json"]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    let certificate = &stopped.json()[0];
    let deaths = certificate["deaths"].as_array().expect("a list");
    assert_eq!(deaths[0]["process"]["pid"], launched["session"]["pid"], "{certificate:#}");
    assert!(deaths.len() > 1, "its tool is not told: {certificate:#}");
    assert!(deaths.iter().all(|death| death["survived"].is_null()), "{certificate:#}");
    stage.becomes(&id, &[], &ended("stopped", "interrupted"));
}
