//! Sessions that are taken up again, followed, or handed to Claude's own fleet.

use std::time::Instant;

use serde_json::{Value, json};

use super::{EXE, tokens};
use crate::support::{LIMIT, Stage, alive, ended, is_real, uuid};

#[test]
fn the_throwaway_id_of_continue_is_never_shown() {
    let stage = Stage::new();
    let id = uuid();
    assert!(stage.print(&id, "MOCK:text first").wait(LIMIT).success());
    let first = stage.becomes(&id, &[], &ended("done", "completed"));

    let gate = stage.sandbox.gate("answer");
    let claude = stage.printing(&["--continue"], &gate.until()).spawn();
    let start = Instant::now();
    let is_working = |row: &Value| row["id"] == id && row["state"] == "working";
    loop {
        let rows = stage.list(&["--all"]);
        let foreign: Vec<&Value> =
            rows.iter().filter(|row| !row["id"].is_null() && row["id"] != id).collect();
        assert!(foreign.is_empty(), "an id that is not its own: {:#}", json!(foreign));
        let own = rows.iter().filter(|row| row["id"] == id).count();
        let unnamed = rows.iter().filter(|row| row["id"].is_null()).count();
        assert!(own == 1 && unnamed <= 1, "more than one row for one session: {:#}", json!(rows));
        if rows.iter().any(is_working) && unnamed == 0 {
            break;
        }
        assert!(start.elapsed() < LIMIT, "{}", stage.sandbox.scene());
    }
    stage.asked("until");
    let working = stage.becomes(&id, &[], &alive("working", "headless"));
    assert_eq!(is_real(&working, EXE), claude.pid());
    assert_eq!(working["source"], first["source"]);
    gate.open();
    assert!(claude.wait(LIMIT).success(), "{claude}");
    stage.becomes(&id, &[], &ended("done", "completed"));
    assert_eq!(stage.tokens(&id), tokens(2));
}

#[test]
fn a_live_session_can_be_followed_to_its_end() {
    let stage = Stage::new();
    let (id, tool, answer) = (uuid(), stage.sandbox.gate("tool"), stage.sandbox.gate("answer"));
    let script = format!("MOCK:tool {}\n{}", tool.tool(), answer.until());
    let claude = stage.print(&id, &script);
    stage.asked("tool");
    stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
    stage.becomes(&id, &["working"], &alive("working", "headless"));
    let logs = stage.follow(&id);
    let expected = [("user", script.as_str()), ("call", "")];
    stage.sandbox.wait_for("call in the log", LIMIT, || {
        (logs.heard().len() >= expected.len()).then_some(())
    });
    assert_eq!(logs.program.ended(), None, "the session is alive");
    tool.open();
    stage.sandbox.wait_for("result in the log", LIMIT, || (logs.heard().len() > 2).then_some(()));
    assert_eq!(logs.program.ended(), None, "the session is alive");
    answer.open();
    assert!(claude.wait(LIMIT).success(), "{claude}");
    assert!(logs.program.wait(LIMIT).success(), "{}", logs.program);
    assert_eq!(logs.heard(), ["user", "call", "result", "assistant"]);
    stage.becomes(&id, &[], &ended("done", "completed"));
}

#[test]
fn a_worker_of_its_own_fleet_is_one_session_and_its_helpers_are_none() {
    let stage = Stage::new();
    let gate = stage.sandbox.gate("answer");
    let said = stage.sandbox.run(&["claude", "--bg", &gate.until()]).finish(LIMIT);
    let short = said.split_whitespace().find(|word| word.len() == 8 && is_hex(word));
    let short = short.unwrap_or_else(|| panic!("no short id in {said:?}"));
    stage.asked("until");
    let rows = stage.sandbox.wait_for("working worker", LIMIT, || {
        let rows = stage.agreed();
        rows.iter().any(|row| row["state"] == "working").then_some(rows)
    });
    let [worker] = rows.as_slice() else { panic!("one worker is {:#}", json!(rows)) };
    let id = worker["id"].as_str().expect("the worker has named its session").to_owned();
    assert!(id.starts_with(short), "{id} is not {short}");
    stage.becomes(&id, &[], &alive("working", "background"));
    is_real(worker, EXE);
    stage.proved(&id);
    gate.open();
    stage.becomes(&id, &["working"], &alive("idle", "background"));
    stage.sandbox.run(&["claude", "stop", short]).finish(LIMIT);
    stage.becomes(&id, &["idle", "unknown"], &ended("done", "completed"));
}

fn is_hex(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_hexdigit())
}
