//! `pi -p`: one prompt, one process.

use rustix::process::Signal;
use serde_json::json;

use super::{NEW, OLD, held, rules, tokens};
use crate::support::{LIMIT, Stage, ended, signal, uuid};

#[test]
fn a_held_answer_is_work_and_then_done() {
    let (stage, id) = (Stage::new(), uuid());
    let gate = stage.sandbox.gate("answer");
    let pi = stage.print_pi(&NEW, &["--session-id", &id], &gate.until());
    stage.asked("until");
    let working = stage.becomes(&id, &["working"], &held("working"));
    assert_eq!(NEW.is_real(&working), pi.pid());
    assert_eq!(working["cwd"], json!(stage.sandbox.work()));
    assert!(rules(&working).contains(&"inferred"), "{working:#}");
    let checks = stage.proved(&id);
    gate.open();
    assert!(pi.wait(LIMIT).success(), "{pi}");
    let done = stage.becomes(&id, &["idle", "unknown"], &ended("done", "completed"));
    assert_eq!((&done["last"], &done["model"]), (&json!("released"), &json!("mock-1")));
    assert_eq!(stage.tokens(&id), tokens(1));
    let cost = stage.one("status", &id).expect("it is there")["cost_usd"].as_f64();
    assert!(cost.is_some_and(|cost| (cost - 0.00261).abs() < 1e-9), "{cost:?}");
    assert!(!checks.is_empty() && checks.iter().all(|check| !stage.holds(check)), "{checks:#?}");
    stage.proved(&id);
}

#[test]
fn in_its_first_turn_the_old_one_names_no_session() {
    let stage = Stage::new();
    let gate = stage.sandbox.gate("answer");
    let pi = stage.print_pi(&OLD, &[], &gate.until());
    stage.asked("until");
    let unnamed = stage.unnamed(pi.pid());
    OLD.is_real(&unnamed);
    assert_eq!((&unnamed["state"], &unnamed["kind"]), (&json!("unknown"), &json!(null)));
    assert_eq!(stage.agreed().len(), 1);
    gate.open();
    assert!(pi.wait(LIMIT).success(), "{pi}");
    let all = stage.agreed();
    assert_eq!(
        (all.len(), &all[0]["state"], &all[0]["last"]),
        (1, &json!("done"), &json!("released"))
    );
}

#[test]
fn killed_in_a_tool_it_died_and_resumed_it_is_the_same_session() {
    for line in [&NEW, &OLD] {
        let stage = Stage::new();
        let tool = stage.sandbox.gate("tool");
        let pi = stage.print_pi(line, &[], &format!("MOCK:tool {}", tool.tool()));
        stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
        let id = stage.named(pi.pid());
        let working = stage.becomes(&id, &["working"], &held("working"));
        let inferred = rules(&working).contains(&"inferred");
        assert_eq!(inferred, line.variable == OLD.variable, "{working:#}");
        let checks = stage.proved(&id);
        signal(Signal::KILL, line.is_real(&working));
        pi.wait(LIMIT);
        let died = stage.becomes(&id, &["unknown"], &ended("died", "killed or crashed"));
        assert!(checks.iter().all(|check| !stage.holds(check)), "{checks:#?}");
        stage.proved(&id); // also while the orphaned tool still runs
        tool.open();

        let answer = stage.sandbox.gate("answer");
        let again = stage.print_pi(line, &["-c"], &answer.until());
        stage.asked("until");
        let working = stage.becomes(&id, &["died", "working"], &held("working"));
        assert_eq!((line.is_real(&working), &working["source"]), (again.pid(), &died["source"]));
        answer.open();
        assert!(again.wait(LIMIT).success(), "{again}");
        stage.becomes(&id, &["idle", "unknown"], &ended("done", "completed"));
        assert_eq!(stage.tokens(&id), tokens(2));
        assert_eq!(stage.agreed().len(), 1, "a resumed session is one session");
    }
}

#[test]
fn a_refused_call_fails_the_session() {
    for line in [&NEW, &OLD] {
        let stage = Stage::new();
        let pi = stage.print_pi(line, &[], "MOCK:err 401");
        assert_eq!(pi.wait(LIMIT).code(), Some(1), "{pi}");
        stage.asked("err 401");
        let all = stage.agreed();
        let [failed] = all.as_slice() else { panic!("not one session: {all:#?}") };
        assert_eq!((&failed["state"], &failed["status"]), (&json!("failed"), &json!("error")));
        assert!(failed["outcome"].as_str().is_some_and(|why| why.contains("401")), "{failed:#}");
        stage.proved(failed["id"].as_str().expect("it has an id"));
    }
}

#[test]
fn a_try_after_a_failure_is_work_where_it_is_written_down() {
    let (stage, id) = (Stage::new(), uuid());
    let pi = stage.print_pi(&NEW, &["--session-id", &id], "MOCK:err 503 3");
    stage.asked("err 503");
    let file = stage.becomes(&id, &["idle", "working"], &held("working"))["source"].clone();
    let file = file.as_str().expect("it has a file").to_owned();
    // Before the third try it waits longest: 8 s.
    stage.sandbox.wait_for("third edit of the context", LIMIT, || {
        let text = std::fs::read_to_string(&file).ok()?;
        (text.matches("\"type\":\"context_edit\"").count() == 3).then_some(())
    });
    stage.becomes(&id, &[], &held("working"));
    stage.proved(&id);
    assert!(pi.wait(LIMIT).success(), "{pi}");
    let done = stage.becomes(&id, &["idle", "unknown"], &ended("done", "completed"));
    assert_eq!(done["last"], "recovered");
}

#[test]
fn a_try_after_a_failure_is_unknown_where_it_is_not() {
    let stage = Stage::new();
    // The first three are tried again by its model library, unseen.
    let pi = stage.print_pi(&OLD, &[], "MOCK:err 503 3");
    let id = stage.named(pi.pid());
    let reason = "it may be trying again after: 503 scripted 503";
    let expected = json!({"state": "unknown", "live": true, "reason": reason});
    OLD.is_real(&stage.becomes(&id, &[], &expected));
    assert!(pi.wait(LIMIT).success(), "{pi}");
    let done = stage.becomes(&id, &["idle", "unknown"], &ended("done", "completed"));
    assert_eq!(done["last"], "recovered");
}

#[test]
fn signals_end_it_in_the_midst_of_an_answer() {
    let stage = Stage::new();
    let gate = stage.sandbox.gate("never");
    let ways = [(Signal::TERM, Some(143)), (Signal::INT, None)];
    for (way, code) in ways {
        let id = uuid();
        let pi = stage.print_pi(&NEW, &["--session-id", &id], &gate.until());
        NEW.is_real(&stage.becomes(&id, &["working"], &held("working")));
        stage.asked("until");
        pi.signal(way);
        assert_eq!(pi.wait(LIMIT).code(), code, "{pi}");
        stage.becomes(&id, &["working", "unknown"], &ended("died", "killed or crashed"));
        stage.proved(&id);
    }
    assert_eq!(stage.agreed().len(), ways.len());
}

#[test]
fn which_of_two_in_one_directory_has_a_session_is_not_guessed() {
    let (stage, one, two) = (Stage::new(), uuid(), uuid());
    let gates = ["one", "two"].map(|name| stage.sandbox.gate(name));
    let first = stage.print_pi(&NEW, &["--session-id", &one], &gates[0].until());
    stage.becomes(&one, &["working"], &held("working"));
    let second = stage.print_pi(&NEW, &["--session-id", &two], &gates[1].until());
    stage.asked(&format!("until {}", gates[1].path().display()));
    let unknown = json!({"state": "unknown", "live": false, "pid": null});
    for id in [&one, &two] {
        let unknown = stage.becomes(id, &["working"], &unknown);
        let reason = unknown["reason"].as_str().expect("it says why");
        assert!(reason.starts_with("may be held by pid"), "{reason}");
        stage.proved(id);
    }
    for pid in [first.pid(), second.pid()] {
        NEW.is_real(&stage.unnamed(pid));
    }
    gates.iter().for_each(|gate| gate.open());
    for (pi, id) in [(first, one), (second, two)] {
        assert!(pi.wait(LIMIT).success(), "{pi}");
        stage.becomes(&id, &["unknown", "idle"], &ended("done", "completed"));
    }
}

#[test]
fn a_tool_tells_which_of_two_has_its_session() {
    let (stage, one, two) = (Stage::new(), uuid(), uuid());
    let (answer, tool) = (stage.sandbox.gate("answer"), stage.sandbox.gate("tool"));
    let first = stage.print_pi(&NEW, &["--session-id", &one], &answer.until());
    stage.becomes(&one, &["working"], &held("working"));
    let script = format!("MOCK:tool {}", tool.tool());
    let second = stage.print_pi(&NEW, &["--session-id", &two], &script);
    stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
    let by_tool = stage.becomes(&two, &["unknown"], &held("working"));
    assert_eq!(
        (by_tool["pid"].as_u64(), rules(&by_tool).contains(&"inferred")),
        (Some(second.pid().into()), false)
    );
    // The other is then the only one left for the other session.
    let inferred = stage.becomes(&one, &["unknown"], &held("working"));
    assert_eq!(NEW.is_real(&inferred), first.pid());
    tool.open();
    answer.open();
    for (pi, id) in [(first, one), (second, two)] {
        assert!(pi.wait(LIMIT).success(), "{pi}");
        let through = ["unknown", "idle", "working"];
        stage.becomes(&id, &through, &ended("done", "completed"));
    }
}
