//! What the end of a rollout tells of its newest turn, and what both ends tell of its thread.

use super::{ID, codex, event, item, line, read, rollout, text, with};
use agentctl_core::{
    agent::Depth,
    evidence::{Ending, Pending, Record, Tokens, Turn},
    proof::Source,
};
use serde_json::{Value, json};

fn meta(more: &Value) -> Value {
    let payload = json!({"id": ID, "timestamp": "2026-11-15T18:14:03Z", "cwd": "/made",
        "cli_version": "0.166.0", "git": {"branch": "topic"}});
    line("session_meta", with(payload, more))
}

fn context(more: &Value) -> Value {
    let payload = json!({"cwd": "/work", "model": "m", "approval_policy": "on-request"});
    line("turn_context", with(payload, more))
}

fn starts() -> Value {
    event("task_started", json!({}))
}

fn done(said: &str) -> Value {
    event("task_complete", json!({"last_agent_message": said}))
}

fn used(output: u64) -> Value {
    let usage = json!({"input_tokens": 50, "cached_input_tokens": 20, "output_tokens": output});
    line("token_usage_record", json!({"thread_token_usage": usage}))
}

/// The newest turn of these bytes, which is the same for whoever asks for nothing else, but for a call that needs leave.
fn turn(text: &str) -> Option<Turn> {
    let (machine, stub) = rollout(text);
    let glance = codex().read(&machine, &stub, Depth::Glance).ok().map(|record| record.turn);
    let alone = codex().turn(&machine, &stub).ok();
    match &glance {
        Some(Turn::Open { pending: Pending::ApprovalUnless { .. }, .. }) => {}
        _ => assert_eq!(alone, glance),
    }
    glance
}

fn pending(lines: &[Value]) -> Option<Pending> {
    match turn(&text(lines)) {
        Some(Turn::Open { pending, .. }) => Some(pending),
        Some(Turn::Ended { .. }) => None,
        other => panic!("no turn was found: {other:?}"),
    }
}

#[test]
fn both_ends_of_a_rollout_tell_of_the_thread() {
    let more = json!({"parent_thread_id": "p", "forked_from_id": "f"});
    let lines = [
        meta(&more),
        starts(),
        context(&json!({})),
        item("UserMessage", "hello"),
        used(7),
        item("AgentMessage", "hi"),
        with(done("hi"), &json!({"timestamp": "2026-11-15T18:15:00Z"})),
    ];
    let ended = "2026-11-15T18:15:00Z".parse().expect("a time");
    let path = rollout("").1.path;
    let turn = Turn::Ended {
        at: ended,
        how: Ending::Completed,
        line: Source::Line {
            path,
            offset: text(&lines[..6]).len() as u64,
            shows: "\"type\":\"task_complete\"".to_owned(),
            without: vec!["\"type\":\"task_started\"".to_owned()],
        },
    };
    let record = Record {
        cwd: Some("/work".into()),
        branch: Some("topic".to_owned()),
        model: Some("m".to_owned()),
        prompt: Some("hello".to_owned()),
        last: Some("hi".to_owned()),
        version: Some("0.166.0".to_owned()),
        started: "2026-11-15T18:14:03Z".parse().ok(),
        updated: Some(ended),
        tokens: Some(Tokens { input: 30, output: 7, cache_read: 20, cache_write: 0 }),
        parent: Some("p".to_owned()),
        forked_from: Some("f".to_owned()),
        ..Record::of(turn)
    };
    assert_eq!(read(&lines), record);
}

#[test]
fn only_a_rollout_of_which_no_line_is_understood_is_an_error() {
    assert_eq!(turn("garbage\n"), None);
    assert_eq!(turn(""), Some(Turn::None));
    let whole = text(&[starts(), done("hi")]);
    // The last line is still being written.
    assert_eq!(turn(&format!("{whole}{{\"type\":")), turn(&whole));
    let archived = |name: &str| {
        let (mut machine, mut stub) = rollout(&whole);
        machine.file(name, whole.as_bytes());
        stub.path = name.into();
        let record = codex().read(&machine, &stub, Depth::Glance).map(|record| record.archived);
        assert_eq!(codex().turn(&machine, &stub).is_ok(), record.is_ok());
        record.ok()
    };
    assert_eq!(archived("/store/archived_sessions/rollout.jsonl"), Some(true));
    assert_eq!(archived("/store/sessions/rollout.jsonl"), Some(false));
    assert_eq!(archived("/store/sessions/rollout.jsonl.zst"), None);
}

#[test]
fn the_newest_turn_is_told_by_how_it_began_or_ended() {
    let ended = |lines: &[Value]| match turn(&text(lines)) {
        Some(Turn::Ended { how, .. }) => Some(how),
        _ => None,
    };
    let aborted = || event("turn_aborted", json!({"reason": "interrupted"}));
    assert_eq!(ended(&[starts(), aborted()]), Some(Ending::Interrupted));
    assert_eq!(ended(&[starts(), done("hi"), starts(), aborted()]), Some(Ending::Interrupted));
    assert_eq!(ended(&[starts(), aborted(), starts(), done("hi")]), Some(Ending::Completed));
    assert_eq!(ended(&[starts(), done("hi"), starts()]), None);
    let failed = event("task_complete", json!({"error": {"message": "no\nmore"}}));
    assert_eq!(ended(&[starts(), failed]), Some(Ending::Failed("no more".to_owned())));
}

/// Of a turn that has only just begun, the one before it tells what was said and used.
#[test]
fn what_a_new_turn_does_not_tell_yet_an_older_one_tells() {
    let older = [starts(), context(&json!({})), used(7), done("hi")];
    let lines = |newer: &[Value]| [&older[..], newer].concat();
    let told = |lines: &[Value]| {
        let record = read(lines);
        let used = record.tokens.map(|all| all.output);
        let cwd = record.cwd.map(|cwd| cwd.display().to_string());
        (cwd, record.model, record.last, used)
    };
    let some = |cwd: &str| {
        let said = Some("hi".to_owned());
        (Some(cwd.to_owned()), Some("m".to_owned()), said, Some(7))
    };
    assert_eq!(told(&lines(&[starts()])), some("/work"));
    assert_eq!(told(&lines(&[starts(), context(&json!({"cwd": "/b"}))])), some("/b"));
    let without_model = context(&json!({"cwd": "/b", "model": null}));
    assert_eq!(told(&lines(&[starts(), without_model])), some("/b"));
    let without_cwd = context(&json!({"cwd": null}));
    assert_eq!(told(&lines(&[starts(), without_cwd])), some("/work"));
}

#[test]
fn the_last_words_are_those_of_the_model_in_either_format() {
    let last = |lines: &[Value]| read(lines).last;
    let old = |kind: &str, text: &str| event(kind, json!({"message": text}));
    let legacy = [starts(), old("user_message", "hello"), old("agent_message", "I look")];
    assert_eq!(last(&legacy).as_deref(), Some("I look"));
    let new = [starts(), item("AgentMessage", "I look"), item("UserMessage", "more")];
    assert_eq!(last(&new).as_deref(), Some("I look"));
    let later = [starts(), item("AgentMessage", "I look"), done("so it is"), starts()];
    assert_eq!(last(&later).as_deref(), Some("so it is"));
}

#[test]
fn the_first_prompt_is_what_a_person_asked_for() {
    let prompt = |lines: &[Value]| read(lines).prompt;
    let spoken = item("AgentMessage", "`UserMessage` is one of its types");
    let new = [meta(&json!({})), spoken, item("UserMessage", "hello"), item("UserMessage", "more")];
    assert_eq!(prompt(&new).as_deref(), Some("hello"));
    let old = [meta(&json!({})), event("user_message", json!({"message": "hello"}))];
    assert_eq!(prompt(&old).as_deref(), Some("hello"));
    // Only the beginning is searched.
    let late = |between: usize| {
        let mut lines = vec![starts(); between];
        lines.push(item("UserMessage", "hello"));
        prompt(&lines)
    };
    assert_eq!(late(59).as_deref(), Some("hello"));
    assert_eq!(late(60), None);
}

fn call(name: &str, id: &str) -> Value {
    line("response_item", json!({"type": "function_call", "name": name, "call_id": id}))
}

fn output(id: &str) -> Value {
    line("response_item", json!({"type": "function_call_output", "call_id": id}))
}

#[test]
fn a_question_waits_until_it_is_answered_whatever_else_is() {
    let asks = || call("request_user_input", "q");
    assert_eq!(pending(&[starts(), asks()]), Some(Pending::Answer));
    assert_eq!(pending(&[starts(), asks(), output("other")]), Some(Pending::Answer));
    assert_eq!(pending(&[starts(), asks(), output("q")]), Some(Pending::Nothing));
    assert_eq!(pending(&[starts(), asks(), starts()]), Some(Pending::Nothing));
    // What carries an id and is no call asks nothing.
    let ended = json!({"type": "function_call_end", "name": "request_user_input", "call_id": "q"});
    assert_eq!(pending(&[starts(), line("response_item", ended)]), Some(Pending::Nothing));
}

/// 0.166 gives the process of a command the id of its call, and 0.140 does not.
#[test]
fn a_command_may_wait_for_leave_where_its_process_would_tell() {
    let waits = |version: &str, policy: &str, calls: &[Value]| {
        let mut lines = vec![meta(&json!({"cli_version": version})), starts()];
        lines.push(context(&json!({"approval_policy": policy})));
        lines.extend_from_slice(calls);
        pending(&lines)
    };
    let command = || [call("exec_command", "c")];
    let unless = Some(Pending::ApprovalUnless {
        variable: "CODEX_TOOL_CALL_ID".to_owned(),
        values: vec!["c".to_owned()],
    });
    let nothing = Some(Pending::Nothing);
    assert_eq!(waits("0.166.0", "on-request", &command()), unless);
    assert_eq!(waits("1.0.0", "on-request", &command()), unless);
    assert_eq!(waits("0.140.0", "on-request", &command()), nothing);
    assert_eq!(waits("0.166.0", "never", &command()), nothing);
    assert_eq!(waits("0.166.0", "on-request", &[call("update_plan", "c")]), nothing);
    let answered = [call("exec_command", "c"), output("c")];
    assert_eq!(waits("0.166.0", "on-request", &answered), nothing);
}
