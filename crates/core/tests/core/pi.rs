//! What Pi's own files and processes tell: where sessions are, how a turn stands, and what was billed.

mod ends;
mod store;

use crate::world::{Machine, at, key, machine};
use agentctl_core::{
    agent::{Agent, Depth, Part, Program, Stub},
    agents,
    evidence::{Record, Role, Tokens, Turn},
    observe::{History, Recall, Survey},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path};

const ID: &str = "019d-one";
const FILE: &str = "/store/--work--/2026-11-15T18-46-44-509Z_019d-one.jsonl";

fn pi() -> &'static dyn Agent {
    agents::named("pi").expect("an agent")
}

/// The first line of a session of `/work`.
fn header() -> Value {
    json!({"type": "session", "version": 3, "id": ID, "timestamp": "2026-11-15T18:46:44.509Z",
        "cwd": "/work"})
}

fn entry(kind: &str, more: Value) -> Value {
    with(json!({"type": kind, "id": "e1", "timestamp": "2026-11-15T18:46:50Z"}), &more)
}

fn user(text: &str) -> Value {
    entry("message", json!({"message": {"role": "user", "content": text}}))
}

/// An answer of a model that stopped for this reason.
fn answer(stop: &str, text: &str) -> Value {
    let content = json!([{"type": "text", "text": text}]);
    let message =
        json!({"role": "assistant", "model": "m", "stopReason": stop, "content": content});
    entry("message", json!({"message": message}))
}

/// The same object with these fields.
fn with(mut object: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().expect("fields") {
        object[name] = value.clone();
    }
    object
}

fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A machine with one session of these lines.
fn session(lines: &[Value]) -> (Machine, Stub) {
    let mut machine = machine(Vec::new());
    machine.file(FILE, text(lines).as_bytes());
    (machine, Stub::new(ID, FILE, at(200)))
}

fn read(lines: &[Value]) -> Record {
    let (machine, stub) = session(lines);
    pi().read(&machine, &stub, Depth::Glance).expect("it is understood")
}

fn part(comm: &str, exe: Option<&str>, line: &str) -> Option<Part> {
    let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
    pi().part(&Program { comm, exe: exe.map(Path::new), argv: &argv })
}

#[test]
fn pi_is_known_by_the_name_it_takes_and_before_that_by_its_script() {
    let names = ["pi", "pi-rpc", "node", "MainThread", "bash", "pip"];
    let known = names.map(|name| pi().may_be(name));
    assert_eq!(known, [true, true, true, true, false, false]);
    for exe in ["/usr/bin/node", "/usr/bin/node22", "/usr/bin/bun", "/usr/bin/pi"] {
        assert_eq!(part("pi", Some(exe), "pi"), Some(Part::Untold), "{exe}");
    }
    assert_eq!(part("pi", None, "pi"), Some(Part::Untold));
    assert_eq!(part("pi-rpc", Some("/usr/bin/perl"), "pi-rpc"), None);
    let node = |line: &str| part("node", Some("/usr/bin/node"), line);
    let script = "/h/lib/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js";
    assert_eq!(node(&format!("node {script} -p")), Some(Part::Untold));
    assert_eq!(node(&format!("node {script} --version")), Some(Part::Bystander));
    assert_eq!(node("node /usr/bin/pi"), Some(Part::Untold));
    assert_eq!(node("node /work/server.js"), None);
    assert_eq!(node("node"), None);
}

#[test]
fn a_process_that_has_erased_its_words_may_go_on_with_any_session() {
    let may_resume = |comm: &str, line: &str| {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        pi().may_resume(&Program { comm, exe: None, argv: &argv })
    };
    assert!(may_resume("pi", "pi") && may_resume("pi-rpc", "pi-rpc"));
    assert!(may_resume("node", "node /usr/bin/pi -c"));
    assert!(may_resume("node", "node /usr/bin/pi --continue"));
    assert!(!may_resume("node", "node /usr/bin/pi -p hello"));
}

/// Its header tells when the process made the session, which is as it starts.
#[test]
fn a_session_made_long_after_a_process_began_is_not_its_own() {
    let joins = |started: Option<i64>| {
        let record = Record { started: started.map(at), ..Record::of(Turn::None) };
        pi().may_join(&record, at(100), Some(Role::Piped))
    };
    assert!(joins(None) && joins(Some(50)) && joins(Some(120)));
    assert!(!joins(Some(121)));
}

#[test]
fn its_files_name_no_process_and_its_tools_do() {
    let host = machine(Vec::new());
    assert_eq!(pi().holds(&host, Path::new("/store"), Path::new(FILE)), None);
    let check = pi().absence(Path::new("/store"), "a b");
    assert!(check.starts_with("! grep -lszxF -- 'PI_SESSION_ID=a b' /proc/"), "{check}");
    assert!(check.ends_with("grep -xE 'pi|pi-rpc'"), "{check}");
    let (machine, stub) = session(&[header()]);
    assert_eq!(pi().told_by(&machine, &stub, Depth::Whole), Some(Vec::new()));
    let claims = pi().claims(&machine, Path::new("/store")).expect("it has none");
    assert_eq!((claims.claims.len(), claims.problems.len()), (0, 0));
    assert_eq!(pi().attaches(&machine, &target(&key(7, 100)), None).map(|leads| leads.words), None);
}

fn target(process: &agentctl_core::ident::ProcKey) -> agentctl_core::control::Target<'_> {
    let store = Path::new("/store");
    agentctl_core::control::Target { id: ID, store, process, cwd: None }
}

/// Of a message its role is part of the type, and the fields are the message's own.
#[test]
fn an_entry_has_a_type_and_fields() {
    let shape = |line: Value| {
        let shape = pi().shape(line.to_string().as_bytes())?;
        Some((shape.kind, shape.fields.join(" ")))
    };
    let told = |kind: &str, fields: &str| Some((kind.to_owned(), fields.to_owned()));
    assert_eq!(shape(user("hello")), told("message/user", "content role"));
    let strange = entry("custom", json!({"message": {"role": "user"}}));
    assert_eq!(shape(strange), told("custom", "id message timestamp type"));
    assert_eq!(shape(entry("label", json!({}))), told("label", "id timestamp type"));
    assert_eq!(shape(json!({"id": "e1"})), None);
}

fn bill(input: u64, dollars: f64) -> Value {
    json!({"input": input, "output": 2, "cacheRead": 3, "cacheWrite": 4,
        "cost": {"input": 9.0, "total": dollars}})
}

/// Lines that were billed: an answer, a tool that asks a model, a summary of either kind, and a bill alone.
fn billed() -> Vec<Value> {
    let message = |role: &str| json!({"message": {"role": role, "stopReason": "stop", "usage": bill(1, 0.25)}});
    vec![
        header(),
        user("hello"),
        entry("message", message("assistant")),
        entry("message", message("toolResult")),
        entry("compaction", json!({"usage": bill(1, 0.25)})),
        entry("branch_summary", json!({"usage": bill(1, 0.25)})),
        entry("usage", json!({"kind": "warm", "usage": bill(1, 0.25)})),
        entry("custom", json!({"usage": bill(100, 100.0)})),
        entry("usage", json!({"usage": "none"})),
    ]
}

#[test]
fn all_that_was_billed_is_added_wherever_it_stands() {
    let (machine, stub) = session(&billed());
    let record = pi().read(&machine, &stub, Depth::Whole).expect("it is understood");
    let tokens = Tokens { input: 5, output: 10, cache_read: 15, cache_write: 20 };
    assert_eq!((record.tokens, record.cost_usd), (Some(tokens), Some(1.25)));
    let glance = pi().read(&machine, &stub, Depth::Glance).expect("it is understood");
    assert_eq!((glance.tokens, glance.cost_usd), (None, None));
    assert!(pi().counts_apart());
}

#[test]
fn what_was_billed_is_kept_and_told_again() {
    let counted = |machine: &Machine| {
        let env = BTreeMap::from([("PI_CODING_AGENT_SESSION_DIR".into(), "/store".into())]);
        let mut survey = Survey::new(pi(), machine, &env, History::All);
        survey.recalls = Recall::Records;
        let (session, _) = survey.session(&survey.candidates[0], Depth::Whole);
        (session.tokens.map(|all| all.input), session.cost_usd)
    };
    let (mut machine, _) = session(&billed());
    machine.folder("/store", 50);
    machine.folder("/store/--work--", 51);
    assert_eq!(counted(&machine), (Some(5), Some(1.25)));
    assert_eq!(machine.counts.lock().expect("one thread").len(), 1);
    // The host says that it is the same still.
    machine.file(FILE, text(&[header(), user("hello")]).as_bytes());
    assert_eq!(counted(&machine), (Some(5), Some(1.25)));
}
