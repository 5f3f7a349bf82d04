//! Messages to Claude Code: to one that was launched for more of them, and to others, which refuse.

use serde_json::json;

use super::EXE;
use crate::support::{LIMIT, Stage, alive, ended, is_real, uuid};

#[test]
fn send_reaches_a_steerable_session() {
    let stage = Stage::new();
    let gate = stage.sandbox.gate("first");
    let launched = stage.launch(&["claude-code", "--steerable", "-p", &gate.until()]);
    let id = launched["session"]["id"].as_str().expect("it has an id").to_owned();
    is_real(&launched["session"], EXE);
    assert_eq!(launched["session"]["state"], "working", "{launched:#}");
    stage.asked("until");
    stage.becomes(&id, &[], &alive("working", "piped"));
    gate.open();
    stage.becomes(&id, &["working"], &alive("idle", "piped"));
    let sent = stage.send(&id, "MOCK:text \"second\"\nand more");
    assert_eq!(sent["delivery"], "delivered", "{sent:#}");
    stage.asked("text \"second\"");
    // While it works it keeps what it is sent, and says so.
    let gate = stage.sandbox.gate("answer");
    assert_eq!(stage.send(&id, &gate.until())["delivery"], "delivered");
    stage.asked("until");
    stage.becomes(&id, &["working", "idle"], &alive("working", "piped"));
    assert_eq!(stage.send(&id, "MOCK:text last")["delivery"], "delivered");
    gate.open();
    stage.asked("text last");
    let idle = stage.becomes(&id, &["working"], &alive("idle", "piped"));
    assert_eq!(idle["last"], "last");
    // Longer than a pipe takes at once.
    let long = format!("MOCK:text long\n{}", "x".repeat(100 << 10));
    assert_eq!(stage.send(&id, &long)["delivery"], "delivered");
    stage.asked("text long");
    let stopped = stage.sandbox.agentctl(&["stop", &id]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    let refused = stage.sandbox.agentctl(&["send", &id, "MOCK:text never"]);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.stderr.contains("agentctl resume"), "{refused:?}");
}

#[test]
fn send_refuses_what_it_cannot_reach() {
    let stage = Stage::new();
    let gate = stage.sandbox.gate("answer");
    let launched = stage.launch(&["claude-code", "-p", &gate.until()]);
    let id = launched["session"]["id"].as_str().expect("it has an id").to_owned();
    stage.asked("until");
    let refused = stage.sandbox.agentctl(&["send", &id, "more"]);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.stderr.contains("for one prompt"), "{refused:?}");
    gate.open();
    let through = ["working", "idle", "unknown"]; // its process ends behind its turn
    stage.becomes(&id, &through, &ended("done", "completed"));

    let (_terminal, typed) = stage.talk(&[]);
    stage.becomes(&typed, &[], &alive("idle", "interactive"));
    let refused = stage.sandbox.agentctl(&["send", &typed, "more"]);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.stderr.contains("agentctl attach"), "{refused:?}");

    let leads = stage.sandbox.agentctl(&["attach", &typed, "--print"]);
    assert_eq!(leads.code, Some(0), "{leads:?}");
    let words: Vec<&str> = leads.stdout.split_whitespace().collect();
    assert_eq!(words[..2], ["tmux", "-S"]);
    assert_eq!(words[3..], ["attach-session", "-t", "'%0'"]);
    // As from a terminal of another kind: inside the same tmux it would lead a person's client on.
    let agentctl = stage.sandbox.program().to_string_lossy();
    let other = stage.sandbox.run(&[&agentctl, "attach", &typed]).env("TMUX", "").on_terminal();
    other.shows("? for shortcuts");
    let refused = stage.sandbox.agentctl(&["attach", &id]);
    assert_eq!(refused.code, Some(5), "{refused:?}");

    let nobody = stage.sandbox.agentctl(&["send", &uuid(), "more"]);
    assert_eq!(nobody.code, Some(3), "{nobody:?}");
}

#[test]
fn send_is_unconfirmed_while_nothing_shows_it() {
    let stage = Stage::new();
    let launched = stage.launch(&["claude-code", "--steerable", "-p", "MOCK:text first"]);
    let id = launched["session"]["id"].as_str().expect("it has an id").to_owned();
    let pid = is_real(&launched["session"], EXE);
    stage.becomes(&id, &["working"], &alive("idle", "piped"));
    crate::support::signal(rustix::process::Signal::STOP, pid);
    let sent =
        stage.sandbox.agentctl(&["send", &id, "MOCK:text x", "--timeout", "300ms", "--json"]);
    assert_eq!(sent.code, Some(1), "{sent:?}");
    let expected = json!({
        "schema": 1, "session_id": id, "agent": "claude-code", "delivery": "unconfirmed",
    });
    assert_eq!(sent.json(), expected);
    crate::support::signal(rustix::process::Signal::CONT, pid);
    stage
        .sandbox
        .wait_for("answer", LIMIT, || (stage.one("status", &id)?["last"] == "x").then_some(()));
}
