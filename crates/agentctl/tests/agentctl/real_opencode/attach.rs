//! Where a session of an OpenCode server is shown: in a terminal of OpenCode's own that speaks to it.

use serde_json::json;

use super::serve::Server;
use crate::{
    driven::path,
    support::{Stage, alive, ended},
};

#[test]
fn attach_joins_a_served_session() {
    let stage = Stage::opencode("allow");
    let server = Server::start(&stage, &[("OPENCODE_SERVER_PASSWORD", "open sesame")]);
    let (work, gate) = (stage.sandbox.work(), stage.sandbox.gate("answer"));
    let id = server.session(&work);
    server.prompt(&id, &work, &gate.until());
    stage.asked("until");
    stage.served(&id, &alive("working", "server"));
    let shown = stage.sandbox.agentctl(&["attach", &id]);
    let typed = format!("opencode attach http://{} --session {id}\n", server.address);
    assert_eq!((shown.code, &shown.stdout), (Some(0), &typed));
    assert!(shown.stderr.contains("OPENCODE_SERVER_PASSWORD"), "{shown:?}");
    let told = stage.sandbox.agentctl(&["attach", &id, "--json"]);
    assert_eq!(told.json()["needs"], json!(["OPENCODE_SERVER_PASSWORD"]));
    assert!(!told.stdout.contains("sesame") && !shown.stdout.contains("sesame"));
    // It knows the password without being told.
    let agentctl = stage.sandbox.program().to_string_lossy().into_owned();
    let (name, value) = path("AGENTCTL_TEST_OPENCODE");
    let person = stage.sandbox.run(&[&agentctl, "attach", &id]).env(name, &value).on_terminal();
    person.shows("MOCK:until");
    gate.open();
    person.shows("released");
    stage.served(&id, &ended("done", "completed"));
    // Idle it is named by nobody, and can be looked at all the same.
    let again = stage.sandbox.agentctl(&["attach", &id]);
    assert_eq!((again.code, again.stdout), (Some(0), typed));
}
