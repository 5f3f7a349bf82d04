//! What Copilot's own files tell: its sessions, their locks, and both ends of their events. What its processes are.

mod events;
mod store;

use crate::world::{Machine, at, machine};
use agentctl_core::{
    agent::{Agent, Depth, Part, Program, Shape},
    agents,
    evidence::{Record, Role},
};
use serde_json::{Value, json};
use std::path::Path;

const ID: &str = "33333333-2222-4333-8444-555555555555";
const OTHER: &str = "44444444-2222-4333-8444-555555555555";
const STORE: &str = "/store";
const SESSIONS: &str = "/store/session-state";

fn copilot() -> &'static dyn Agent {
    agents::named("copilot").expect("an agent")
}

fn folder(id: &str) -> String {
    format!("{SESSIONS}/{id}")
}

/// A store with a session of these events.
fn store(events: &str) -> Machine {
    let mut machine = machine(Vec::new());
    for (number, folder) in [STORE, SESSIONS, &folder(ID)].into_iter().enumerate() {
        machine.folder(folder, 50 + number as u64);
    }
    machine.file(&format!("{}/events.jsonl", folder(ID)), events.as_bytes());
    machine
}

/// An event of that second.
fn event(second: i64, kind: &str, data: Value) -> Value {
    json!({"type": kind, "data": data, "id": format!("{kind}-{second}"),
        "timestamp": at(second).to_string()})
}

fn text(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

fn read(machine: &Machine) -> Record {
    let stub = copilot().find(machine, Path::new(STORE), ID, None).remove(0);
    copilot().read(machine, &stub, Depth::Glance).expect("it can be read")
}

#[test]
fn a_process_is_one_of_its_own_by_its_name_its_program_and_its_words() {
    let names = ["copilot", "MainThread", "node", "bash"].map(|name| copilot().may_be(name));
    assert_eq!(names, [true, true, false, false]);
    let part = |line: &str| {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        copilot().part(&Program { comm: "MainThread", exe: None, argv: &argv })
    };
    assert_eq!(part("/x/copilot --prompt=hi"), Some(Part::Agent(Role::Headless)));
    for words in ["-v", "--version", "-h", "--help", "--no-color --help", "login"] {
        assert_eq!(part(&format!("/x/copilot {words}")), Some(Part::Bystander), "{words}");
    }
    assert_eq!(part("/x/copilot -p --help"), Some(Part::Agent(Role::Headless)));
    assert_eq!(part("node /x/copilot"), None);
    let argv = ["copilot".to_owned(), format!("--resume={ID}")];
    let named = copilot().names(&Program { comm: "MainThread", exe: None, argv: &argv });
    assert_eq!(named.as_deref(), Some(ID));
}

#[test]
fn an_event_is_known_by_its_type_and_by_what_it_carries() {
    let shape = |line: Value| copilot().shape(line.to_string().as_bytes());
    let fields = vec!["reason".to_owned()];
    let aborted = event(0, "abort", json!({"reason": "user"}));
    assert_eq!(shape(aborted), Some(Shape { kind: "abort".to_owned(), fields }));
    assert_eq!(shape(json!({"data": {}})), None);
}

#[test]
fn a_record_is_told_by_its_events_and_what_stands_beside_them() {
    let machine = store("");
    let stub = copilot().find(&machine, Path::new(STORE), ID, None).remove(0);
    let beside = format!("{}/workspace.yaml", folder(ID));
    let told_by = |depth| copilot().told_by(&machine, &stub, depth);
    assert_eq!(told_by(Depth::Glance), Some(vec![beside.clone().into()]));
    assert_eq!(told_by(Depth::Whole), Some(vec![beside.into()]));
}

#[test]
fn a_shell_can_look_for_a_process_that_has_the_lock_of_a_session() {
    let check = copilot().absence(Path::new("/s"), "x");
    assert_eq!(check, "! ls -l /proc/[0-9]*/fd 2>/dev/null | grep -F -- x/inuse.");
}
