//! OpenCode on a terminal.

use agentctl_testkit::sandbox::Terminal;
use rustix::process::Signal;
use serde_json::json;

use super::{EXE, tokens};
use crate::support::{LIMIT, Stage, alive, ended, is_real, signal};

impl Stage {
    /// OpenCode on a terminal, ready for a prompt.
    pub(super) fn terminal(&self) -> Terminal<'_> {
        let terminal = self.opens(&[]).on_terminal();
        self.sandbox.wait_for("prompt on the terminal", LIMIT * 2, || {
            terminal.screen().contains("Ask anything").then_some(())
        });
        terminal
    }
}

#[test]
fn a_conversation_is_followed_from_state_to_state() {
    let stage = Stage::opencode("ask");
    let terminal = stage.terminal();
    let rows = stage.agreed();
    assert_eq!(rows.len(), 1, "{:#}", json!(rows));
    assert_eq!((&rows[0]["id"], &rows[0]["state"]), (&json!(null), &json!("unknown")));
    assert_eq!(is_real(&rows[0], EXE), terminal.pid(), "it was never prompted");

    let gate = stage.sandbox.gate("answer");
    terminal.send(&gate.until());
    stage.asked("until");
    let id = stage.only();
    let working = stage.becomes(&id, &["working"], &alive("working", "interactive"));
    let pid = is_real(&working, EXE);
    assert_eq!(pid, terminal.pid());
    stage.proved(&id);
    gate.open();
    let idle = stage.becomes(&id, &["working"], &alive("idle", "interactive"));
    assert_eq!(idle["last"], "released");
    stage.proved(&id);

    let tool = stage.sandbox.gate("tool");
    terminal.send(&format!("MOCK:tool {}", tool.tool()));
    terminal.shows("Permission required");
    let mut waiting = alive("waiting", "interactive");
    waiting["waiting_for"] = json!("approval");
    stage.becomes(&id, &["working"], &waiting);
    stage.proved(&id);
    terminal.press(&["Enter"]);
    stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
    stage.becomes(&id, &["waiting", "working"], &alive("working", "interactive"));
    tool.open();
    stage.becomes(&id, &["working"], &alive("idle", "interactive"));

    terminal.send("MOCK:ask Which way?");
    waiting["waiting_for"] = json!("answer");
    stage.becomes(&id, &["idle", "working"], &waiting);
    stage.proved(&id);
    terminal.press(&["Escape"]);
    stage.becomes(&id, &["waiting", "working"], &alive("idle", "interactive"));
    assert_eq!(stage.tokens(&id), tokens(4));
    signal(Signal::KILL, pid);
    stage.becomes(&id, &["idle"], &ended("stopped", "interrupted"));
    assert_eq!(stage.agreed().len(), 1);
}

#[test]
fn an_interrupted_turn_leaves_it_idle_and_a_signal_ends_it_stopped() {
    let stage = Stage::opencode("allow");
    let terminal = stage.terminal();
    let gate = stage.sandbox.gate("never");
    terminal.send(&gate.until());
    stage.asked("until");
    let id = stage.only();
    let working = stage.becomes(&id, &["working"], &alive("working", "interactive"));
    let pid = is_real(&working, EXE);
    terminal.press(&["Escape"]);
    terminal.shows("again to interrupt");
    terminal.press(&["Escape"]);
    stage.becomes(&id, &["working"], &alive("idle", "interactive"));
    stage.proved(&id);
    terminal.send("MOCK:hang 100");
    stage.asked("hang");
    stage.becomes(&id, &["idle", "working"], &alive("working", "interactive"));
    signal(Signal::TERM, pid);
    stage.becomes(&id, &["working", "idle"], &ended("stopped", "interrupted"));
    stage.proved(&id);
}

#[test]
fn killed_in_a_tool_it_died() {
    let stage = Stage::opencode("allow");
    let terminal = stage.terminal();
    let tool = stage.sandbox.gate("tool");
    terminal.send(&format!("MOCK:tool {}", tool.tool()));
    stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
    let id = stage.only();
    let working = stage.becomes(&id, &["working"], &alive("working", "interactive"));
    signal(Signal::KILL, is_real(&working, EXE));
    stage.becomes(&id, &["working"], &ended("died", "killed or crashed"));
    stage.proved(&id);
}
