//! What was said last in a session, and what has been said since.

use super::{DB, ID, opencode, put, put_json, stub, with};
use crate::world::{Machine, machine};
use agentctl_core::{
    agent::{Message, Speaker, Speaker::*, Stub},
    host::Cell,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::{io, path::Path};

const FILE: &str = "/store/storage/session/global/ses_e1f7b6bd9ffeXM7NCCIsxbHspv.json";
const NOW: Timestamp = Timestamp::constant(1_794_770_000, 0);
/// What is older than so many milliseconds is written for good.
const SETTLED: i64 = 10_000;

/// Milliseconds since 1970, this many before now.
fn ago(millis: i64) -> i64 {
    NOW.as_millisecond() - millis
}

fn moment(ago: i64) -> Timestamp {
    NOW - SignedDuration::from_millis(ago)
}

/// A store that has no message yet.
fn store() -> Machine {
    let mut machine = machine(Vec::new());
    machine.now = NOW;
    put_json(&mut machine, &format!("storage/session/global/{ID}.json"), &json!({"id": ID}));
    machine
}

/// Writes a file so long ago.
fn write(machine: &mut Machine, path: &str, bytes: &str, millis: i64) {
    put(machine, path, bytes.as_bytes());
    let path = format!("/store/{path}");
    machine.files.get_mut(Path::new(&path)).expect("it was just put").0.modified = moment(millis);
}

/// Adds a message and its only part, both written so long ago.
fn say(machine: &mut Machine, name: &str, (message, part): (&Value, &Value), millis: i64) {
    write(machine, &format!("storage/message/{ID}/{name}.json"), &message.to_string(), millis);
    write(machine, &format!("storage/part/{name}/prt.json"), &part.to_string(), millis);
}

fn user(created: i64) -> Value {
    json!({"role": "user", "time": {"created": ago(created)}})
}

fn assistant() -> Value {
    json!({"role": "assistant", "time": {"created": ago(70_000)}})
}

/// A text that the agent ended so long ago.
fn text(words: &str, ended: i64) -> Value {
    json!({"type": "text", "text": words, "time": {"start": ago(ended + 1), "end": ago(ended)}})
}

type Told = io::Result<(Vec<Message>, u64)>;

/// The words, and where to go on.
fn words(told: Told) -> (Vec<String>, u64) {
    let (messages, next) = told.expect("it can be read");
    (messages.into_iter().map(|message| message.text).collect(), next)
}

fn tail(machine: &Machine, count: usize) -> Told {
    opencode().tail(machine, &stub(FILE), count)
}

fn since(machine: &Machine, at: u64) -> Told {
    opencode().since(machine, &stub(FILE), at)
}

/// Three messages of long ago, and one of now.
fn talk() -> Machine {
    let mut machine = store();
    say(&mut machine, "msg_1", (&user(80_000), &json!({"type": "text", "text": "one"})), 80_000);
    say(&mut machine, "msg_2", (&assistant(), &text("two", 60_000)), 60_000);
    say(&mut machine, "msg_3", (&assistant(), &text("three", 50_000)), 50_000);
    machine
}

#[test]
fn the_last_messages_are_told_and_then_what_came_since() {
    let mut machine = talk();
    let last = |machine: &Machine, count| words(tail(machine, count));
    assert_eq!(last(&machine, 1).0, ["three"]);
    assert_eq!(last(&machine, 2).0, ["two", "three"]);
    assert_eq!(last(&machine, 9).0, ["one", "two", "three"]);
    let (_, mark) = last(&machine, 1);
    assert_eq!(words(since(&machine, mark)), (Vec::new(), mark));
    say(&mut machine, "msg_4", (&assistant(), &text("four", 500)), 500);
    let (new, next) = words(since(&machine, mark));
    assert_eq!((new, next == mark), (vec!["four".to_owned()], false));
    assert_eq!(words(since(&machine, next)), (Vec::new(), next));
    assert_eq!(last(&machine, 1), (vec!["four".to_owned()], next));
    // Long after, all of it is written for good.
    machine.now = NOW + SignedDuration::from_secs(60);
    let (none, later) = words(since(&machine, next));
    assert_eq!((none, later > next), (Vec::new(), true));
    // A clock that is set back takes nothing back.
    machine.now = NOW;
    assert_eq!(words(since(&machine, later)), (Vec::new(), later));
    assert_eq!(words(since(&machine, 0)).0, ["one", "two", "three", "four"]);
    let turns = |machine: &Machine| opencode().turns(machine, &stub(FILE)).expect("it can be read");
    assert_eq!((turns(&store()), turns(&machine)), (0, 1));
    say(&mut machine, "msg_5", (&user(400), &json!({"type": "text", "text": "more"})), 400);
    say(&mut machine, "msg_6", (&assistant(), &text("six", 300)), 300);
    assert_eq!(turns(&machine), 2);
}

/// A part may be written anew long after its message, and a message end in an error without a part.
#[test]
fn a_new_part_of_an_old_message_and_an_error_alone_are_told() {
    let mut machine = talk();
    let (_, mark) = words(tail(&machine, 1));
    let part = "storage/part/msg_3/prt.json";
    write(&mut machine, part, &text("three and more", 500).to_string(), 500);
    assert_eq!(words(since(&machine, mark)).0, ["three and more"]);
    let error = json!({"name": "APIError", "data": {"message": "no quota"}});
    let failed = json!({"role": "assistant", "error": error, "time": {"created": ago(600)}});
    write(&mut machine, &format!("storage/message/{ID}/msg_4.json"), &failed.to_string(), 500);
    assert_eq!(words(since(&machine, mark)).0, ["three and more", "no quota"]);
}

/// Files are cut and written anew in place: whoever follows the session meets them again.
#[test]
fn a_file_that_is_being_written_is_passed_over_and_one_that_stays_torn_is_an_error() {
    for torn in [format!("storage/message/{ID}/msg_4.json"), "storage/part/msg_4/prt.json".into()] {
        let read = |millis: i64| {
            let mut machine = talk();
            say(&mut machine, "msg_4", (&assistant(), &text("four", 500)), millis);
            write(&mut machine, &torn, "{\"type\":", millis);
            tail(&machine, 1).map(|(messages, _)| messages.len()).map_err(|why| why.kind())
        };
        assert_eq!(read(500), Ok(0), "{torn}");
        assert_eq!(read(SETTLED), Ok(0), "{torn}");
        assert_eq!(read(SETTLED + 1), Err(io::ErrorKind::InvalidData), "{torn}");
    }
}

fn plain(speaker: Speaker, at: i64, text: &str) -> Message {
    let at = Some(moment(at));
    Message { at, speaker, tool: None, failed: false, text: text.to_owned() }
}

/// What a part of a message says, if the part was written half a minute ago.
fn said(message: &Value, part: &Value) -> Vec<Message> {
    let mut machine = store();
    say(&mut machine, "msg_1", (message, part), 30_000);
    tail(&machine, 9).expect("it can be read").0
}

#[test]
fn parts_are_told_once_they_are_whole() {
    let asked = json!({"type": "text", "text": "hello"});
    assert_eq!(said(&user(80_000), &asked), [plain(User, 80_000, "hello")]);
    assert_eq!(said(&user(80_000), &with(asked.clone(), &json!({"synthetic": true}))), []);
    let of = |part: Value| said(&assistant(), &part);
    assert_eq!(of(asked), [], "it is being written");
    assert_eq!(of(text("yes", 40_000)), [plain(Assistant, 40_001, "yes")]);
    let thought = with(text("hm", 40_000), &json!({"type": "reasoning"}));
    assert_eq!(of(thought), [plain(Thinking, 40_001, "hm")]);
    assert_eq!(of(json!({"type": "reasoning", "text": "hm"})), []);
    let compacted = plain(System, 30_000, "conversation compacted");
    assert_eq!(of(json!({"type": "compaction"})), [compacted]);
    assert_eq!(of(json!({"type": "step-start"})), []);
}

#[test]
fn a_tool_is_told_when_it_is_called_and_when_it_ends() {
    let tool =
        |state: Value| said(&assistant(), &json!({"type": "tool", "tool": "bash", "state": state}));
    let input = json!({"command": "ls", "x": 1});
    let time = json!({"start": ago(50_000), "end": ago(40_000)});
    let state = |status: &str, more: Value| {
        with(json!({"status": status, "input": input, "time": time}), &more)
    };
    let call = || Message { tool: Some("bash".into()), ..plain(Call, 50_000, "ls") };
    assert_eq!(tool(state("pending", json!({}))), []);
    assert_eq!(tool(state("running", json!({}))), [call()]);
    let done = tool(state("completed", json!({"output": "ok", "error": "no"})));
    assert_eq!(done, [call(), plain(Result, 40_000, "ok")]);
    let failed = tool(state("error", json!({"output": "ok", "error": "no"})));
    let result = Message { failed: true, ..plain(Result, 40_000, "no") };
    assert_eq!(failed, [call(), result]);
    // Long after its end a result may be forgotten to save room.
    let forgotten = json!({"start": ago(50_000), "end": ago(40_000), "compacted": ago(1)});
    assert_eq!(tool(state("completed", json!({"output": "", "time": forgotten}))), [call()]);
    let other = tool(state("running", json!({"input": {"x": 1}})));
    assert_eq!(other[0].text, "{\"x\":1}");
}

#[test]
fn an_error_is_told_with_its_words_and_an_interruption_as_one() {
    let error = |error: Value| {
        let time = json!({"created": ago(70_000), "completed": ago(20_000)});
        let message = json!({"role": "assistant", "error": error, "time": time});
        said(&message, &json!({"type": "step-start"}))
    };
    let failed = |text: &str| Message { failed: true, ..plain(System, 20_000, text) };
    let api = json!({"name": "APIError", "data": {"message": "no quota"}});
    assert_eq!(error(api), [failed("no quota")]);
    assert_eq!(error(json!({"name": "UnknownError"})), [failed("UnknownError")]);
    assert_eq!(error(json!({})), [failed("error")]);
    let stopped = json!({"name": "MessageAbortedError", "data": {"message": "aborted"}});
    assert_eq!(error(stopped), [plain(System, 20_000, "interrupted")]);
}

/// The same from rows: a message with each of its parts, and one that has none.
#[test]
fn rows_of_a_database_are_told_as_files_are() {
    let cell = |value: &Value| Cell::Text(value.to_string());
    let name = |name: &str| Cell::Text(name.to_owned());
    let number = |millis: i64| Cell::Number(ago(millis));
    let part = |message: (&str, &Value), id: &str, part: &Value, made: i64| {
        let of = [name(message.0), cell(message.1), number(60_000)];
        let all = [name(id), cell(part), number(made), number(made - 1)];
        [&of[..], &all[..]].concat()
    };
    let error = json!({"name": "APIError", "data": {"message": "no quota"}});
    let failed = json!({"role": "assistant", "error": error});
    let (asks, answers) = (user(80_000), assistant());
    let asked = json!({"type": "text", "text": "hello"});
    let alone = vec![name("msg_3"), cell(&failed), number(2_000), Cell::Null, Cell::Null];
    let rows = vec![
        part(("msg_1", &asks), "prt_1", &asked, 70_000),
        part(("msg_2", &answers), "prt_2", &text("one", 40_000), 40_000),
        part(("msg_2", &answers), "prt_3", &text("two", 30_000), 30_000),
        [alone, vec![Cell::Null, Cell::Null]].concat(),
        vec![Cell::Null],
    ];
    let mut machine = store();
    machine.rows = Some(Box::new(move |_, _, args| {
        let settled = Cell::Number(ago(SETTLED));
        assert_eq!(args, [Cell::Text(ID.to_owned()), settled, Cell::Number(3)]);
        Ok(rows.clone())
    }));
    let told = |stub: &Stub| opencode().tail(&machine, stub, 3).expect("it can be read");
    let (messages, next) = told(&stub(DB));
    let failed = Message { failed: true, ..plain(System, 2_000, "no quota") };
    assert_eq!(
        messages,
        [plain(Assistant, 40_001, "one"), plain(Assistant, 30_001, "two"), failed]
    );
    // The error is younger than what is settled, and so a part of the mark.
    let plain = words(tail(&talk(), 1)).1;
    assert!(next != plain && next >> 33 == plain >> 33);
}
