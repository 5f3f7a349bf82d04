//! A command that asks for leave.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use agentctl_testkit::sandbox::Gate;
use serde_json::json;

use super::{Gateway, LIMIT};
use crate::support::{Stage, alive, ended};

const ON_THE_WAY: &[&str] = &["unknown", "working"];

/// A gate that opens a tool, and the script of a model that calls that tool.
pub(super) fn tool(stage: &Stage) -> (Gate, String) {
    let tool = stage.sandbox.gate("tool");
    // A program of its own: with the loop itself as the command, 2026.9.6 ended the call without asking.
    let program = stage.sandbox.root().join("tool");
    fs::write(&program, format!("#!/bin/sh\n{}\n", tool.tool())).expect("the sandbox is ours");
    fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("it is ours");
    (tool, format!("MOCK:tool {}", program.display()))
}

/// Resumed by the same key it is the same session; a command off the allowlist waits, and one that runs
/// is work.
pub(super) fn asks_then_runs(stage: &Stage, gateway: &Gateway<'_>, id: &str) {
    let (tool, script) = tool(stage);
    let again = gateway.run("one", &script);
    assert_eq!(again, id);
    stage.asked("tool");
    let waiting = json!({"state": "waiting", "waiting_for": "approval", "live": true});
    stage.becomes(id, ON_THE_WAY, &waiting);
    assert!(!tool.has_begun());
    let approved = stage.sandbox.agentctl(&["approve", id]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    let command = script.trim_start_matches("MOCK:tool ");
    assert!(approved.stdout.contains(command), "it does not say what: {approved:?}");
    stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
    stage.becomes(id, &["unknown", "working", "waiting"], &alive("working", "server"));
    tool.open();
    // Its turn may end before the one that tells it of the command's end.
    stage
        .sandbox
        .wait_for("three answers", LIMIT, || (stage.tokens(id)["output"] == 30).then_some(()));
    stage.becomes(id, ON_THE_WAY, &ended("done", "completed"));
}
