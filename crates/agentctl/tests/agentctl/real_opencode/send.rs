//! Messages to OpenCode: through its server, busy or idle; a `run` refuses them.

use super::serve::Server;
use crate::support::{Stage, alive, ended};

#[test]
fn send_reaches_a_served_session() {
    let stage = Stage::opencode("allow");
    let server = Server::start(&stage, &[("OPENCODE_SERVER_PASSWORD", "open sesame")]);
    let (work, gate) = (stage.sandbox.work(), stage.sandbox.gate("answer"));
    let id = server.session(&work);
    server.prompt(&id, &work, &gate.until());
    stage.asked("until");
    stage.served(&id, &alive("working", "server"));
    let sent = stage.send(&id, "MOCK:text second");
    assert_eq!(sent["delivery"], "delivered", "{sent:#}");
    gate.open();
    stage.asked("text second");
    let done = stage.served(&id, &ended("done", "completed"));
    assert_eq!(done["last"], "second");
    // Idle sessions are named by nobody, and taken up again.
    assert_eq!(stage.send(&id, "MOCK:text third")["delivery"], "delivered");
    stage.asked("text third");
    stage.served(&id, &ended("done", "completed"));
}

#[test]
fn send_refuses_a_run_and_what_nobody_serves() {
    let stage = Stage::opencode("allow");
    let gate = stage.sandbox.gate("answer");
    let run = stage.running(&[], &gate.until(), &stage.sandbox.work());
    let id = stage.made(&run);
    stage.asked("until");
    let refused = stage.sandbox.agentctl(&["send", &id, "more"]);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.stderr.contains("for one prompt"), "{refused:?}");
    gate.open();
    stage.becomes(&id, &["working", "idle"], &ended("done", "completed"));
    let refused = stage.sandbox.agentctl(&["send", &id, "more"]);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.stderr.contains("agentctl resume"), "{refused:?}");
}
