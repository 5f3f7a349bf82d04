//! How a turn of Pi stands, and what else both ends of a transcript tell.

use super::{FILE, answer, entry, header, pi, read, session, text, user, with};
use agentctl_core::{
    agent::Depth,
    evidence::{Ending, Pending, Record, Turn},
    proof::Source,
};
use jiff::Timestamp;
use serde_json::{Value, json};

/// How far back the end is searched for a name.
const TAIL: usize = 256 << 10;

fn moment(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

/// What shows a turn: these words in that line.
fn line(lines: &[Value], number: usize, shows: &str) -> Source {
    let offset = text(&lines[..number]).len() as u64;
    Source::Line { path: FILE.into(), offset, shows: shows.into(), without: Vec::new() }
}

#[test]
fn both_ends_of_a_transcript_tell_of_the_session() {
    let lines = [
        header(),
        entry("session_info", json!({"name": "first"})),
        entry("custom", json!({"message": {"role": "user", "content": "no prompt"}})),
        user("hello"),
        answer("stop", "done"),
        entry("session_info", json!({"name": "mine", "timestamp": "2026-11-15T18:47:00Z"})),
    ];
    let at = moment("2026-11-15T18:46:50Z");
    let turn = Turn::Ended {
        at,
        how: Ending::Completed,
        line: line(&lines, 4, "\"stopReason\":\"stop\""),
    };
    let whole = Record {
        cwd: Some("/work".into()),
        model: Some("m".into()),
        title: Some("mine".into()),
        prompt: Some("hello".into()),
        last: Some("done".into()),
        started: Some(moment("2026-11-15T18:46:44.509Z")),
        updated: Some(moment("2026-11-15T18:47:00Z")),
        ..Record::of(turn)
    };
    assert_eq!(read(&lines), whole);
    // Whoever takes a name away leaves none, not the one before.
    let cleared = entry("session_info", json!({"name": ""}));
    assert_eq!(read(&[&lines[..], &[cleared]].concat()).title, None);
    assert_eq!(read(&lines[..1]).turn, Turn::None);
}

/// `--model` writes no change of model: the answer tells. A change tells where none answered since.
#[test]
fn what_newer_entries_do_not_tell_older_ones_do() {
    let change = entry("model_change", json!({"modelId": "new"}));
    let asked = [header(), user("hello"), answer("stop", "done"), user("more")];
    let record = read(&asked);
    assert_eq!((record.model.as_deref(), record.last.as_deref()), (Some("m"), Some("done")));
    let changed = [&asked[..3], &[change.clone(), user("more")]].concat();
    let record = read(&changed);
    assert_eq!((record.model.as_deref(), record.last.as_deref()), (Some("new"), Some("done")));
    let before = [header(), change, user("hello"), answer("stop", "done")];
    assert_eq!(read(&before).model.as_deref(), Some("m"));
    // An entry without a time leaves it to those before it.
    let mut timeless = [answer("stop", "done"), entry("session_info", json!({"name": "mine"}))];
    for one in &mut timeless {
        one.as_object_mut().expect("an entry").remove("timestamp");
    }
    let record = read(&[&asked[..2], &timeless].concat());
    assert_eq!(record.updated, Some(moment("2026-11-15T18:46:50Z")));
    // A call says nothing, and a result is not what the agent said.
    let call = answer("toolUse", "");
    let content = json!([{"type": "image", "text": "no text"}, {"type": "text", "text": "ok"}]);
    let result = entry("message", json!({"message": {"role": "toolResult", "content": content}}));
    let called = [&asked[..3], &[call, result]].concat();
    assert_eq!(read(&called).last.as_deref(), Some("done"));
    let shown = entry("message", json!({"message": {"role": "user", "content": content}}));
    assert_eq!(read(&[header(), shown]).prompt.as_deref(), Some("ok"));
}

/// A transcript whose end, behind a line that gives it a name, has this many bytes.
fn named_before(size: usize) -> Vec<Value> {
    let (ask, end) = (user(""), answer("stop", "done"));
    let rest = ask.to_string().len() + end.to_string().len() + 2;
    let name = entry("session_info", json!({"name": "mine"}));
    vec![header(), user("hello"), name, user(&"x".repeat(size - rest)), end]
}

#[test]
fn a_name_is_searched_for_at_the_beginning_and_near_the_end() {
    let title = |lines: &[Value]| read(lines).title;
    assert_eq!(text(&named_before(TAIL)[3..]).len(), TAIL);
    assert_eq!(title(&named_before(TAIL)).as_deref(), Some("mine"));
    assert_eq!(title(&named_before(TAIL + 1)), None);
    let mut first = named_before(TAIL * 2);
    first.swap(1, 2);
    assert_eq!(title(&first).as_deref(), Some("mine"));
}

#[test]
fn a_fork_names_the_file_it_was_made_of() {
    let origin = |parent: &str| {
        let forked = with(header(), &json!({"parentSession": parent}));
        let (mut machine, stub) = session(&[forked, user("hello")]);
        machine.file("/store/mine.jsonl", text(&[header()]).as_bytes());
        let record = pi().read(&machine, &stub, Depth::Glance).expect("it is understood");
        (record.forked_from, record.elsewhere)
    };
    let gone = "/gone/2026-11-15T18-46-44-509Z_old.jsonl";
    assert_eq!(origin(gone), (Some("old".into()), false));
    assert_eq!(origin("/store/mine.jsonl"), (Some("019d-one".into()), true));
    assert_eq!(origin("/gone/mine.jsonl"), (None, true));
    assert_eq!(read(&[header(), user("hello")]).forked_from, None);
}

fn error(why: &str) -> Value {
    let message = json!({"role": "assistant", "model": "m", "stopReason": "error",
        "errorMessage": why, "content": []});
    entry("message", json!({"message": message}))
}

/// 0.73.1 writes one error for each try and not whether another follows; it tries four times.
#[test]
fn a_turn_failed_once_its_last_try_did() {
    let at = moment("2026-11-15T18:46:50Z");
    for tries in 1..=5 {
        let mut lines = vec![header(), user("hello"), answer("stop", "done"), user("more")];
        lines.extend((0..tries).map(|_| error("429 slow")));
        let line = line(&lines, lines.len() - 1, "\"stopReason\":\"error\"");
        let turn = match tries {
            ..4 => Turn::Open { alive: at, pending: Pending::Retry("429 slow".into()), line },
            _ => Turn::Ended { at, how: Ending::Failed("429 slow".into()), line },
        };
        assert_eq!(read(&lines).turn, turn, "{tries}");
    }
}

/// 1.5.0 says before it waits that it tries again, by taking the error out of its context.
#[test]
fn an_error_that_was_taken_out_of_the_context_is_tried_again() {
    let mut failed = error("503 unavailable");
    failed["message"]["durationMs"] = 10.into();
    let edit = |target: &str, replacement: Value| {
        entry(
            "context_edit",
            json!({"id": "e2", "targetId": target, "replacement": replacement,
                "timestamp": "2026-11-15T18:46:55Z"}),
        )
    };
    let turn = |edit: Option<Value>| {
        let mut lines = vec![header(), user("hello"), failed.clone()];
        lines.extend(edit);
        (read(&lines).turn, lines)
    };
    let ended = |lines: &[Value]| Turn::Ended {
        at: moment("2026-11-15T18:46:50Z"),
        how: Ending::Failed("503 unavailable".into()),
        line: line(lines, 2, "\"stopReason\":\"error\""),
    };
    let others = [None, Some(edit("e9", Value::Null)), Some(edit("e1", json!({"role": "user"})))];
    for other in others {
        let (turn, lines) = turn(other);
        assert_eq!(turn, ended(&lines));
    }
    let (turn, lines) = turn(Some(edit("e1", Value::Null)));
    let again = Turn::Open {
        alive: moment("2026-11-15T18:46:55Z"),
        pending: Pending::Nothing,
        line: line(&lines, 3, "\"type\":\"context_edit\""),
    };
    assert_eq!(turn, again);
}
