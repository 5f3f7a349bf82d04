//! Where a thread of the Codex server is shown: in a terminal of Codex's own that speaks to it.

use serde_json::json;

use super::send::Daemon;
use crate::support::{LIMIT, Stage, alive};

#[test]
fn attach_joins_a_thread_of_the_server() {
    let stage = Stage::new();
    let mut daemon = Daemon::start(&stage);
    let id = daemon.thread(&json!({"cwd": stage.sandbox.work()}));
    stage.send(&id, "MOCK:text first");
    stage.becomes(&id, &["working", "idle"], &alive("idle", "server"));
    let socket = stage.sandbox.home().join(".codex/app-server-control/app-server-control.sock");
    let (socket, work) = (socket.display(), stage.sandbox.work());
    let typed = format!("codex resume --remote unix://{socket} -C {} {id}\n", work.display());
    let shown = stage.sandbox.agentctl(&["attach", &id]);
    assert_eq!((shown.code, shown.stdout), (Some(0), typed));
    let agentctl = stage.sandbox.program().to_string_lossy().into_owned();
    let elsewhere = stage.sandbox.dir("elsewhere");
    let person = stage.sandbox.run(&[&agentctl, "attach", &id]).within(&elsewhere).on_terminal();
    person.shows("first");
    person.send("MOCK:text typed by a person");
    stage.asked("text typed by a person");
    let idle = stage.becomes(&id, &["working", "idle"], &alive("idle", "server"));
    assert_eq!(idle["last"], "typed by a person");
    stage.sandbox.wait_for("only thread", LIMIT, || (stage.list(&[]).len() == 1).then_some(()));
}
