//! Codex in its app-server: turns that are ended, allowed and denied by its own calls.

use serde_json::{Value, json};

use super::send::Daemon;
use crate::support::{LIMIT, Stage, alive};

#[test]
fn stop_ends_a_turn_and_leaves_the_server() {
    let stage = Stage::new();
    let mut daemon = Daemon::start(&stage);
    let how = json!({"cwd": stage.sandbox.work(), "sandbox": "danger-full-access"});
    let (id, other) = (daemon.thread(&how), daemon.thread(&how));
    let gate = stage.sandbox.gate("answer");
    stage.send(&other, &gate.until());
    let tool = stage.sandbox.gate("tool");
    stage.send(&id, &format!("MOCK:tool {}", tool.tool()));
    stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
    let stopped = stage.sandbox.agentctl(&["stop", &id, "--json"]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    let certificate: Value = stopped.json()["stopped"][0].clone();
    assert_eq!((&certificate["already"], &certificate["deaths"]), (&json!(false), &json!([])));
    let mut asked = certificate["asked"].clone();
    asked["process"] = asked["process"]["pid"].clone();
    let told = json!({
        "call": "turn/interrupt", "process": certificate["session"]["pid"],
        "before": "working", "after": "idle",
    });
    assert_eq!(asked, told, "{certificate:#}");
    stage.becomes(&id, &[], &alive("idle", "server"));
    stage.becomes(&other, &[], &alive("working", "server"));
    let again = stage.sandbox.agentctl(&["stop", &id, "--json"]);
    assert_eq!((again.code, &again.json()["stopped"][0]["already"]), (Some(0), &json!(true)));
    gate.open();
    stage.becomes(&other, &["working"], &alive("idle", "server"));
}

/// Its command is allowed, and has not begun yet: nothing tells that from a question.
const ANSWERED: &[&str] = &["working", "waiting"];

#[test]
fn approve_and_deny_answer_for_a_person() {
    let stage = Stage::new();
    let mut daemon = Daemon::start(&stage);
    let how = json!({
        "cwd": stage.sandbox.work(), "approvalPolicy": "on-request", "sandbox": "workspace-write",
    });
    let id = daemon.thread(&how);
    let mut waiting = alive("waiting", "server");
    waiting["waiting_for"] = json!("approval");
    for (verb, file, decision) in [("deny", "one", "denied"), ("approve", "two", "approved")] {
        let file = stage.sandbox.root().join(file);
        stage.send(&id, &format!("MOCK:escalate touch {}", file.display()));
        stage.becomes(&id, &["working", "idle"], &waiting);
        let decided = stage.sandbox.agentctl(&[verb, &id, "--json"]);
        assert_eq!(decided.code, Some(0), "{decided:?}");
        let told = decided.json();
        assert_eq!((&told["decision"], &told["goes_on"]), (&json!(decision), &json!(true)));
        let words = told["request"]["words"].as_str().expect("words");
        assert!(words.contains(&file.display().to_string()), "{told:#}");
        stage.becomes(&id, ANSWERED, &alive("idle", "server"));
        assert_eq!(file.exists(), verb == "approve", "{}", file.display());
    }
    let (first, second) = (stage.sandbox.root().join("a"), stage.sandbox.root().join("b"));
    let both = [&first, &second].map(|file| format!("MOCK:escalate touch {}", file.display()));
    stage.send(&id, &both.join("\n"));
    for file in [&first, &second] {
        // Until its command begins, one that was answered looks like one that is asked.
        let decided = stage.sandbox.wait_for("question", LIMIT, || {
            let decided = stage.sandbox.agentctl(&["approve", &id]);
            (decided.code == Some(0)).then_some(decided)
        });
        assert!(decided.stdout.contains(&*file.to_string_lossy()), "{decided:?}");
    }
    stage.becomes(&id, ANSWERED, &alive("idle", "server"));
    assert!(first.exists() && second.exists());
    let nothing = stage.sandbox.agentctl(&["approve", &id]);
    assert_eq!(nothing.code, Some(5), "{nothing:?}");
}
