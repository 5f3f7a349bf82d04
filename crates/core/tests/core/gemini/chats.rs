//! What both ends of a chat tell.

use super::{CHAT, ID, answer, gemini, head, message, store, stub, text};
use agentctl_core::{
    agent::{Depth, Speaker},
    evidence::{Ending, Pending, Record, Turn},
    proof::Source,
};
use serde_json::{Value, json};

fn read(lines: &[Value]) -> Record {
    let machine = store(&text(lines));
    gemini().read(&machine, &stub(&machine), Depth::Glance).expect("it can be read")
}

/// The newest turn of a chat with these lines behind its head, and the message that shows it.
fn turn(lines: &[Value]) -> (Result<Pending, Ending>, String) {
    let shown = |line: Source| match line {
        Source::Line { shows, .. } => shows,
        other => panic!("{other:?}"),
    };
    match read(&[&[head(ID)], lines].concat()).turn {
        Turn::Open { pending, line, .. } => (Ok(pending), shown(line)),
        Turn::Ended { how, line, .. } => (Err(how), shown(line)),
        Turn::None => panic!("it was prompted"),
    }
}

/// All messages are written anew, and these are kept.
fn rewritten(kept: &[&str]) -> Value {
    let messages: Vec<Value> = kept.iter().map(|id| message(id, "user", "x")).collect();
    json!({"$set": {"messages": messages}})
}

#[test]
fn a_chat_tells_its_session() {
    let question = [head(ID), rewritten(&["c"]), message("a", "user", "do it")];
    let summary = json!({"$set": {"summary": "A title"}});
    let mut early = answer("b", "first");
    early["timestamp"] = "2026-01-02T03:04:06Z".into();
    let mut late = answer("c", "");
    late["timestamp"] = "2026-01-02T03:04:07Z".into();
    let at = |second: &str| format!("2026-01-02T03:04:{second}Z").parse().expect("a time");
    let lines = [&question[..], &[early, late, summary]].concat();
    let offset = text(&lines[..4]).len() as u64;
    let line = |offset, shows: &str| Source::Line {
        path: CHAT.into(),
        offset,
        shows: shows.to_owned(),
        without: Vec::new(),
    };
    let record = Record {
        cwd: Some("/work".into()),
        model: Some("m".to_owned()),
        title: Some("A title".to_owned()),
        prompt: Some("do it".to_owned()),
        last: Some("first".to_owned()),
        started: Some(at("00")),
        updated: Some(at("07")),
        ..Record::of(Turn::Open {
            alive: at("07"),
            pending: Pending::Unnamed,
            line: line(offset, "c"),
        })
    };
    assert_eq!(read(&lines), record);
    assert_eq!(read(&[head(ID)]).turn, Turn::None);
    let mut untimed = message("a", "user", "do it");
    untimed["timestamp"] = Value::Null;
    let open = Turn::Open {
        alive: at("00"),
        pending: Pending::Nothing,
        line: line(text(&[head(ID)]).len() as u64, "a"),
    };
    assert_eq!(read(&[head(ID), untimed]).turn, open, "the time of the file");
}

#[test]
fn the_newest_message_tells_the_turn() {
    let asked = message("a", "user", "do it");
    let is = |last: Value| turn(&[asked.clone(), last]);
    let ended = |how, by: &str| (Err(how), by.to_owned());
    let failed = |why: &str| Ending::Failed(why.to_owned());
    let open = |pending, by: &str| (Ok(pending), by.to_owned());
    assert_eq!(turn(&[answer("b", "yes"), asked.clone()]), open(Pending::Nothing, "a"));
    assert_eq!(is(answer("b", "yes")), ended(Ending::Completed, "b"));
    assert_eq!(is(answer("b", "")), open(Pending::Unnamed, "b"));
    let mut called = answer("b", "yes");
    called["toolCalls"] = json!([{"name": "shell"}]);
    assert_eq!(is(called), open(Pending::Unnamed, "b"));
    assert_eq!(is(message("b", "error", "no\nquota")), ended(failed("no quota"), "b"));
    assert_eq!(is(message("b", "error", "")), ended(failed("error"), "b"));
    let cancelled = message("b", "info", "Request cancelled.");
    assert_eq!(is(cancelled), ended(Ending::Interrupted, "b"));
    assert_eq!(is(message("b", "info", "a new release")), open(Pending::Nothing, "a"));
    assert_eq!(is(json!({"$rewindTo": "z"})), ended(Ending::Interrupted, "z"));
}

/// 0.61 writes history again after a failure, an interruption, or a denied tool.
#[test]
fn what_is_written_again_is_no_turn() {
    let (earlier, asked) = (answer("z", "yes"), message("a", "user", "do it"));
    let by = |last: &[Value]| turn(&[&[earlier.clone(), asked.clone()], last].concat());
    let gave_none = (Err(Ending::Failed("the model gave no answer".to_owned())), "a".to_owned());
    assert_eq!(by(&[rewritten(&["z"])]), gave_none);
    assert_eq!(by(&[rewritten(&["z", "a"]), rewritten(&["z"])]), gave_none);
    let answered = (Err(Ending::Completed), "z".to_owned());
    assert_eq!(by(&[rewritten(&["z", "a"])]), answered);
    assert_eq!(by(&[rewritten(&["z"]), rewritten(&["z", "a"])]), answered);
    let open = (Ok(Pending::Nothing), "a".to_owned());
    assert_eq!(by(&[message("y", "gemini", "without its model")]), open);
    let loaded = json!({"$set": {"sessionId": ID}});
    assert_eq!(by(&[loaded, rewritten(&["z", "a"])]), open, "those are the old ones");
}

#[test]
fn a_prompt_is_what_a_person_said() {
    let user = |content: Value| {
        let mut line = message("a", "user", "");
        line["content"] = content;
        line
    };
    let context = json!({"text": "<session_context>\nToday is Friday.</session_context>"});
    let prompt = |content: Value| read(&[head(ID), user(content)]).prompt;
    assert_eq!(prompt(json!([context, {"text": "do"}, {"text": "it"}])).as_deref(), Some("do\nit"));
    assert_eq!(prompt(json!([context])), None);
    let late = read(&[head(ID), answer("b", "yes"), user(json!("do it")), user(json!("more"))]);
    assert_eq!(late.prompt.as_deref(), Some("do it"));
    let said = |content: Value| {
        let messages = gemini().messages(user(content).to_string().as_bytes());
        messages.into_iter().map(|one| (one.speaker, one.text)).collect::<Vec<_>>()
    };
    assert_eq!(said(json!([{"text": "hi"}])), [(Speaker::User, "hi".to_owned())]);
    assert_eq!(said(json!([context, {"text": "hi"}])), [], "history written again");
}

/// What is only nice to know is looked for in the last 256 KiB.
#[test]
fn the_last_answer_is_told_if_it_stands_near_the_end() {
    let last = |long: usize| {
        let frame = message("b", "user", "").to_string().len() + "\n".len();
        let prompt = message("b", "user", &"x".repeat(long - frame));
        read(&[head(ID), answer("a", "early"), prompt]).last
    };
    assert_eq!(last(256 << 10).as_deref(), Some("early"));
    assert_eq!(last((256 << 10) + 1), None);
}
