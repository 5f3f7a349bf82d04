//! Pi on a terminal.

use rustix::process::Signal;
use serde_json::json;
use std::time::{Duration, Instant};

use super::{NEW, OLD, held, rules, tokens};
use crate::support::{LIMIT, Stage, ended, signal};

#[test]
fn a_conversation_is_followed_from_state_to_state() {
    for line in [&NEW, &OLD] {
        let stage = Stage::new();
        let terminal = stage.chat_pi(line, &[]);
        let fresh = stage.unnamed(terminal.pid());
        let pid = line.is_real(&fresh);
        assert_eq!(fresh["cwd"], json!(stage.sandbox.work()));
        assert_eq!(stage.agreed().len(), 1);

        terminal.send("MOCK:text first answer");
        let id = stage.named(pid);
        let idle = stage.becomes(&id, &["working"], &held("idle"));
        assert_eq!(idle["last"], "first answer");
        assert!(rules(&idle).contains(&"inferred"), "{idle:#}");
        stage.proved(&id);

        let gate = stage.sandbox.gate("answer");
        terminal.send(&gate.until());
        stage.asked("until");
        stage.becomes(&id, &["idle", "working"], &held("working"));
        stage.proved(&id);
        gate.open();
        stage.becomes(&id, &["working"], &held("idle"));

        let tool = stage.sandbox.gate("tool");
        terminal.send(&format!("MOCK:tool {}", tool.tool()));
        stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
        stage.becomes(&id, &["working"], &held("working"));
        tool.open();
        stage.becomes(&id, &["working"], &held("idle"));
        assert_eq!(stage.tokens(&id), tokens(4));

        signal(Signal::KILL, pid);
        // While it goes, the kernel no longer tells where it worked.
        stage.becomes(&id, &["idle", "unknown"], &ended("done", "completed"));
        assert_eq!(stage.agreed().len(), 1);
    }
}

#[test]
fn an_interrupted_turn_leaves_it_idle_and_its_end_stopped() {
    for line in [&NEW, &OLD] {
        let stage = Stage::new();
        let terminal = stage.chat_pi(line, &[]);
        terminal.send("MOCK:text hello");
        let id = stage.named(terminal.pid());
        stage.asked("text hello"); // before that it is idle too, and then works
        stage.becomes(&id, &["working"], &held("idle"));
        let gate = stage.sandbox.gate("never");
        for script in [gate.until(), "MOCK:tool sleep 100".to_owned()] {
            terminal.send(&script);
            stage.asked(script.trim_start_matches("MOCK:"));
            stage.becomes(&id, &["idle", "working"], &held("working"));
            terminal.press(&["Escape"]);
            stage.becomes(&id, &["working"], &held("idle"));
            stage.proved(&id);
        }
        signal(Signal::TERM, terminal.pid());
        stage.becomes(&id, &["idle", "unknown"], &ended("stopped", "interrupted"));
        stage.proved(&id);
    }
}

#[test]
fn resumed_it_is_the_same_session_once_it_is_prompted() {
    let stage = Stage::new();
    let first = stage.print_pi(&NEW, &[], "MOCK:text once");
    assert!(first.wait(LIMIT).success(), "{first}");
    let id = stage.agreed()[0]["id"].as_str().expect("it has an id").to_owned();
    // The portable reader cuts the boot and the start to seconds: to it, a Pi that begins sooner may have begun before the last
    // write, and is then taken for its writer.
    let written = Instant::now();
    let is_clear = || (written.elapsed() >= Duration::from_secs(2)).then_some(());
    stage.sandbox.wait_for("start that is later by any clock", LIMIT, is_clear);

    let terminal = stage.chat_pi(&NEW, &["-c"]);
    let pid = NEW.is_real(&stage.unnamed(terminal.pid()));
    let doubt =
        json!({"state": "unknown", "live": false, "reason": format!("may be held by pid {pid}")});
    stage.becomes(&id, &[], &doubt);
    terminal.send("MOCK:text back again");
    let idle = stage.becomes(&id, &["unknown", "working"], &held("idle"));
    assert_eq!((NEW.is_real(&idle), &idle["last"]), (pid, &json!("back again")));
    assert_eq!(stage.agreed().len(), 1);
}
