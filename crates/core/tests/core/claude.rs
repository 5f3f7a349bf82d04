//! What Claude Code's own files tell: its registry of processes, and both ends of a transcript.

mod ends;
mod said;
mod store;

use crate::world::{Machine, at, machine};
use agentctl_core::{
    agent::{About, Agent, Claims, Depth, Stub},
    agents,
    evidence::{Need, Record, Role, Say},
    lines::LIMIT,
};
use serde_json::{Value, json};
use std::path::Path;

const ID: &str = "11111111-1111-4111-8111-111111111111";

fn claude() -> &'static dyn Agent {
    agents::named("claude").expect("an agent")
}

/// A store whose registry has these files.
fn registry(files: &[(&str, String)]) -> Machine {
    let mut machine = machine(Vec::new());
    machine.folder("/store/sessions", 50);
    for (name, text) in files {
        machine.file(&format!("/store/sessions/{name}"), text.as_bytes());
    }
    machine
}

fn claims(machine: &Machine) -> Claims {
    claude().claims(machine, Path::new("/store")).expect("it can be looked at")
}

/// What process 7 writes down of itself.
fn process(more: Value) -> String {
    let file = json!({"pid": 7, "procStart": "100", "sessionId": ID,
        "startedAt": at(100).as_millisecond()});
    with(file, &more).to_string()
}

/// The same object with these fields.
fn with(mut object: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().expect("fields") {
        object[name] = value.clone();
    }
    object
}

fn about(more: Value) -> About {
    let mut found = claims(&registry(&[("7.json", process(more))])).claims;
    assert_eq!(found.len(), 1);
    found.remove(0).about
}

#[test]
fn a_registry_file_says_how_a_process_is_run_and_what_it_was_called() {
    let role = |more: Value| about(more).role;
    assert_eq!(role(json!({"kind": "bg", "entrypoint": "cli"})), Some(Role::Background));
    assert_eq!(role(json!({"kind": "interactive", "entrypoint": "cli"})), Some(Role::Interactive));
    assert_eq!(role(json!({"entrypoint": "sdk-cli"})), None);
    let name = |more: Value| about(more).title;
    assert_eq!(name(json!({"name": "mine"})).as_deref(), Some("mine"));
    assert_eq!(name(json!({"name": "mine", "nameSource": "user"})).as_deref(), Some("mine"));
    assert_eq!(name(json!({"name": "guessed", "nameSource": "derived"})), None);
    assert_eq!(about(json!({})).started, Some(at(100)));
}

#[test]
fn a_registry_file_says_what_its_process_does() {
    let says = |more: Value| about(more).says.map(|(say, _)| say);
    assert_eq!(says(json!({"status": "busy"})), Some(Say::Busy));
    assert_eq!(says(json!({"status": "idle"})), Some(Say::Idle));
    assert_eq!(says(json!({"status": "waiting"})), Some(Say::Waiting(Need::Answer)));
    assert_eq!(says(json!({"status": "dreaming"})), None);
}

#[test]
fn files_of_its_supervisor_claim_nothing_and_others_that_say_nothing_are_told() {
    let counts = |name: &str, text: String| {
        let found = claims(&registry(&[(name, text)]));
        (found.claims.len(), found.untold.len(), found.problems.len())
    };
    assert_eq!(counts("7.json", process(json!({}))), (1, 0, 0));
    assert_eq!(counts("7.json", process(json!({"kind": "daemon"}))), (0, 0, 0));
    assert_eq!(counts("7.json", process(json!({"kind": "daemon-worker"}))), (0, 0, 0));
    assert_eq!(counts("7.txt", process(json!({}))), (0, 0, 0));
    assert_eq!(counts("7.json", String::new()), (0, 1, 0));
    assert_eq!(counts("7.json", "{}".to_owned()), (0, 1, 0));
    assert_eq!(counts("7.json", "{\"pid\":".to_owned()), (0, 1, 1));
    // It is named after one process and speaks of another: either may be meant.
    assert_eq!(counts("8.json", process(json!({}))), (0, 2, 0));
    // It goes away between the look at its folder and the look at it.
    let mut gone = registry(&[("7.json", process(json!({})))]);
    gone.links.insert("/store/sessions/7.json".into(), "/nowhere".into());
    let found = claims(&gone);
    assert_eq!((found.claims.len(), found.untold.len(), found.problems.len()), (0, 0, 0));
    let mut closed = registry(&[]);
    closed.closed = vec!["/store/sessions".into()];
    assert!(claims(&closed).closed);
    assert!(!claims(&machine(Vec::new())).closed);
}

fn user(more: Value) -> Value {
    let line = json!({"type": "user", "sessionId": ID, "timestamp": "2026-01-02T03:04:05Z",
        "cwd": "/work", "version": "2.1.197", "message": {"role": "user", "content": "hello"}});
    with(line, &more)
}

/// A transcript, and where it is.
fn transcript(text: &str) -> (Machine, Stub) {
    let mut machine = machine(Vec::new());
    machine.file("/store/a.jsonl", text.as_bytes());
    (machine, Stub::new(ID, "/store/a.jsonl", at(200)))
}

fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn read(lines: &[Value]) -> Record {
    let (machine, stub) = transcript(&text(lines));
    claude().read(&machine, &stub, Depth::Glance).expect("it is understood")
}

#[test]
fn the_first_prompt_is_what_a_person_asked_for() {
    let prompt = |lines: &[Value]| read(lines).prompt;
    let content = |text: &str| json!({"message": {"role": "user", "content": text}});
    assert_eq!(prompt(&[user(json!({}))]).as_deref(), Some("hello"));
    let meta = user(json!({"isMeta": true, "message": {"role": "user", "content": "caveat"}}));
    assert_eq!(prompt(&[meta, user(json!({}))]).as_deref(), Some("hello"));
    let noise = user(content("<command-name>/clear</command-name>"));
    assert_eq!(prompt(&[noise, user(json!({}))]).as_deref(), Some("hello"));
    let stopped = user(content("[Request interrupted by user]"));
    assert_eq!(prompt(&[stopped, user(json!({}))]).as_deref(), Some("hello"));
    let queued = json!({"type": "queue-operation", "operation": "enqueue", "content": "queued",
        "sessionId": ID, "timestamp": "2026-01-02T03:04:05Z"});
    assert_eq!(prompt(&[queued, user(json!({}))]).as_deref(), Some("queued"));
}

#[test]
fn a_prompt_that_is_too_long_to_read_is_told_by_its_size() {
    let long = user(json!({"message": {"role": "user", "content": "x".repeat(LIMIT)}}));
    let size = long.to_string().len();
    assert_eq!(read(&[long]).prompt, Some(format!("(a prompt of {size} bytes)")));
    // The longest line that is read is known for what it is.
    let noise = |size| {
        let said = format!("<command-name>{}", "x".repeat(size));
        user(json!({"message": {"role": "user", "content": said}}))
    };
    let longest = noise(LIMIT - noise(0).to_string().len());
    assert_eq!(longest.to_string().len(), LIMIT);
    assert_eq!(read(&[longest, user(json!({}))]).prompt.as_deref(), Some("hello"));
}

#[test]
fn both_ends_of_a_transcript_tell_of_the_session() {
    let later = json!({"timestamp": "2026-01-02T03:05:00Z", "version": "2.1.198",
        "gitBranch": "topic"});
    let record = read(&[user(json!({})), user(later)]);
    assert_eq!(record.started, "2026-01-02T03:04:05Z".parse().ok());
    assert_eq!(record.updated, "2026-01-02T03:05:00Z".parse().ok());
    assert_eq!(record.version.as_deref(), Some("2.1.198"));
    assert_eq!(record.branch.as_deref(), Some("topic"));
    assert_eq!(record.cwd, Some("/work".into()));
    let titles = |lines: &[Value]| read(lines).title;
    let made = json!({"type": "ai-title", "sessionId": ID, "aiTitle": "made up"});
    let given = json!({"type": "custom-title", "sessionId": ID, "customTitle": "given"});
    assert_eq!(titles(&[user(json!({})), made]).as_deref(), Some("made up"));
    assert_eq!(titles(&[user(json!({})), given]).as_deref(), Some("given"));
}
