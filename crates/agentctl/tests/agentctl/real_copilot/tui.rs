//! Copilot on a terminal.

use rustix::process::Signal;
use serde_json::json;

use super::{EXE, tokens};
use crate::support::{LIMIT, Stage, alive, ended, is_real, signal};

#[test]
fn a_conversation_is_followed_from_state_to_state() {
    let stage = Stage::new();
    let (terminal, id) = stage.copilot_chat(&[]);
    let fresh = stage.becomes(&id, &[], &alive("idle", "interactive"));
    let pid = is_real(&fresh, EXE);
    assert_eq!((&fresh["source"], &fresh["cwd"]), (&json!(null), &json!(stage.sandbox.work())));
    stage.proved(&id);

    let gate = stage.sandbox.gate("answer");
    terminal.send(&gate.until());
    stage.asked("until");
    stage.becomes(&id, &["idle", "working"], &alive("working", "interactive"));
    stage.proved(&id);
    gate.open();
    let idle = stage.becomes(&id, &["working"], &alive("idle", "interactive"));
    assert_eq!(idle["last"], "released");

    let done = stage.sandbox.work().join("touched");
    terminal.send(&format!("MOCK:tool touch {}", done.display()));
    stage.asked("tool");
    let mut waiting = alive("waiting", "interactive");
    waiting["waiting_for"] = json!("approval");
    stage.becomes(&id, &["idle", "working"], &waiting);
    assert!(!done.exists(), "nobody has allowed it yet");
    stage.proved(&id);
    terminal.shows("Do you want to run this command?");
    terminal.press(&["Enter"]);
    stage.becomes(&id, &["waiting", "working"], &alive("idle", "interactive"));
    assert!(done.exists(), "it was allowed");
    assert_eq!(stage.tokens(&id), tokens(3));

    signal(Signal::KILL, pid);
    stage.becomes(&id, &["idle"], &ended("done", "completed"));
    assert_eq!(stage.agreed().len(), 1);
}

#[test]
fn a_question_waits_for_an_answer() {
    let stage = Stage::new();
    let (terminal, id) = stage.copilot_chat(&[]);
    let way = json!({"type": "string", "enum": ["left", "right"]});
    let schema = json!({"type": "object", "properties": {"way": way}, "required": ["way"]});
    let question = json!({"message": "Which way?", "requestedSchema": schema});
    terminal.send(&format!("MOCK:call ask_user {question}"));
    stage.asked("call");
    let mut waiting = alive("waiting", "interactive");
    waiting["waiting_for"] = json!("answer");
    is_real(&stage.becomes(&id, &["idle", "working"], &waiting), EXE);
    stage.proved(&id);
    terminal.shows("Copilot needs information");
    terminal.press(&["Enter"]);
    let idle = stage.becomes(&id, &["waiting", "working"], &alive("idle", "interactive"));
    assert_eq!(idle["last"], "done");
}

#[test]
fn an_interrupted_turn_leaves_it_idle_and_its_end_stopped() {
    let stage = Stage::new();
    let (terminal, id) = stage.copilot_chat(&[]);
    terminal.send("MOCK:tool touch never");
    stage.asked("tool");
    terminal.shows("Do you want to run this command?");
    terminal.press(&["Escape"]);
    let through = ["idle", "working", "waiting"];
    let idle = stage.becomes(&id, &through, &alive("idle", "interactive"));
    stage.proved(&id);
    signal(Signal::TERM, is_real(&idle, EXE));
    stage.becomes(&id, &["idle"], &ended("stopped", "interrupted"));
    stage.proved(&id);
}

#[test]
fn killed_in_a_tool_it_died_and_resumed_on_a_terminal_it_is_idle() {
    let stage = Stage::new();
    let (terminal, id) = stage.copilot_chat(&["--allow-all-tools", "--allow-all-paths"]);
    let tool = stage.sandbox.gate("tool");
    terminal.send(&format!("MOCK:tool {}", tool.tool()));
    stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
    let working = stage.becomes(&id, &["idle", "working"], &alive("working", "interactive"));
    signal(Signal::KILL, is_real(&working, EXE));
    stage.becomes(&id, &["working"], &ended("died", "killed or crashed"));

    let (again, same) = stage.copilot_chat(&[&format!("--resume={id}")]);
    assert_eq!(same, id);
    let idle = stage.becomes(&id, &["died"], &alive("idle", "interactive"));
    let pid = is_real(&idle, EXE);
    stage.proved(&id);
    again.send("MOCK:text back again");
    let said = json!({"state": "idle", "last": "back again"});
    stage.becomes(&id, &["idle", "working"], &said);
    signal(Signal::TERM, pid);
    stage.becomes(&id, &["idle"], &ended("done", "completed"));
    assert_eq!(stage.agreed().len(), 1);
}
