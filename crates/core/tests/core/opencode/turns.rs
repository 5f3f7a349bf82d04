//! How far the newest message of a session is, and so its turn.

use super::{ID, opencode, put_json, stub, with};
use crate::world::machine;
use agentctl_core::{
    agent::Depth,
    evidence::{Ending, Pending, Turn},
};
use serde_json::{Value, json};

const FILE: &str = "/store/storage/session/global/ses_e1f7b6bd9ffeXM7NCCIsxbHspv.json";

/// The turn of a session whose newest message is this, or why it cannot be told.
fn turn(message: &Value, parts: &[Value]) -> Result<Turn, String> {
    let mut machine = machine(Vec::new());
    put_json(&mut machine, &format!("storage/session/global/{ID}.json"), &json!({"id": ID}));
    put_json(&mut machine, &format!("storage/message/{ID}/msg_1.json"), message);
    for (number, part) in parts.iter().enumerate() {
        put_json(&mut machine, &format!("storage/part/msg_1/prt_{number}.json"), part);
    }
    let record = opencode().read(&machine, &stub(FILE), Depth::Glance);
    record.map(|record| record.turn).map_err(|why| why.to_string())
}

/// How it ended, or what it hangs on.
fn how(message: &Value, parts: &[Value]) -> Result<Ending, Pending> {
    match turn(message, parts).expect("it is understood") {
        Turn::Ended { how, .. } => Ok(how),
        Turn::Open { pending, .. } => Err(pending),
        Turn::None => panic!("it has a message"),
    }
}

fn open() -> Value {
    json!({"role": "assistant", "time": {"created": 1_000_200_000}})
}

/// A message that was written to its end.
fn whole(more: Value) -> Value {
    let time = json!({"created": 1_000_200_000, "completed": 1_000_300_000});
    with(json!({"role": "assistant", "time": time}), &more)
}

fn tool(name: &str, state: Value) -> Value {
    json!({"type": "tool", "tool": name, "state": state})
}

#[test]
fn a_message_ends_a_turn_or_goes_on() {
    let nothing = || Err(Pending::Nothing);
    let user = json!({"role": "user", "time": {"created": 1_000_200_000}});
    assert_eq!(how(&user, &[]), nothing());
    assert_eq!(how(&open(), &[]), nothing());
    assert_eq!(how(&whole(json!({"finish": "stop"})), &[]), Ok(Ending::Completed));
    assert_eq!(how(&whole(json!({"finish": "tool-calls"})), &[]), nothing());
    assert_eq!(how(&whole(json!({"finish": "unknown"})), &[]), nothing());
    // A person's own command has a tool and no model; a retry that was given up has neither.
    assert_eq!(how(&whole(json!({})), &[tool("bash", json!({}))]), Ok(Ending::Completed));
    assert_eq!(how(&whole(json!({})), &[json!({"type": "text"})]), Ok(Ending::Interrupted));
    let error = |error: Value| how(&whole(json!({"error": error})), &[]);
    assert_eq!(error(json!({"name": "MessageAbortedError"})), Ok(Ending::Interrupted));
    let api = json!({"name": "APIError", "data": {"message": "no\nquota"}});
    assert_eq!(error(api), Ok(Ending::Failed("no quota".into())));
    assert_eq!(error(json!({"name": "UnknownError"})), Ok(Ending::Failed("UnknownError".into())));
    assert_eq!(
        turn(&json!({"role": "user"}), &[]).map_err(|why| why.contains("no time")),
        Err(true)
    );
    let strange = turn(&json!({"role": "judge", "time": {"created": 1}}), &[]);
    assert_eq!(strange.map_err(|why| why.contains("its role is judge")), Err(true));
}

/// Somebody who says no ends the turn, which leaves no other trace.
#[test]
fn a_call_that_was_refused_ends_the_turn() {
    let calls = |state: Value| how(&whole(json!({"finish": "tool-calls"})), &[tool("bash", state)]);
    let rejected = "The user rejected permission to use this specific tool call.";
    let dismissed = "The user dismissed this question";
    for why in [rejected, dismissed] {
        assert_eq!(calls(json!({"status": "error", "error": why})), Ok(Ending::Interrupted));
        assert_eq!(calls(json!({"status": "completed", "error": why})), Err(Pending::Nothing));
    }
    assert_eq!(calls(json!({"status": "error", "error": "exit 1"})), Err(Pending::Nothing));
    let words = format!("{rejected} Do this instead.");
    assert_eq!(calls(json!({"status": "error", "error": words})), Err(Pending::Nothing));
}

/// A call has no `metadata` until it was allowed to run.
#[test]
fn an_open_message_hangs_on_what_its_tools_wait_for() {
    let pending = |parts: &[Value]| how(&open(), parts).expect_err("it is open");
    let running = |name: &str, more: Value| tool(name, with(json!({"status": "running"}), &more));
    let leave = Pending::ApprovalUnless { variable: "OPENCODE".into(), values: vec!["1".into()] };
    assert_eq!(pending(&[running("bash", json!({}))]), leave);
    assert_eq!(pending(&[running("read", json!({})), running("edit", json!({}))]), leave);
    assert_eq!(pending(&[running("bash", json!({"metadata": {}}))]), Pending::Nothing);
    assert_eq!(pending(&[running("read", json!({}))]), Pending::Nothing);
    assert_eq!(pending(&[tool("bash", json!({"status": "completed"}))]), Pending::Nothing);
    let both = [running("bash", json!({})), running("question", json!({}))];
    assert_eq!(pending(&both), Pending::Answer);
    assert_eq!(pending(&[tool("question", json!({"status": "completed"}))]), Pending::Nothing);
}

/// What stands there beside the words of a person is not theirs.
#[test]
fn the_first_prompt_is_what_a_person_wrote() {
    let mut machine = machine(Vec::new());
    put_json(&mut machine, &format!("storage/session/global/{ID}.json"), &json!({"id": ID}));
    let message = json!({"role": "user", "model": {"providerID": "p", "modelID": "m"},
        "time": {"created": 1_000_200_000}});
    put_json(&mut machine, &format!("storage/message/{ID}/msg_1.json"), &message);
    let parts = [
        json!({"type": "file", "text": "a file"}),
        json!({"type": "text", "text": "read it", "synthetic": true}),
        json!({"type": "text", "text": "hello"}),
    ];
    for (number, part) in parts.iter().enumerate() {
        put_json(&mut machine, &format!("storage/part/msg_1/prt_{number}.json"), part);
    }
    let record = opencode().read(&machine, &stub(FILE), Depth::Glance).expect("it is understood");
    assert_eq!((record.prompt.as_deref(), record.model.as_deref()), (Some("hello"), Some("p/m")));
    assert_eq!(record.last, None);
}
