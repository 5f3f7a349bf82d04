//! What a gateway is asked to do, and what its answers mean.

use super::{
    Gateway, ID, KEY, SESSIONS, STORE, calls, gateway, openclaw, process, store, with_sessions,
};
use crate::world::Machine;
use agentctl_core::{
    control::{Question, Request, Target, Unheard},
    hosted::{Call, Hosted, Place},
    launch::{Ask, Earlier, Permission},
};
use serde_json::{Value, json};
use std::{path::Path, time::Duration};

/// A store whose index has one session, by its key.
fn one() -> Machine {
    with_sessions(&json!({"agent:main:other": {"sessionId": "other"}, KEY: {"sessionId": ID}}), &[])
}

/// A gateway that runs this session and another.
fn running(machine: Machine) -> Gateway {
    gateway(machine, |method, _| match method {
        "sessions.list" => Ok(json!({"sessions": [
            {"key": "agent:main:other", "sessionId": "other", "hasActiveRun": true},
            {"key": KEY, "sessionId": ID, "hasActiveRun": true},
        ]})),
        "exec.approval.list" => Ok(json!([
            {"id": "1", "request": {"sessionKey": "agent:main:other", "command": "rm"}},
            {"id": "2", "request": {"sessionKey": KEY, "command": "ls"}},
            {"id": "3", "request": {"sessionKey": KEY}},
            {"request": {"sessionKey": KEY, "command": "cat"}},
        ])),
        _ => Ok(json!({})),
    })
}

fn asked(gateway: &Gateway, request: Request<'_>) -> Result<(), String> {
    let process = process();
    let target = Target { id: ID, store: Path::new(STORE), process: &process, cwd: None };
    openclaw().control(&gateway.machine, &target, request).map_err(|why| why.to_string())
}

fn said(gateway: &Gateway) -> Option<(String, Value)> {
    calls(gateway).pop()
}

fn call(method: &str, params: Value) -> (String, Value) {
    (method.to_owned(), params)
}

#[test]
fn a_message_goes_to_the_key_of_the_session_once() {
    let gateway = running(one());
    assert_eq!(asked(&gateway, Request::Say("more")), Ok(()));
    let once = format!("agentctl-{}", gateway.machine.now.as_nanosecond());
    let params = json!({"sessionKey": KEY, "sessionId": ID, "message": "more",
        "idempotencyKey": once});
    assert_eq!(calls(&gateway), [call("chat.send", params)]);
    let lost = asked(&running(store()), Request::Say("more"));
    assert_eq!(lost, Err("its key has another transcript since".to_owned()));
}

#[test]
fn a_run_is_ended_and_questions_are_answered_by_their_ids() {
    let gateway = running(one());
    assert_eq!(asked(&gateway, Request::Interrupt), Ok(()));
    assert_eq!(said(&gateway), Some(call("sessions.abort", json!({"key": KEY}))));
    for (request, decision) in [(Request::Allow("2"), "allow-once"), (Request::Deny("2"), "deny")] {
        let gateway = running(one());
        assert_eq!(asked(&gateway, request), Ok(()));
        let params = json!({"id": "2", "decision": decision});
        assert_eq!(said(&gateway), Some(call("exec.approval.resolve", params)));
    }
    let idle = super::gateway(one(), |_, _| Ok(json!({"sessions": []})));
    assert_eq!(asked(&idle, Request::Interrupt), Err("no run of it is active".to_owned()));
}

#[test]
fn a_session_s_own_questions_are_told() {
    let process = process();
    let target = Target { id: ID, store: Path::new(STORE), process: &process, cwd: None };
    let asks = |gateway: &Gateway| openclaw().asks(&gateway.machine, &target);
    let question = |id: &str, words: &str| Question { id: id.into(), words: words.into() };
    let own = asks(&running(one())).expect("it answers");
    assert_eq!(own, [question("2", "ls"), question("3", "")]);
    let nobody = Gateway { machine: one(), heard: Default::default() };
    assert!(matches!(asks(&nobody), Err(Unheard::NoChannel)));
}

#[test]
fn a_refusal_is_told_in_the_gateway_s_words() {
    let refuses = |error: Value| {
        let gateway = gateway(one(), move |_, _| Err(error.clone()));
        asked(&gateway, Request::Allow("2")).expect_err("it says no")
    };
    assert_eq!(refuses(json!({"code": "A", "message": "too\nlate"})), "it refuses: too late");
    assert_eq!(refuses(json!({"code": "A", "details": {"code": "B"}})), "it refuses: B");
    assert_eq!(refuses(json!({})), "it refuses: no reason given");
    let nobody = Gateway { machine: one(), heard: Default::default() };
    let why = asked(&nobody, Request::Allow("2")).expect_err("nobody is there");
    assert_eq!(why, "its process takes no such request");
}

fn hosted() -> &'static dyn Hosted {
    openclaw().hosted().expect("its server runs its sessions")
}

fn begun(gateway: &Gateway) -> Result<(), String> {
    let (process, create) = (process(), json!({"key": "agentctl-one"}));
    let place = Place { store: Path::new(STORE), process: &process };
    let calls = ["sessions.patch", "sessions.create"]
        .map(|method| Call { method: method.to_owned(), params: create.clone() });
    hosted().begin(&gateway.machine, &place, &calls).map_err(|why| why.to_string())
}

#[test]
fn a_session_whose_run_is_refused_is_taken_away_again() {
    let own = json!({"key": "agentctl-one"});
    let both = [call("sessions.patch", own.clone()), call("sessions.create", own)];
    let well = gateway(store(), |_, _| Ok(json!({"key": "agent:main:agentctl-one"})));
    assert_eq!(begun(&well), Ok(()));
    assert_eq!(calls(&well), both);
    let badly = gateway(store(), |method, _| match method {
        "sessions.create" => {
            Ok(json!({"key": "agent:main:agentctl-one", "runError": {"message": "no model"}}))
        }
        _ => Ok(json!({})),
    });
    assert_eq!(begun(&badly), Err("it refuses: no model".to_owned()));
    let delete = call("sessions.delete", json!({"key": "agent:main:agentctl-one"}));
    assert_eq!(calls(&badly), [&both[..], &[delete]].concat());
    let refused = gateway(store(), |_, _| Err(json!({"message": "no"})));
    assert_eq!(begun(&refused), Err("it refuses: no".to_owned()));
    assert_eq!(calls(&refused), both[..1]);
    let nobody = Gateway { machine: store(), heard: Default::default() };
    assert_eq!(begun(&nobody), Err("its process takes no such request".to_owned()));
}

#[test]
fn a_launched_session_is_known_by_the_end_of_its_key() {
    let index = json!({"agent:main:other": {"sessionId": "other"},
        "agent:main:agentctl-one": {"sessionId": ID}});
    let session = |machine: &Machine, launch| hosted().session(machine, Path::new(STORE), launch);
    let machine = with_sessions(&index, &[]);
    assert_eq!(session(&machine, "one").as_deref(), Some(ID));
    assert_eq!(session(&machine, "two"), None);
}

/// What is asked for to go on with a session, or with a copy of it.
fn after(fork: bool, permission: Permission) -> Vec<(String, Value)> {
    let record = format!("{SESSIONS}/{ID}.jsonl");
    let ask = Ask {
        prompt: "do it",
        cwd: Path::new("/work"),
        id: "fresh",
        launch: "one",
        model: Some("m"),
        permission,
        system: None,
        name: None,
        earlier: Some(Earlier { id: ID, record: Path::new(&record), fork }),
        steerable: false,
        timeout: Some(Duration::from_secs(2)),
    };
    let calls = hosted().calls(&one(), &ask).expect("it can be gone on with");
    calls.into_iter().map(|call| (call.method, call.params)).collect()
}

#[test]
fn an_earlier_session_is_gone_on_with_or_copied_for_the_same_agent() {
    let send = json!({"sessionKey": KEY, "sessionId": ID, "message": "do it",
        "idempotencyKey": "fresh", "timeoutMs": 2000});
    assert_eq!(after(false, Permission::Default), [call("chat.send", send.clone())]);
    let patch = json!({"key": KEY, "expectedSessionId": ID, "permissionMode": "full"});
    let both = [call("sessions.patch", patch), call("chat.send", send)];
    assert_eq!(after(false, Permission::Full), both);
    let create = json!({"key": "agent:main:agentctl-one", "cwd": "/work", "message": "do it",
        "timeoutMs": 2000, "parentSessionKey": KEY, "fork": true});
    assert_eq!(after(true, Permission::Default), [call("sessions.create", create)]);
}
