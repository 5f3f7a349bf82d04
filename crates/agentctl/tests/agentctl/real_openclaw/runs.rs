//! Runs inside one gateway, and what is left of them without it.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{EXE, Gateway, LIMIT, TOKEN, approval};
use crate::support::{Stage, alive, ended, is_real};

/// A gateway that gets a run ready answers nobody for a while.
const ON_THE_WAY: &[&str] = &["unknown", "working"];
/// So may a session be that was made, and whose run is not let in yet.
const BEFORE: &[&str] = &["unknown", "working", "done"];

fn failed() -> Value {
    json!({"state": "failed", "status": "error", "live": false, "pid": null})
}

#[test]
fn runs_are_seen_from_the_first_word_to_the_death_of_the_gateway() {
    let stage = Stage::new();
    let gateway = Gateway::start(&stage, &json!({"exec": {"mode": "ask"}}));

    // Never prompted: nobody holds it.
    let made = json!({"key": "agent:main:made", "cwd": stage.sandbox.work()});
    gateway.call("sessions.create", &made);
    let id = stage.of_key("made");
    let session = stage.becomes(&id, ON_THE_WAY, &ended("done", "completed"));
    assert_eq!((&session["prompt"], &session["cwd"]), (&Value::Null, &json!(stage.sandbox.work())));

    // A held answer is work, of the gateway's own process.
    let gate = stage.sandbox.gate("answer");
    let id = gateway.run("one", &gate.until());
    stage.held(&gate);
    let session = stage.becomes(&id, ON_THE_WAY, &alive("working", "server"));
    assert_eq!(is_real(&session, EXE), gateway.program.pid());
    assert_eq!(session["shared"], true);
    let follow = stage.follow(&id);
    let heard = |speakers: &[&str]| {
        stage.sandbox.wait_for("messages", LIMIT, || (follow.heard() == speakers).then_some(()));
    };
    heard(&["user"]);
    gate.open();
    heard(&["user", "assistant"]);
    assert_eq!(follow.program.ended(), None, "the gateway lives, and may say more");
    let session = stage.becomes(&id, ON_THE_WAY, &ended("done", "completed"));
    assert_eq!(session["last"], "released");

    approval::asks_then_runs(&stage, &gateway, &id);
    let check = stage.absence(&id);

    // A run that failed, and one that was stopped, go on in the same session.
    let bad = gateway.run("bad", "MOCK:err 400");
    stage.becomes(&bad, BEFORE, &failed());
    let gate = stage.sandbox.gate("better");
    assert_eq!(gateway.run("bad", &gate.until()), bad);
    stage.held(&gate);
    stage.becomes(&bad, ON_THE_WAY, &alive("working", "server"));
    let checks = [check.clone(), check.replace(&id, &bad)];
    assert_eq!(stage.show(&checks), [true, false], "one has ended, and one runs: {checks:#?}");
    let stopped = stage.sandbox.agentctl(&["stop", &bad, "--json"]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    let certificate = &stopped.json()["stopped"][0];
    assert_eq!(certificate["deaths"], json!([]));
    let asked = &certificate["asked"];
    assert_eq!((&asked["call"], &asked["before"]), (&json!("sessions.abort"), &json!("working")));
    assert_eq!(asked["after"], certificate["session"]["state"]);
    stage.becomes(&bad, ON_THE_WAY, &ended("stopped", "interrupted"));

    let never = stage.sandbox.gate("never");
    let id = gateway.run("aborted", &never.until());
    stage.held(&never);
    stage.becomes(&id, ON_THE_WAY, &alive("working", "server"));
    gateway.call("sessions.abort", &json!({"key": "agent:main:aborted"}));
    stage.becomes(&id, ON_THE_WAY, &ended("stopped", "interrupted"));

    killed(&stage, &gateway);
}

/// Without its gateway a run is unknown, and under the next one it has died until it is run again.
fn killed(stage: &Stage, gateway: &Gateway<'_>) {
    let gate = stage.sandbox.gate("killed");
    let id = gateway.run("killed", &gate.until());
    stage.held(&gate);
    let before = stage.becomes(&id, ON_THE_WAY, &alive("working", "server"));
    gateway.program.signal(Signal::KILL);
    gateway.program.wait(LIMIT);
    let unknown = json!({
        "state": "unknown", "live": false, "pid": null, "reason": "gateway unreachable",
    });
    let after = stage.becomes(&id, &["working"], &unknown);
    assert_eq!(after["source"], before["source"]);
    let others = stage.agreed();
    let mut keys: Vec<String> = others.iter().map(|other| other["title"].to_string()).collect();
    keys.sort();
    let made = ["aborted", "bad", "killed", "made", "one"];
    assert_eq!(keys, made.map(|key| format!("\"agent:main:{key}\"")), "nothing is dropped");
    for other in others.iter().filter(|other| other["id"] != json!(id)) {
        assert_eq!((&other["live"], other["state"] == "unknown"), (&json!(false), false));
    }

    let _again = Gateway::start(stage, &json!({}));
    stage.sandbox.wait_for("word of the next gateway", LIMIT, || {
        let all = stage.list(&["--all"]);
        let state = all.iter().find(|one| one["id"] == json!(id))?["state"].clone();
        (state == "died" || state == "working").then_some(())
    });
    let everything = stage.sandbox.agentctl(&["list", "--all"]);
    let told = format!("{everything:?}{:?}", stage.sandbox.agentctl(&["doctor", "--json"]));
    assert!(!told.contains(TOKEN), "the token is shown");
}
