//! Sessions before 2026.7: an index by key, and one file a transcript.

use super::{
    ID, KEY, LOCK, SESSIONS, STORE, find, lines, lock, message, openclaw, read, store,
    with_sessions,
};
use crate::world::{Machine, at};
use agentctl_core::{
    agent::{About, Claim, Depth, Message, Stub, Trail, Trouble},
    evidence::{Ending, Pending, Record, Role, Tokens, Turn},
    proof::Source,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const INDEX: &str = "/store/agents/main/sessions/sessions.json";

fn transcript() -> PathBuf {
    format!("{SESSIONS}/{ID}.jsonl").into()
}

/// An answer that ended so, and what it cost.
fn answer(text: &str, reason: &str) -> Value {
    let mut line = message("assistant", text);
    line["message"]["stopReason"] = reason.into();
    line["message"]["usage"] = json!({"input": 10, "output": 20, "cacheRead": 30, "cacheWrite": 40,
        "cost": {"total": 0.5}});
    line
}

fn begins() -> Value {
    json!({"type": "session", "version": 3, "cwd": "/work", "timestamp": at(1).to_string()})
}

/// The index with this session alone.
fn index(more: Value) -> Value {
    let mut entry = json!({"sessionId": ID, "updatedAt": at(20).as_millisecond()});
    for (name, value) in more.as_object().expect("fields") {
        entry[name] = value.clone();
    }
    json!({"agent:main:other": {"sessionId": "other", "status": "running"}, KEY: entry})
}

/// Where the index says a status of this session.
fn line(index: &Value, status: &str) -> Source {
    let text = serde_json::to_string_pretty(index).expect("it can be written");
    let own = text.find(KEY).expect("its key");
    let shows = format!("\"status\": \"{status}\"");
    let offset = own + text[own..].find(&format!("    {shows}")).expect("its status");
    Source::Line { path: INDEX.into(), offset: offset as u64, shows, without: Vec::new() }
}

#[test]
fn an_index_and_a_transcript_tell_a_session() {
    let entry = json!({"label": "mine", "status": "done", "model": "m", "spawnedCwd": "/spawned",
        "startedAt": at(10).as_millisecond(), "endedAt": at(15).as_millisecond(),
        "sessionStartedAt": at(2).as_millisecond()});
    let index = index(entry);
    let said = [begins(), message("user", "do it"), answer("yes", "toolUse"), answer("", "stop")];
    let machine = with_sessions(&index, &said);
    let title = Some(format!("mine ({KEY})"));
    let stub = Stub { title: title.clone(), ..Stub::new(ID, transcript(), at(20)) };
    assert_eq!(find(&machine), stub);
    let record = Record {
        cwd: Some("/spawned".into()),
        model: Some("m".to_owned()),
        title,
        prompt: Some("do it".to_owned()),
        last: Some("yes".to_owned()),
        started: Some(at(2)),
        updated: Some(at(20)),
        ..Record::of(Turn::Ended { at: at(15), how: Ending::Completed, line: line(&index, "done") })
    };
    assert_eq!(read(&machine, Depth::Glance), record);
    let tokens = Tokens { input: 20, output: 40, cache_read: 60, cache_write: 80 };
    let whole = Record { tokens: Some(tokens), cost_usd: Some(1.0), ..record };
    assert_eq!(read(&machine, Depth::Whole), whole);
    assert_eq!(
        openclaw().read(&machine, &stub, Depth::Glance).expect("it can be read").tokens,
        None
    );
}

#[test]
fn a_status_tells_how_the_last_run_ended() {
    let turn = |more: Value| {
        let machine = with_sessions(&index(more), &[begins(), message("user", "do it")]);
        match openclaw().read(&machine, &find(&machine), Depth::Glance).map(|record| record.turn) {
            Ok(Turn::Ended { how, at: moment, .. }) => Ok(Err((how, moment))),
            Ok(Turn::Open { alive, pending: Pending::Nothing, .. }) => Ok(Ok(Some(alive))),
            Ok(Turn::Open { .. }) => panic!("it hangs on nothing"),
            Ok(Turn::None) => Ok(Ok(None)),
            Err(why) => Err(why.to_string()),
        }
    };
    let failed = |why: &str| Ok(Err((Ending::Failed(why.to_owned()), at(20))));
    assert_eq!(turn(json!({})), Ok(Ok(None)));
    assert_eq!(turn(json!({"status": "running"})), Ok(Ok(Some(at(20)))));
    let began = json!({"status": "running", "startedAt": at(10).as_millisecond()});
    assert_eq!(turn(began), Ok(Ok(Some(at(10)))));
    assert_eq!(turn(json!({"status": "failed"})), failed("its last run failed"));
    assert_eq!(turn(json!({"status": "timeout"})), failed("its last run timed out"));
    assert_eq!(turn(json!({"status": "failed", "lastRunError": "no\nquota"})), failed("no quota"));
    assert_eq!(turn(json!({"status": "killed"})), Ok(Err((Ending::Interrupted, at(20)))));
    let strange = Err("its status `dreaming` is not understood".to_owned());
    assert_eq!(turn(json!({"status": "dreaming"})), strange);
}

/// No key points to it any more: it tells its turn itself.
#[test]
fn a_transcript_without_a_key_tells_of_itself() {
    let of = |entries: &[Value]| {
        let mut machine = store();
        machine.file(&format!("{SESSIONS}/{ID}.jsonl"), lines(entries).as_bytes());
        machine.file(&format!("{SESSIONS}/{ID}.trajectory.jsonl"), b"{}\n");
        machine
    };
    let entries =
        [begins(), json!({"type": "model_change", "modelId": "m"}), answer("yes", "stop")];
    let machine = of(&entries);
    let listing = openclaw().list(&machine, Path::new(STORE)).expect("it can be looked at");
    assert_eq!(listing.problems, []);
    let stub = find(&machine);
    assert_eq!((stub.title.as_ref(), stub.updated), (None, at(0)));
    assert_eq!(listing.stubs, [stub]);
    let shows = "\"type\":\"message\"".to_owned();
    let offset = lines(&entries[..2]).len() as u64;
    let line = Source::Line { path: transcript(), offset, shows, without: Vec::new() };
    let record = Record {
        cwd: Some("/work".into()),
        model: Some("m".to_owned()),
        last: Some("yes".to_owned()),
        started: Some(at(1)),
        updated: Some(at(0)),
        ..Record::of(Turn::Ended { at: at(9), how: Ending::Completed, line })
    };
    assert_eq!(read(&machine, Depth::Glance), record);
    let how = |last: Value| match read(&of(&[begins(), last]), Depth::Glance).turn {
        Turn::Ended { how, .. } => Some(how),
        Turn::Open { .. } | Turn::None => None,
    };
    assert_eq!(how(message("user", "do it")), None);
    let mut aborted = answer("ye", "stop");
    aborted["message"]["openclawAbort"] = json!({"aborted": true});
    assert_eq!(how(aborted), Some(Ending::Interrupted));
    let mut overloaded = answer("", "error");
    overloaded["message"]["errorMessage"] = "429 slow".into();
    assert_eq!(how(overloaded), Some(Ending::Failed("429 slow".to_owned())));
    assert_eq!(read(&of(&[begins(), json!({"type": "custom"})]), Depth::Glance).turn, Turn::None);
}

#[test]
fn a_session_without_a_transcript_is_told_by_the_index_alone() {
    let machine = with_sessions(&index(json!({"status": "done"})), &[]);
    assert_eq!(find(&machine).path, PathBuf::from(INDEX));
    let record = read(&machine, Depth::Whole);
    assert_eq!((record.title.as_deref(), record.prompt), (Some(KEY), None));
    let listed = openclaw().list(&machine, Path::new(STORE)).expect("it can be looked at");
    assert_eq!(listed.stubs.len(), 2);
}

/// A glance reads sixteen entries of either end.
#[test]
fn a_glance_at_a_long_transcript_sees_both_ends() {
    let changed = |at: usize, of: usize| {
        let mut all = vec![message("user", "more"); of];
        all[0] = message("user", "do it");
        all[at] = json!({"type": "model_change", "modelId": "m"});
        all[of - 1] = answer("yes", "stop");
        let record = read(&with_sessions(&index(json!({})), &all), Depth::Glance);
        assert_eq!(record.prompt.as_deref(), Some("do it"));
        assert_eq!(record.last.as_deref(), Some("yes"));
        record.model.is_some()
    };
    let unseen = |of: usize| (1..of - 1).filter(|at| !changed(*at, of)).collect::<Vec<_>>();
    assert_eq!(unseen(16), [0; 0]);
    assert_eq!(unseen(30), [0; 0]);
    assert_eq!(unseen(36), [16, 17, 18, 19]);
}

fn claims(machine: &Machine) -> (Vec<Claim>, Vec<Trouble>) {
    let found = openclaw().claims(machine, Path::new(STORE)).expect("it can be looked at");
    (found.claims, found.problems)
}

#[test]
fn a_session_stored_as_running_is_the_gateway_s_or_the_command_s_that_holds_the_lock() {
    let began =
        |second: i64| json!({"status": "running", "startedAt": at(second).as_millisecond()});
    let claimed = |second: i64, more: Value| {
        let mut machine = with_sessions(&index(began(second)), &[]);
        lock(&mut machine, &more);
        let (claims, problems) = claims(&machine);
        assert_eq!(problems, []);
        let own = claims.into_iter().find(|claim| claim.session == ID).expect("it runs");
        assert_eq!(own.source, line(&index(began(second)), "running"));
        (own.trail, own.about)
    };
    let server = (Trail::Server { silent: "gateway unreachable" }, About::default());
    let role = Some(Role::Headless);
    let trail = Trail::Process { pid: 7, start: 100, written: at(100) };
    let own = (trail, About { role, ..About::default() });
    let embedded = json!({"role": "agent-embedded"});
    assert_eq!(claimed(110, embedded.clone()), own);
    assert_eq!(claimed(100, embedded.clone()), own);
    assert_eq!(claimed(90, embedded), server, "it ran before that process was there");
    assert_eq!(claimed(110, json!({"role": "gateway"})), server);
    let done = with_sessions(&json!({KEY: {"sessionId": ID, "status": "done"}}), &[]);
    assert_eq!(claims(&done), (Vec::new(), Vec::new()));
}

#[test]
fn a_lock_or_an_index_that_cannot_be_read_is_a_problem() {
    let trouble = |path: &str, why: &str| Trouble { path: path.into(), why: why.to_owned() };
    let problems = |change: &dyn Fn(&mut Machine)| {
        let mut machine = with_sessions(&json!({KEY: {"sessionId": ID}}), &[]);
        lock(&mut machine, &json!({}));
        change(&mut machine);
        let listed = openclaw().list(&machine, Path::new(STORE)).map(|listing| listing.problems);
        (claims(&machine).1, listed.expect("it can be looked at"))
    };
    let (none, denied) = (Vec::new, |path: &str| vec![trouble(path, "permission denied")]);
    assert_eq!(problems(&|_| {}), (none(), none()));
    assert_eq!(problems(&|machine| machine.closed = vec![LOCK.into()]), (denied(LOCK), none()));
    let tmp = "/store/tmp";
    assert_eq!(problems(&|machine| machine.closed = vec![tmp.into()]), (denied(tmp), none()));
    let strange = vec![trouble(LOCK, "it is no lock of a gateway")];
    assert_eq!(problems(&|machine| machine.file(LOCK, b"{}")), (strange, none()));
    let closed = (denied(SESSIONS), denied(SESSIONS));
    assert_eq!(problems(&|machine| machine.closed = vec![INDEX.into()]), closed);
    assert_eq!(problems(&|machine| machine.closed = vec![SESSIONS.into()]), closed);
    let gone = |machine: &mut Machine| {
        machine.files.retain(|path, _| !path.starts_with(SESSIONS) && !path.starts_with(tmp));
    };
    assert_eq!(problems(&gone), (none(), none()));
}

#[test]
fn agents_that_cannot_be_looked_at_are_an_error_and_none_are_none() {
    let listed = |machine: &Machine| {
        let listing = openclaw().list(machine, Path::new(STORE));
        listing.map(|listing| listing.stubs.len()).map_err(|why| why.to_string())
    };
    assert_eq!(listed(&crate::world::machine(Vec::new())), Ok(0));
    let mut closed = store();
    closed.closed = vec!["/store/agents".into()];
    assert_eq!(listed(&closed), Err("permission denied".to_owned()));
}

fn words(found: std::io::Result<(Vec<Message>, u64)>) -> (Vec<String>, u64) {
    let (messages, next) = found.expect("it can be read");
    (messages.into_iter().map(|message| message.text).collect(), next)
}

#[test]
fn messages_are_read_from_the_transcript() {
    let said = [begins(), message("user", "one"), answer("two", "stop"), message("user", "go on")];
    let machine = with_sessions(&index(json!({})), &said);
    let stub = find(&machine);
    let size = lines(&said).len() as u64;
    let all = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    assert_eq!(words(openclaw().tail(&machine, &stub, 2)), (all(&["two", "go on"]), size));
    let three = all(&["one", "two", "go on"]);
    assert_eq!(words(openclaw().since(&machine, &stub, 0)), (three, size));
    assert_eq!(openclaw().turns(&machine, &stub).expect("it can be read"), 1);
    assert_eq!(openclaw().grows(&stub), Some(transcript()));
    assert_eq!(openclaw().told_by(&machine, &stub, Depth::Glance), None, "its index tells, too");
    assert_eq!(openclaw().mark(&machine, &stub).expect("it can be read"), size);
    let shows = |mark: u64, text: &str| {
        openclaw().shows(&machine, &stub, (mark, text)).expect("it can be read")
    };
    let offset = lines(&said[..3]).len() as u64;
    let line =
        Source::Line { path: transcript(), offset, shows: "go on".to_owned(), without: Vec::new() };
    assert_eq!(shows(0, "go on"), Some(line));
    assert_eq!(shows(0, "two"), None, "nobody asked that");
    assert_eq!(shows(size, "go on"), None);
}
