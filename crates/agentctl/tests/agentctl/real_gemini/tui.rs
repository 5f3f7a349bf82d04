//! Gemini on a terminal: it names no session, and is joined with one where only one is possible.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{is_worker, tokens};
use crate::support::{LIMIT, Stage, alive, ended, signal};

#[test]
fn a_conversation_is_followed_from_state_to_state() {
    let stage = Stage::new();
    let (terminal, id) = stage.gemini_chat(&[]);
    let fresh = stage.becomes(&id, &[], &alive("idle", "interactive"));
    let pid = is_worker(&fresh);
    let inferred = |session: &Value| session["because"].to_string().contains("\"inferred\"");
    assert!(inferred(&fresh), "{fresh:#}");
    stage.proved(&id);

    let gate = stage.sandbox.gate("answer");
    stage.gemini_send(&terminal, &gate.until());
    stage.asked("until");
    stage.becomes(&id, &["idle", "working"], &alive("working", "interactive"));
    stage.proved(&id);
    gate.open();
    let idle = stage.becomes(&id, &["working"], &alive("idle", "interactive"));
    assert_eq!(idle["last"], "released");

    let tool = stage.sandbox.gate("tool");
    stage.gemini_send(&terminal, &format!("MOCK:tool {}", tool.tool()));
    stage.asked("tool");
    terminal.shows("Allow execution");
    let unseen = json!({"state": "unknown", "live": true, "pid": pid});
    let open = stage.becomes(&id, &["idle", "working"], &unseen);
    assert_eq!(open["reason"], "a tool runs inside its process, or waits for a person");
    stage.proved(&id);
    terminal.press(&["Enter"]);
    stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
    stage.becomes(&id, &["unknown"], &alive("working", "interactive"));
    stage.proved(&id);
    tool.open();
    stage.becomes(&id, &["unknown", "working"], &alive("idle", "interactive"));
    assert_eq!(stage.tokens(&id), tokens(3));

    signal(Signal::KILL, pid);
    // Whoever started it is left alone for a moment, and looks like any process that has named no session.
    stage.becomes(&id, &["idle", "unknown"], &ended("done", "completed"));
    stage.proved(&id);
}

#[test]
fn an_answer_may_come_with_a_tool_that_runs() {
    let stage = Stage::new();
    let (terminal, id) = stage.gemini_chat(&["-y"]);
    let tool = stage.sandbox.gate("tool");
    stage.gemini_send(&terminal, &format!("MOCK:multi {}", tool.tool()));
    stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
    let working = stage.becomes(&id, &["idle", "working"], &alive("working", "interactive"));
    assert_eq!(working["last"], "running several commands");
    stage.proved(&id);
    tool.open();
    let said = json!({"state": "idle", "live": true, "last": "done"});
    stage.becomes(&id, &["working", "idle", "unknown"], &said);
}

#[test]
fn an_interrupted_turn_leaves_it_idle_and_its_end_stopped() {
    let stage = Stage::new();
    let (terminal, id) = stage.gemini_chat(&[]);
    stage.gemini_send(&terminal, &stage.sandbox.gate("never").until());
    stage.asked("until");
    let working = stage.becomes(&id, &["idle", "working"], &alive("working", "interactive"));
    terminal.press(&["Escape"]);
    terminal.shows("Request cancelled");
    stage.becomes(&id, &["working"], &alive("idle", "interactive"));
    stage.proved(&id);
    signal(Signal::KILL, is_worker(&working));
    stage.becomes(&id, &["idle", "unknown"], &ended("stopped", "interrupted"));
}

#[test]
fn a_refused_prompt_leaves_it_idle_and_its_end_failed() {
    let stage = Stage::new();
    let (terminal, id) = stage.gemini_chat(&[]);
    stage.gemini_send(&terminal, "MOCK:err 400");
    stage.asked("err");
    terminal.shows("API Error");
    let idle = stage.becomes(&id, &["working", "idle"], &alive("idle", "interactive"));
    signal(Signal::KILL, is_worker(&idle));
    let failed = json!({"state": "failed", "status": "error", "live": false});
    let failed = stage.becomes(&id, &["idle", "unknown"], &failed);
    assert!(failed["outcome"].to_string().contains("scripted 400"), "{failed:#}");
}

#[test]
fn what_cannot_be_told_apart_stays_without_a_name() {
    let stage = Stage::new();
    let (one, first) = stage.gemini_chat(&[]);
    stage.gemini_send(&one, "MOCK:text one");
    let said = json!({"state": "idle", "live": true, "last": "one"});
    let idle = stage.becomes(&first, &["idle", "working"], &said);
    let pid = is_worker(&idle);
    let (two, _) = stage.gemini_chat(&[]);
    stage.gemini_send(&two, "MOCK:text two");
    stage.asked("text two");
    let second = stage
        .sandbox
        .wait_for("second chat", LIMIT, || stage.chats().into_iter().find(|id| *id != first));
    for id in [&first, &second] {
        let maybe = json!({"state": "unknown", "live": false, "status": "unknown"});
        let maybe = stage.becomes(id, &["idle", "unknown"], &maybe);
        assert!(maybe["reason"].to_string().contains("may be held by pid"), "{maybe:#}");
        stage.proved(id);
    }
    let rows = stage.agreed();
    let unnamed: Vec<&Value> = rows.iter().filter(|row| row["id"].is_null()).collect();
    assert_eq!((rows.len(), unnamed.len()), (4, 2), "{:#}", json!(rows));
    assert!(unnamed.iter().any(|row| row["pid"] == pid));

    // With one of them gone, only one answer is left for the other.
    signal(Signal::KILL, pid);
    stage.becomes(&second, &["unknown"], &alive("idle", "interactive"));
    stage.becomes(&first, &["unknown"], &ended("done", "completed"));
}
