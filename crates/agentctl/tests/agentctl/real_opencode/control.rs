//! OpenCode in its server: turns that are ended, allowed and denied by its own calls.

use serde_json::json;

use super::serve::Server;
use crate::support::{LIMIT, Stage, alive, ended};

#[test]
fn stop_ends_a_turn_and_leaves_the_server() {
    let stage = Stage::opencode("allow");
    let server = Server::start(&stage, &[]);
    let (work, side) = (stage.sandbox.work(), stage.sandbox.dir("side"));
    let (id, other) = (server.session(&work), server.session(&side));
    let (tool, gate) = (stage.sandbox.gate("tool"), stage.sandbox.gate("answer"));
    server.prompt(&id, &work, &format!("MOCK:tool {}", tool.tool()));
    server.prompt(&other, &side, &gate.until());
    stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
    stage.asked("until");
    stage.served(&id, &alive("working", "server"));
    let stopped = stage.sandbox.agentctl(&["stop", &id, "--json"]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    let certificate = &stopped.json()["stopped"][0];
    assert_eq!(certificate["deaths"], json!([]));
    let asked = &certificate["asked"];
    assert_eq!(asked["call"], "POST /session/ID/abort");
    assert_eq!((&asked["before"], &asked["after"]), (&json!("working"), &json!("stopped")));
    stage.served(&id, &ended("stopped", "interrupted"));
    stage.served(&other, &alive("working", "server"));
    gate.open();
    stage.served(&other, &ended("done", "completed"));
}

#[test]
fn approve_and_deny_answer_for_a_person() {
    let stage = Stage::opencode("ask");
    let server = Server::start(&stage, &[]);
    let work = stage.sandbox.work();
    let mut waiting = alive("waiting", "server");
    waiting["waiting_for"] = json!("approval");
    for (verb, file) in [("deny", "one"), ("approve", "two")] {
        let id = server.session(&work);
        let file = work.join(file);
        server.prompt(&id, &work, &format!("MOCK:tool touch {}", file.display()));
        stage.asked(&format!("tool touch {}", file.display()));
        stage.served(&id, &waiting);
        let decided = stage.sandbox.agentctl(&[verb, &id, "--json"]);
        assert_eq!(decided.code, Some(0), "{decided:?}");
        let words = format!("bash: touch {}", file.display());
        assert_eq!(decided.json()["request"]["words"], words);
        stage.sandbox.wait_for("end of the turn", LIMIT, || {
            (stage.one("status", &id)?["live"] == false).then_some(())
        });
        assert_eq!(file.exists(), verb == "approve", "{}", file.display());
    }
}
