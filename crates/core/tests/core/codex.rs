//! What Codex's own files tell: where rollouts are, and both ends of one. What its processes are.

mod ends;
mod far;
mod store;

use crate::world::{Machine, at, machine};
use agentctl_core::{
    agent::{Agent, Depth, Part, Program, Shape, Stub},
    agents,
    evidence::{Record, Role},
};
use serde_json::{Value, json};
use std::path::Path;

/// Made on 2026-11-15, as its first twelve digits say.
const ID: &str = "01a1e06a-95d8-7330-b101-5cffff88f4d8";

fn codex() -> &'static dyn Agent {
    agents::named("codex").expect("an agent")
}

fn line(kind: &str, payload: Value) -> Value {
    json!({"timestamp": "2026-11-15T18:14:05Z", "type": kind, "payload": payload})
}

fn event(kind: &str, more: Value) -> Value {
    line("event_msg", with(json!({"type": kind}), &more))
}

/// The same object with these fields.
fn with(mut object: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().expect("fields") {
        object[name] = value.clone();
    }
    object
}

/// What was said, as 0.166 writes it down.
fn item(kind: &str, text: &str) -> Value {
    event("item_completed", json!({"item": {"type": kind, "content": [{"text": text}]}}))
}

fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A rollout, and where it is.
fn rollout(text: &str) -> (Machine, Stub) {
    let mut machine = machine(Vec::new());
    let path = format!("/store/sessions/2026/11/15/rollout-2026-11-15T18-14-03-{ID}.jsonl");
    machine.file(&path, text.as_bytes());
    (machine, Stub::new(ID, path, at(200)))
}

fn read(lines: &[Value]) -> Record {
    let (machine, stub) = rollout(&text(lines));
    codex().read(&machine, &stub, Depth::Glance).expect("it is understood")
}

#[test]
fn arguments_tell_who_holds_threads() {
    let part = |line: &str| {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let exe = Some(Path::new("/x/bin/codex"));
        codex().part(&Program { comm: "codex", exe, argv: &argv })
    };
    assert_eq!(part("codex resume"), Some(Part::Agent(Role::Interactive)));
    assert_eq!(part("codex e -"), Some(Part::Agent(Role::Headless)));
    for command in ["login", "mcp-server", "queue", "agents", "update"] {
        assert_eq!(part(&format!("codex {command}")), Some(Part::Bystander), "{command}");
    }
    let argv = ["codex".to_owned()];
    let other = Program { comm: "codex", exe: Some(Path::new("/bin/sh")), argv: &argv };
    assert_eq!(codex().part(&other), None);
}

#[test]
fn a_line_is_known_by_its_type_and_by_that_of_what_it_carries() {
    let shape = |line: Value| codex().shape(line.to_string().as_bytes());
    let known = |kind: &str, fields: &[&str]| {
        let fields = fields.iter().map(|&field| field.to_owned()).collect();
        Some(Shape { kind: kind.to_owned(), fields })
    };
    let aborted = event("turn_aborted", json!({"reason": "interrupted"}));
    assert_eq!(shape(aborted), known("event_msg/turn_aborted", &["reason", "type"]));
    let said = line("response_item", json!({"type": "message", "role": "user"}));
    assert_eq!(shape(said), known("response_item/message", &["role", "type"]));
    let context = line("turn_context", json!({"cwd": "/work"}));
    assert_eq!(shape(context), known("turn_context", &["cwd"]));
    assert_eq!(shape(json!({"payload": {}})), None);
}

#[test]
fn a_record_is_told_by_its_rollout_alone() {
    let (machine, stub) = rollout("");
    assert_eq!(codex().told_by(&machine, &stub, Depth::Whole), Some(Vec::new()));
}

#[test]
fn a_shell_can_look_for_a_process_that_has_files_of_a_thread() {
    let check = codex().absence(Path::new("/s"), "x y");
    let looks = "for pid in $(pgrep -x codex); do ls -l /proc/$pid/fd; done 2>/dev/null";
    assert_eq!(check, format!("! {{ {looks}; }} | grep -F -- 'x y'"));
}
