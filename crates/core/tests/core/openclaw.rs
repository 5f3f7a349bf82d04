//! What OpenClaw's gateway is asked, what it tells, and what its stores do.

mod asked;
mod database;
mod files;
mod gateway;

use crate::world::{Machine, at, key, machine, runs};
use agentctl_core::{
    agent::{Agent, Depth, Speaker, Stub},
    agents,
    evidence::Record,
    ident::ProcKey,
};
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::{Arc, Mutex},
};

const ID: &str = "11111111-1111-4111-8111-111111111111";
const KEY: &str = "agent:main:one";
const STORE: &str = "/store";
const DATABASE: &str = "/store/agents/main/agent/openclaw-agent.sqlite";
const SESSIONS: &str = "/store/agents/main/sessions";
const LOCK: &str = "/store/tmp/openclaw-1000/gateway.state.lock";
const PORT: u16 = 18789;

fn openclaw() -> &'static dyn Agent {
    agents::named("openclaw").expect("an agent")
}

/// Process 7 began at 100, and is a gateway if one is there.
fn process() -> ProcKey {
    key(7, 100)
}

/// A store of one agent, without any session.
fn store() -> Machine {
    let mut machine = machine(vec![runs(7, 100, &[])]);
    let folders = [STORE, "/store/agents", "/store/agents/main", SESSIONS];
    for (number, folder) in folders.into_iter().enumerate() {
        machine.folder(folder, 50 + number as u64);
    }
    machine
}

fn find(machine: &Machine) -> Stub {
    openclaw().find(machine, Path::new(STORE), ID, None).remove(0)
}

fn read(machine: &Machine, depth: Depth) -> Record {
    openclaw().read(machine, &find(machine), depth).expect("it can be read")
}

fn message(role: &str, text: &str) -> Value {
    let content = json!([{"type": "text", "text": text}]);
    json!({"type": "message", "timestamp": at(9).to_string(),
        "message": {"role": role, "content": content}})
}

/// A store with this index of sessions, and a transcript of each that has lines.
fn with_sessions(index: &Value, transcript: &[Value]) -> Machine {
    let mut machine = store();
    let text = serde_json::to_string_pretty(index).expect("it can be written");
    machine.file(&format!("{SESSIONS}/sessions.json"), text.as_bytes());
    if !transcript.is_empty() {
        machine.file(&format!("{SESSIONS}/{ID}.jsonl"), lines(transcript).as_bytes());
    }
    machine
}

fn lines(entries: &[Value]) -> String {
    entries.iter().map(|line| format!("{line}\n")).collect()
}

/// The lock of process 7, with these fields changed.
fn lock(machine: &mut Machine, more: &Value) {
    let mut lock = json!({"pid": 7, "startTime": 100, "port": PORT,
        "createdAt": crate::world::at(100).to_string()});
    for (name, value) in more.as_object().expect("fields") {
        lock[name] = value.clone();
    }
    machine.folder("/store/tmp", 60);
    machine.folder("/store/tmp/openclaw-1000", 61);
    machine.file(LOCK, format!("{lock}    \n").as_bytes());
}

/// A gateway, and all that it was told.
struct Gateway {
    machine: Machine,
    heard: Arc<Mutex<Vec<Value>>>,
}

/// A gateway on this machine that answers with frames; to nothing at all as soon as somebody is there.
fn answering(
    mut machine: Machine,
    answers: impl Fn(&Value) -> Vec<Value> + Send + Sync + 'static,
) -> Gateway {
    lock(&mut machine, &json!({}));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&heard);
    let answers = move |frame: &Value| {
        if frame.is_null() {
            let challenge = json!({"type": "event", "event": "connect.challenge"});
            return vec![json!({"type": "event", "event": "tick"}), challenge];
        }
        all.lock().expect("one thread").push(frame.clone());
        answers(frame)
    };
    machine.answers = Some((process(), Arc::new(answers)));
    machine.ports = Ok(vec![(process(), ([127, 0, 0, 1], PORT).into())]);
    Gateway { machine, heard }
}

/// What a gateway answers to each method, or why it does not.
fn gateway(
    machine: Machine,
    answer: impl Fn(&str, &Value) -> Result<Value, Value> + Send + Sync + 'static,
) -> Gateway {
    answering(machine, move |frame| {
        let method = frame["method"].as_str().expect("a method");
        let told = match method {
            "connect" => Ok(json!({"server": {"version": "2026.9.6"}})),
            _ => answer(method, &frame["params"]),
        };
        let (ok, name, told) = match told {
            Ok(payload) => (true, "payload", payload),
            Err(error) => (false, "error", error),
        };
        let mut said = json!({"type": "res", "id": frame["id"], "ok": ok});
        said[name] = told;
        vec![json!({"type": "event", "event": "tick", "id": frame["id"]}), said]
    })
}

/// The methods that it was called by after the greeting, with what was said.
fn calls(gateway: &Gateway) -> Vec<(String, Value)> {
    let heard = gateway.heard.lock().expect("one thread");
    assert_eq!(heard[0]["method"], "connect");
    let said = |frame: &Value| {
        assert_eq!(frame["type"], "req");
        (frame["method"].as_str().expect("a method").to_owned(), frame["params"].clone())
    };
    heard[1..].iter().map(said).collect()
}

#[test]
fn an_absence_is_that_no_gateway_lives_or_that_it_does_not_name_the_session() {
    let check = openclaw().absence(Path::new("/s t"), "x'y");
    let lives = "{ pgrep -u \"$(id -u)\" -x openclaw-gatewa; test $? = 1; }";
    let ask = "OPENCLAW_STATE_DIR='/s t' openclaw gateway call sessions.list \
        --params '{\"activeOnly\":true}' --json";
    let unnamed = "! printf %s \"$rows\" | grep -F -- 'x'\\''y'";
    assert_eq!(check, format!("{lives} || {{ rows=$({ask}) && {unnamed}; }}"));
}

/// The kernel keeps fifteen bytes of a name.
#[test]
fn a_gateway_is_known_by_the_title_that_it_gives_itself() {
    let names = ["openclaw-gatewa", "openclaw", "node"];
    assert_eq!(names.map(|name| openclaw().may_be(name)), [true, false, false]);
    let opens = openclaw().holds(&store(), Path::new(STORE), Path::new(DATABASE));
    assert_eq!(opens, None, "it has all sessions open at once");
}

#[test]
fn an_entry_is_told_as_it_is_in_a_transcript_of_pi() {
    let entry = json!({"type": "message", "message": {"role": "user", "content": "hi"}});
    let said = openclaw().messages(entry.to_string().as_bytes());
    let said: Vec<_> = said.into_iter().map(|one| (one.speaker, one.text)).collect();
    assert_eq!(said, [(Speaker::User, "hi".to_owned())]);
}

#[test]
fn an_entry_has_a_type_and_fields() {
    let shape = |line: Value| openclaw().shape(line.to_string().as_bytes());
    let found = shape(json!({"type": "custom", "data": 1})).expect("an entry");
    assert_eq!((found.kind.as_str(), found.fields.join(" ")), ("custom", "data type".to_owned()));
    assert_eq!(shape(json!({"data": 1})), None);
}
