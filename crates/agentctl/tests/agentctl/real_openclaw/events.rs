//! What is told of a gateway, which says itself when something changes.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{Gateway, LIMIT, approval::tool};
use crate::support::Stage;

/// Everything is looked at this often though nobody says anything.
const SCAN: Duration = Duration::from_secs(15);

/// A command that waits for a person, and one that goes on, are told at once; and whoever listens is none
/// of those for whom a command waits.
#[test]
fn a_question_and_its_answer_are_told() {
    let stage = Stage::new();
    let gateway = Gateway::start(&stage, &json!({"exec": {"mode": "ask"}}));
    let mut events = stage.watch();
    let gate = stage.sandbox.gate("first");
    let id = gateway.run("one", &gate.until());
    stage.held(&gate);
    // It compiles much of itself before its first run.
    while !events.told(&id).ends_with(" working") {}
    gate.open();
    while !events.told(&id).ends_with(" done") {}

    let (tool, script) = tool(&stage);
    gateway.run("one", &script);
    while !events.told(&id).ends_with(" waiting") {}
    let approved = stage.sandbox.agentctl(&["approve", &id]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    let began = Instant::now();
    assert_eq!(events.told(&id), "session.working: waiting working");
    assert!(began.elapsed() < SCAN, "{:?}", began.elapsed());
    stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
    tool.open();
    while !events.told(&id).ends_with(" done") {}
}
