//! A command that asks for leave.

use serde_json::json;

use super::Gateway;
use crate::support::{Stage, ended};

#[test]
fn a_command_off_the_allowlist_waits_for_approval() {
    let stage = Stage::new();
    let gateway = Gateway::start(&stage, &json!({"exec": {"mode": "ask"}}));
    let file = stage.sandbox.root().join("touched");
    let id = gateway.run("asks", &format!("MOCK:tool touch {}", file.display()));
    let waiting = json!({"state": "waiting", "waiting_for": "approval", "live": true});
    stage.asked("tool");
    stage.becomes(&id, &["unknown", "working"], &waiting);
    assert!(!file.exists());
    let asked = gateway.call("exec.approval.list", &json!({}));
    let leave = json!({"id": asked[0]["id"], "decision": "allow-once"});
    gateway.call("exec.approval.resolve", &leave);
    stage.becomes(&id, &["unknown", "working", "waiting"], &ended("done", "completed"));
    assert!(file.exists());
}
