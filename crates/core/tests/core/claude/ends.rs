//! What the end of a transcript tells of its newest turn, and how far from the end it is read for the rest.

use super::{claude, read, text, transcript, user, with};
use agentctl_core::{
    agent::Depth,
    evidence::{Ending, Pending, Record, Turn},
};
use serde_json::{Value, json};
use std::slice;

const LAST: &str = "aaaaaaaa-0000-4000-8000-000000000000";

/// An answer of these blocks, which leaves its turn so.
fn answer(stop: &str, blocks: Value) -> Value {
    let message = json!({"role": "assistant", "model": "m", "stop_reason": stop,
        "content": blocks});
    user(json!({"type": "assistant", "gitBranch": "topic", "message": message}))
}

fn done() -> Value {
    answer("end_turn", json!([{"type": "text", "text": "done"}]))
}

fn says(text: &str) -> Value {
    user(json!({"message": {"role": "user", "content": text}}))
}

/// The newest turn, which is the same whether or not the rest is asked for.
fn turn(text: &str) -> Option<Turn> {
    let (machine, stub) = transcript(text);
    let glance = claude().read(&machine, &stub, Depth::Glance).ok().map(|record| record.turn);
    assert_eq!(claude().turn(&machine, &stub).ok(), glance);
    glance
}

/// How it ended, or that it has not.
fn ended(lines: &[Value]) -> Option<Ending> {
    match turn(&text(lines)) {
        Some(Turn::Ended { how, .. }) => Some(how),
        Some(Turn::Open { .. }) => None,
        other => panic!("no turn was found: {other:?}"),
    }
}

#[test]
fn only_a_transcript_of_which_no_line_is_understood_is_an_error() {
    assert_eq!(turn("garbage\n"), None);
    assert_eq!(turn(""), Some(Turn::None));
    assert_eq!(turn(" \n\t\n"), Some(Turn::None));
    let whole = text(&[done()]);
    // The last line is still being written.
    assert_eq!(turn(&format!("{whole}{{\"type\":")), turn(&whole));
}

#[test]
fn the_newest_turn_is_that_of_people_and_the_model() {
    let failed = |why: &str| Some(Ending::Failed(why.to_owned()));
    assert_eq!(ended(&[done()]), Some(Ending::Completed));
    assert_eq!(ended(&[answer("max_tokens", json!([]))]), failed("max_tokens"));
    assert_eq!(ended(&[answer("refusal", json!([]))]), failed("refusal"));
    assert_eq!(ended(&[done(), says("more")]), None);
    let command = says("<command-name>/cost</command-name>");
    assert_eq!(ended(&[done(), command]), Some(Ending::Completed));
    let summary = with(says("so far"), &json!({"isCompactSummary": true}));
    assert_eq!(ended(&[done(), summary]), Some(Ending::Completed));
    let spawned = with(says("look there"), &json!({"isSidechain": true}));
    assert_eq!(ended(&[done(), spawned]), Some(Ending::Completed));
}

#[test]
fn a_prompt_in_the_queue_is_a_turn_where_nothing_else_was_written_yet() {
    let queued = json!({"type": "queue-operation", "operation": "enqueue", "content": "go",
        "timestamp": "2026-01-02T03:04:05Z"});
    assert_eq!(ended(slice::from_ref(&queued)), None);
    assert_eq!(ended(&[done(), queued]), Some(Ending::Completed));
}

#[test]
fn a_question_waits_until_it_is_answered_whatever_else_is() {
    let asks =
        answer("tool_use", json!([{"type": "tool_use", "name": "AskUserQuestion", "id": "q"}]));
    let result = |id: &str| {
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": "ok"});
        user(json!({"message": {"role": "user", "content": [block]}}))
    };
    let waits = |lines: &[Value]| {
        matches!(turn(&text(lines)), Some(Turn::Open { pending: Pending::Answer, .. }))
    };
    assert!(waits(slice::from_ref(&asks)));
    assert!(waits(&[asks.clone(), result("other")]));
    assert!(!waits(&[asks.clone(), result("q")]));
    assert!(!waits(&[asks, result("q"), result("other")]));
}

/// 2.1.197 may write a line before the one that it follows, though not long before.
#[test]
fn a_line_is_newer_than_the_one_it_follows_within_sixteen_lines() {
    let follows = |line: Value| with(line, &json!({"uuid": "f", "parentUuid": LAST}));
    let last = |line: Value| with(line, &json!({"uuid": LAST}));
    let between = |first: &Value, count: usize, last: &Value| {
        let mut lines = vec![first.clone()];
        lines.extend((0..count).map(|_| says("beside")));
        lines.push(last.clone());
        lines
    };
    let calls = last(answer("tool_use", json!([{"type": "text", "text": "I look"}])));
    let stops = follows(says("[Request interrupted by user]"));
    assert_eq!(ended(&between(&stops, 16, &calls)), Some(Ending::Interrupted));
    assert_eq!(ended(&between(&stops, 17, &calls)), None);
    let (asks, answers) = (last(says("what?")), follows(done()));
    assert_eq!(ended(&between(&answers, 16, &asks)), Some(Ending::Completed));
    assert_eq!(ended(&between(&answers, 17, &asks)), None);
    // Blank lines do not count.
    let lines = between(&stops, 16, &calls);
    let blank = format!("{} \n{}", text(&lines[..9]), text(&lines[9..]));
    let is_ended = matches!(turn(&blank), Some(Turn::Ended { how: Ending::Interrupted, .. }));
    assert!(is_ended);
}

#[test]
fn an_exit_closes_what_stands_before_it_alone() {
    let exit = json!({"type": "last-prompt", "lastPrompt": "what?"});
    assert_eq!(ended(&[says("what?"), exit.clone()]), Some(Ending::Interrupted));
    let asks = with(says("what?"), &json!({"uuid": LAST}));
    let follows = json!({"uuid": "f", "parentUuid": LAST});
    let calls = with(answer("tool_use", json!([])), &follows);
    assert_eq!(ended(&[calls, exit, asks]), None);
}

/// A line of so many bytes, with its newline.
fn long(line: &Value, size: usize) -> String {
    let padded = |count| with(line.clone(), &json!({"padding": "x".repeat(count)})).to_string();
    let line = padded(size - padded(0).len() - 1);
    format!("{line}\n")
}

/// What is read where so many bytes, of 32 lines, follow the first line.
fn before(first: &Value, distance: usize, last: &Value) -> Record {
    let each = distance / 32;
    let mut whole = text(slice::from_ref(first));
    whole += &long(&says("beside"), each + distance % 32);
    for _ in 0..30 {
        whole += &long(&says("beside"), each);
    }
    whole += &long(last, each);
    let (machine, stub) = transcript(&whole);
    claude().read(&machine, &stub, Depth::Glance).expect("it is understood")
}

#[test]
fn a_title_is_looked_for_near_the_end_and_an_answer_farther_away() {
    const TITLE: usize = 64 << 10;
    const ANSWER: usize = 256 << 10;
    let named = json!({"type": "ai-title", "aiTitle": "a name"});
    let title = |distance| before(&named, distance, &done()).title;
    assert_eq!(title(TITLE).as_deref(), Some("a name"));
    assert_eq!(title(TITLE + 1), None);
    let answered = |distance| {
        let record = before(&done(), distance, &says("more"));
        (record.model, record.last)
    };
    assert_eq!(answered(ANSWER), (Some("m".to_owned()), Some("done".to_owned())));
    assert_eq!(answered(ANSWER + 1), (None, None));
}

#[test]
fn the_last_words_stand_before_the_calls_that_came_after_them() {
    let call = || answer("tool_use", json!([{"type": "tool_use", "name": "Bash", "id": "t"}]));
    let mut lines = vec![done()];
    lines.extend((0..20).map(|_| call()));
    lines.push(json!({"type": "ai-title", "aiTitle": "a name"}));
    let record = read(&lines);
    assert_eq!((record.last.as_deref(), record.title.as_deref()), (Some("done"), Some("a name")));
}

/// 2.1.197 names the branch `HEAD` outside of git.
#[test]
fn a_branch_that_was_left_long_ago_is_not_told() {
    let on = |branch: &str, line: Value| with(line, &json!({"gitBranch": branch}));
    let mut lines = vec![on("topic", says("there")), on("topic", done())];
    lines.extend((0..20).map(|_| on("HEAD", says("here"))));
    lines.push(on("HEAD", done()));
    assert_eq!(read(&lines).branch, None);
}
