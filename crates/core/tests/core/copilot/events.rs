//! What events tell of a session and of its newest turn, and what is counted of them.

use super::{ID, STORE, copilot, event, folder, read, store, text};
use crate::world::{Machine, at};
use agentctl_core::{
    agent::Depth,
    evidence::{Ending, Pending, Record, Tokens, Turn},
    observe::{History, Recall, Survey},
    proof::Source,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path};

fn asks(second: i64) -> Value {
    event(second, "user.message", json!({"content": "hello"}))
}

fn begins(second: i64) -> Value {
    event(second, "assistant.turn_start", json!({}))
}

fn ends(second: i64) -> Value {
    event(second, "assistant.turn_end", json!({}))
}

fn says(second: i64, text: &str) -> Value {
    let data = json!({"model": "m", "content": text, "toolRequests": []});
    event(second, "assistant.message", data)
}

/// It says this and asks for a tool.
fn calls(second: i64, text: &str) -> Value {
    let data = json!({"model": "m", "content": text, "toolRequests": [{"toolCallId": "c"}]});
    event(second, "assistant.message", data)
}

fn tool(second: i64, name: &str) -> Value {
    event(second, "tool.execution_start", json!({"toolCallId": "c", "toolName": name}))
}

fn exits(second: i64) -> Value {
    event(second, "session.shutdown", json!({}))
}

/// The line that shows a turn.
fn shown(events: &[Value], index: usize) -> Source {
    Source::Line {
        path: format!("{}/events.jsonl", folder(ID)).into(),
        offset: text(&events[..index]).len() as u64,
        shows: events[index]["id"].as_str().expect("it has one").to_owned(),
        without: Vec::new(),
    }
}

/// An open turn was last alive with that event, and a closed one ended with it.
fn open(events: &[Value], index: usize, pending: Pending) -> Turn {
    let alive = events[index]["timestamp"].as_str().and_then(|at| at.parse().ok());
    Turn::Open { alive: alive.expect("a time"), pending, line: shown(events, index) }
}

fn ended(events: &[Value], index: usize, how: Ending) -> Turn {
    let at = events[index]["timestamp"].as_str().and_then(|at| at.parse().ok());
    Turn::Ended { at: at.expect("a time"), how, line: shown(events, index) }
}

fn turn(events: &[Value]) -> Turn {
    read(&store(&text(events))).turn
}

#[test]
fn both_ends_of_the_events_tell_of_the_session_and_its_workspace_of_where_it_is() {
    let start = json!({"startTime": at(1).to_string(), "copilotVersion": "1.0.102",
        "context": {"cwd": "/made"}});
    let first = event(2, "session.start", start);
    let events = [first, asks(3), begins(4), says(5, "hi"), ends(6)];
    let mut machine = store(&text(&events));
    let record = Record {
        cwd: Some("/made".into()),
        model: Some("m".to_owned()),
        prompt: Some("hello".to_owned()),
        last: Some("hi".to_owned()),
        version: Some("1.0.102".to_owned()),
        started: Some(at(1)),
        updated: Some(at(6)),
        ..Record::of(ended(&events, 4, Ending::Completed))
    };
    assert_eq!(read(&machine), record);
    let workspace = format!("{}/workspace.yaml", folder(ID));
    machine.file(&workspace, b"id: x\ncwd: /moved\nname: a name\nbranch: topic\n");
    let beside = Record {
        cwd: Some("/moved".into()),
        title: Some("a name".to_owned()),
        branch: Some("topic".to_owned()),
        ..record.clone()
    };
    assert_eq!(read(&machine), beside);
    machine.closed = vec![workspace.into()];
    assert_eq!(read(&machine), Record { elsewhere: true, ..record });
}

#[test]
fn a_turn_is_open_since_its_prompt_and_alive_with_what_was_written_last() {
    let events = [asks(1), begins(2), calls(3, ""), tool(4, "bash")];
    for last in 0..4 {
        let events = &events[..=last];
        assert_eq!(turn(events), open(events, last, Pending::Nothing), "{last}");
    }
    let done = event(5, "tool.execution_complete", json!({"toolCallId": "c"}));
    let mut goes_on = [&events[..], &[done, ends(6)]].concat();
    assert_eq!(turn(&goes_on), open(&goes_on, 5, Pending::Nothing));
    goes_on.push(begins(7));
    assert_eq!(turn(&goes_on), open(&goes_on, 6, Pending::Nothing));
    assert_eq!(turn(&[event(1, "session.start", json!({}))]), Turn::None);
}

#[test]
fn a_turn_ends_with_a_call_without_tools_an_interruption_or_an_error() {
    let done = [asks(1), begins(2), says(3, "hi"), ends(4), exits(5)];
    assert_eq!(turn(&done), ended(&done, 3, Ending::Completed));
    let aborted = [asks(1), begins(2), calls(3, ""), event(4, "abort", json!({})), exits(5)];
    assert_eq!(turn(&aborted), ended(&aborted, 3, Ending::Interrupted));
    let error = event(4, "session.error", json!({"message": "no\nmore"}));
    let failed = [asks(1), begins(2), ends(3), error, exits(5)];
    assert_eq!(turn(&failed), ended(&failed, 3, Ending::Failed("no more".to_owned())));
}

/// 1.0.102: a process that goes writes its exit down, unless it is killed.
#[test]
fn an_exit_interrupts_what_it_leaves_open_and_nothing_that_was_left_open_before() {
    let left = [asks(1), begins(2), exits(3)];
    let line = shown(&left, 2);
    assert_eq!(turn(&left), Turn::Ended { at: at(2), how: Ending::Interrupted, line });
    let killed = [asks(1), begins(2), event(3, "session.resume", json!({})), exits(4)];
    assert_eq!(turn(&killed), open(&killed, 1, Pending::Nothing));
}

#[test]
fn a_question_waits_until_it_is_answered_whatever_is_said_meanwhile() {
    let pending = |events: &[Value]| {
        let all = [&[asks(1), begins(2)], events].concat();
        match turn(&all) {
            Turn::Open { pending, .. } => pending,
            other => panic!("it is open: {other:?}"),
        }
    };
    let answered = |id: &str| event(5, "tool.execution_complete", json!({"toolCallId": id}));
    assert_eq!(pending(&[tool(3, "ask_user")]), Pending::Answer);
    assert_eq!(pending(&[tool(3, "ask_user"), answered("other")]), Pending::Answer);
    assert_eq!(pending(&[tool(3, "ask_user"), answered("c")]), Pending::Nothing);
    assert_eq!(pending(&[tool(3, "bash")]), Pending::Nothing);
    let leave = |kind: &str, id: &str| event(4, kind, json!({"requestId": id}));
    let wanted = || leave("permission.requested", "r");
    assert_eq!(pending(&[wanted()]), Pending::Approval);
    assert_eq!(pending(&[wanted(), leave("permission.completed", "s")]), Pending::Approval);
    assert_eq!(pending(&[wanted(), leave("permission.completed", "r")]), Pending::Nothing);
    assert_eq!(pending(&[wanted(), calls(6, "meanwhile")]), Pending::Approval);
}

#[test]
fn what_an_older_turn_asked_died_with_it() {
    let wanted = event(3, "permission.requested", json!({"requestId": "r"}));
    let resumed = event(4, "session.resume", json!({}));
    let events = [asks(1), begins(2), wanted, resumed, asks(5)];
    assert_eq!(turn(&events), open(&events, 4, Pending::Nothing));
}

#[test]
fn the_last_words_and_the_model_are_those_of_the_main_agent() {
    let said = |events: &[Value]| {
        let record = read(&store(&text(events)));
        (record.last, record.model)
    };
    let hi = || (Some("hi".to_owned()), Some("m".to_owned()));
    let older = [asks(1), begins(2), says(3, "hi"), ends(4)];
    assert_eq!(said(&[&older[..], &[asks(5)]].concat()), hi());
    let silent = [asks(5), begins(6), calls(7, "")];
    assert_eq!(said(&[&older[..], &silent].concat()), hi());
    let mut other = says(5, "I am another");
    other["agentId"] = "a".into();
    assert_eq!(said(&[asks(1), says(2, "hi"), other]), hi());
}

fn billed(output: u64) -> Value {
    let usage = json!({"inputTokens": 50, "cacheReadTokens": 20, "cacheWriteTokens": 3,
        "outputTokens": output});
    event(5, "session.usage_record", json!({"usage": usage}))
}

#[test]
fn every_call_of_a_model_is_counted() {
    let machine =
        store(&text(&[asks(1), billed(7), says(2, "\"session.usage_record\""), billed(5)]));
    let stub = copilot().find(&machine, Path::new(STORE), ID, None).remove(0);
    let record = copilot().read(&machine, &stub, Depth::Whole).expect("it can be read");
    let tokens = Tokens { input: 60, output: 12, cache_read: 40, cache_write: 6 };
    assert_eq!(record.tokens, Some(tokens));
}

#[test]
fn what_was_counted_is_kept_apart_from_the_rest_and_told_again() {
    let counted = |machine: &Machine| {
        let env = BTreeMap::from([("COPILOT_HOME".into(), STORE.into())]);
        let mut survey = Survey::new(copilot(), machine, &env, History::All);
        survey.recalls = Recall::Records;
        let (session, _) = survey.session(&survey.candidates[0], Depth::Whole);
        session.tokens
    };
    let mut machine = store(&text(&[asks(1), billed(7)]));
    let tokens = Some(Tokens { input: 30, output: 7, cache_read: 20, cache_write: 3 });
    assert_eq!(counted(&machine), tokens);
    assert_eq!(machine.counts.lock().expect("one thread").len(), 1);
    // The host says that it is the same still.
    let path = format!("{}/events.jsonl", folder(ID));
    machine.file(&path, text(&[asks(1), billed(99)]).as_bytes());
    assert_eq!(counted(&machine), tokens);
}
