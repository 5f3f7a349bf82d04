//! An agent that a command runs by itself, without a gateway.

use rustix::process::Signal;
use serde_json::json;

use super::{EXE, LIMIT};
use crate::support::{Stage, alive, ended, is_real, signal};

#[test]
fn killed_without_a_gateway_it_died() {
    let stage = Stage::new();
    stage.configure(&json!({}));
    let gate = stage.sandbox.gate("answer");
    let message = format!("go\n{}", gate.until());
    let words =
        ["openclaw", "agent", "--local", "--session-key", "agent:main:alone", "-m", &message];
    let command = stage.openclaw(&words).spawn();
    let id = stage.of_key("alone");
    stage.held(&gate);
    let session = stage.becomes(&id, &[], &alive("working", "headless"));
    signal(Signal::KILL, is_real(&session, EXE));
    command.wait(LIMIT);
    stage.becomes(&id, &["working"], &ended("died", "killed or crashed"));
    stage.proved(&id);
}
