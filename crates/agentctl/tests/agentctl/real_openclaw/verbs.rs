//! What `agentctl` asks of the gateway for a person.

use std::fs;

use serde_json::{Value, json};

use super::{EXE, Gateway, LIMIT, TOKEN, approval::tool};
use crate::driven::{Driven, id};
use crate::support::{Stage, alive, ended, is_real};

const ON_THE_WAY: &[&str] = &["unknown", "working"];

/// It puts the time before the first line that a model sees.
fn prompt(script: &str) -> String {
    format!("go\n{script}")
}

fn driven(stage: &Stage) -> Driven<'_> {
    let is_real = &|session: &Value| is_real(session, EXE);
    Driven { stage, agent: "openclaw", set: Vec::new(), is_real, own: &[] }
}

#[test]
fn launch_send_stop_resume_go_through_the_gateway() {
    let stage = Stage::new();
    let gateway = Gateway::start(&stage, &json!({"exec": {"mode": "ask"}}));
    let agent = driven(&stage);

    let gate = stage.sandbox.gate("answer");
    let about = ["--group", "g", "--label", "a=b", "--key", "once", "--timeout", "10m"];
    let hook = ["--on-create", "echo \"$AGENTCTL_STATE of $AGENTCTL_ADAPTER\""];
    let launched = agent.launch(&prompt(&gate.until()), &[&about[..], &hook].concat());
    let first = id(&launched);
    assert_eq!(launched["pid"], gateway.program.pid(), "{launched:#}");
    assert_eq!((&launched["group"], &launched["labels"]), (&json!("g"), &json!({"a": "b"})));
    assert_eq!(launched["cwd"], json!(stage.sandbox.work()));
    // Its server writes no log; what is run for it does.
    assert_eq!(launched["hooks"][0]["outcome"], "succeeded", "{launched:#}");
    let log = fs::read_to_string(launched["log"].as_str().expect("a log")).expect("a log");
    assert!(log.contains("working of openclaw\n"), "{log}");
    assert_eq!(id(&agent.launch("again", &["--key", "once"])), first);
    stage.held(&gate);
    stage.becomes(&first, ON_THE_WAY, &alive("working", "server"));
    let refused =
        [agent.call(&["launch", "openclaw", "-p", "x"]), agent.call(&["resume", &first, "x"])];
    assert_eq!(refused.each_ref().map(|one| one.code), [Some(5); 2], "{refused:?}");

    assert_eq!(stage.send(&first, &prompt("MOCK:text sent"))["delivery"], "delivered");
    gate.open();
    let done = stage.becomes(&first, ON_THE_WAY, &ended("done", "completed"));
    assert_eq!((&done["last"], &done["launch_id"]), (&json!("sent"), &launched["launch_id"]));

    stops(&stage, &gateway, &first);
    forks(&agent, &first);
    let refused = agent.call(&["launch", "openclaw", "-p", "x", "--model", "nobody/nothing"]);
    assert_eq!(refused.code, Some(6), "{refused:?}");
    assert!(refused.stderr.contains("Unknown provider"), "its words are not shown: {refused:?}");
    permits(&agent);
}

/// A stopped session goes on under its id, and the gateway never ends.
fn stops(stage: &Stage, gateway: &Gateway<'_>, id: &str) {
    let (agent, never) = (driven(stage), stage.sandbox.gate("never"));
    assert_eq!(agent.resume(id, &prompt(&never.until()), &["--group", "h"])["id"], *id);
    stage.held(&never);
    let stopped = agent.call(&["stop", "--group", "h", "--json"]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    let certificate = &stopped.json()["stopped"][0];
    assert_eq!(
        (&certificate["session"]["state"], &certificate["deaths"]),
        (&json!("stopped"), &json!([]))
    );
    assert_eq!(gateway.program.ended(), None);
    let dry = agent.call(&["resume", id, "x", "--dry-run", "--json", "--permission", "edit"]);
    let asked = &dry.json()["requests"];
    assert_eq!(asked[0]["params"]["permissionMode"], "guarded", "{dry:?}");
    assert_eq!(asked[1]["params"]["sessionId"], *id, "{dry:?}");
    let resumed = agent.call(&["resume", id, &prompt("MOCK:text resumed"), "--wait", "--json"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(resumed.json()["session"]["last"], "resumed");
    // One that has ended is taken up by a message too.
    assert_eq!(stage.send(id, &prompt("MOCK:text woken"))["delivery"], "delivered");
    stage.asked("text woken");
    let done = stage.becomes(id, ON_THE_WAY, &ended("done", "completed"));
    assert_eq!(done["last"], "woken");
}

fn forks(agent: &Driven<'_>, origin: &str) {
    let words = ["resume", origin, &prompt("MOCK:text copy"), "--fork", "--wait", "--json"];
    let forked = agent.call(&words);
    assert_eq!(forked.code, Some(0), "{forked:?}");
    let forked = &forked.json()["session"];
    assert_eq!((&forked["last"], &forked["forked_from"]), (&json!("copy"), &json!(origin)));
    let origin = agent.stage.becomes(origin, ON_THE_WAY, &ended("done", "completed"));
    assert_eq!(origin["last"], "woken");
}

/// A command asks for leave, is denied, and does not run; with full leave it runs unasked.
fn permits(agent: &Driven<'_>) {
    let stage = agent.stage;
    let (tool, script) = tool(stage);
    let asked = id(&agent.launch(&prompt(&script), &[]));
    let waiting = json!({"state": "waiting", "waiting_for": "approval", "live": true});
    stage.becomes(&asked, ON_THE_WAY, &waiting);
    let denied = agent.call(&["deny", &asked, "--json"]);
    assert_eq!(denied.code, Some(0), "{denied:?}");
    assert_eq!(denied.json()["goes_on"], true, "{denied:?}");
    stage.becomes(&asked, &["unknown", "working", "waiting"], &ended("done", "completed"));
    assert!(!tool.has_begun());

    let full = id(&agent.launch(&prompt(&script), &["--permission", "full"]));
    stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
    tool.open();
    stage.becomes(&full, ON_THE_WAY, &ended("done", "completed"));
}

#[test]
fn launch_without_a_gateway_says_how_to_start_one() {
    let stage = Stage::new();
    stage.configure(&json!({}));
    let agent = driven(&stage);
    let call = |more: &[&str]| agent.call(&[&["launch", "openclaw", "-p", "x"], more].concat());
    let failed = call(&[]);
    assert_eq!(failed.code, Some(6), "{failed:?}");
    assert!(failed.stderr.contains("openclaw gateway run"), "{failed:?}");
    for (words, named) in [
        (&["--env", "A=B"] as &[&str], "--env"),
        (&["--append-system-prompt", "be kind"], "--append-system-prompt"),
        (&["--", "--bogus"], "after --"),
    ] {
        let refused = call(words);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(named), "{refused:?}");
    }
    let dry = call(&["--dry-run", "--json", "--permission", "read", "--model", "mock/mock-1"]);
    assert_eq!(dry.code, Some(0), "{dry:?}");
    assert!(!format!("{dry:?}").contains(TOKEN), "the token is shown");
    let asked = json!([{"method": "sessions.create", "params": {
        "key": "agentctl-LAUNCH", "cwd": stage.sandbox.work(), "message": "x",
        "model": "mock/mock-1", "permissionMode": "read-only",
    }}]);
    assert_eq!(dry.json()["requests"], asked);
    let left = stage.sandbox.home().join(".local/state/agentctl/launches");
    assert_eq!(fs::read_dir(left).map(Iterator::count).unwrap_or_default(), 0);
}
