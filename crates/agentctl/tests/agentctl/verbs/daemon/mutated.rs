//! Requests that mean no good, to a daemon that runs: each method is called with whatever stands in its params.

use crate::home::{Agents, Caller};
use agentctl_testkit::hostile::Target;
use serde_json::{Value, json};
use std::{path::PathBuf, sync::OnceLock};

/// Where the daemon listens, for runs that know nothing but their bytes.
static SOCKET: OnceLock<PathBuf> = OnceLock::new();

/// Every method but the one that ends the daemon, with all its params.
fn requests() -> Vec<Vec<u8>> {
    let id = crate::home::GOOD_CLAUDE;
    let list = json!({"all": false, "agent": ["pi"], "cwd": ["/w"], "group": ["g"], "stalled": true,
        "sort": "updated", "limit": 3, "timeout": "1s"});
    let past =
        json!({"all": true, "since": "1h", "state": ["done"], "status": ["error"], "usage": true});
    let events = json!({"since": "5m", "filter": ["type=session.ended", "cwd=/w"], "once": true});
    let asked = [
        ("version", json!({})),
        ("daemon", json!({})),
        ("list", list),
        ("list", past),
        ("status", json!({"id": id})),
        ("explain", json!({"id": format!("{id}@/w")})),
        ("locks", json!({})),
        ("fuses", json!({"all": true})),
        ("budgets", json!({"all": true})),
        ("events", events),
        ("events", json!({"filter": ["agent=pi"]})),
    ];
    let line = |(method, params): (&str, Value)| json!({"jsonrpc": "2.0", "id": "a", "method": method, "params": params});
    asked.map(line).map(|line| line.to_string().into_bytes()).to_vec()
}

/// Every line is answered once, or not at all if it wants no answer; and whoever asks next is answered too.
fn ask(bytes: &[u8]) {
    let line: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != b'\n').collect();
    let asked: Result<Value, _> = serde_json::from_slice(&line);
    if asked.as_ref().is_ok_and(|asked| asked["method"] == "stop") {
        return;
    }
    let mut caller = Caller::new(SOCKET.get().expect("it was set"));
    let probe = json!({"jsonrpc": "2.0", "id": "probe", "method": "version"});
    assert!(caller.send(&[&line[..], b"\n", format!("{probe}\n").as_bytes()].concat()));
    let mut answers = Vec::new();
    loop {
        let said = caller.line().unwrap_or_else(|| panic!("hung up on: {asked:?}: {answers:?}"));
        assert_eq!(said["jsonrpc"], "2.0", "{said:#}");
        if said["id"] == "probe" {
            break;
        }
        if said.get("method").is_none() {
            assert!(said.get("result").is_some() != said.get("error").is_some(), "{said:#}");
            answers.push(said);
        }
    }
    assert!(answers.len() <= 1, "{asked:?}: {answers:#?}");
    let wants =
        asked.as_ref().is_ok_and(|asked| asked["id"].is_string() && asked["method"].is_string());
    assert!(!wants || answers.len() == 1, "{asked:?} is not answered");
    if let (true, [answer]) = (wants, answers.as_slice()) {
        assert_eq!(Ok(&answer["id"]), asked.as_ref().map(|asked| &asked["id"]).map_err(|_| ()));
    }
}

#[test]
fn any_params_are_answered_and_the_daemon_lives_on() {
    let agents = Agents::new();
    let mut daemon =
        crate::home::Daemon::of(&agents.home, &mut agents.home.as_us(&["daemon", "run"]));
    SOCKET.set(agents.home.socket()).expect("it is set once");
    Target { name: "requests", run: ask, seeds: requests }.holds(250);
    let mut caller = Caller::new(&agents.home.socket());
    assert_eq!(caller.ask("version", json!({}))["result"]["pid"], daemon.pid());
    assert!(!daemon.said().contains("panicked"), "{}", daemon.said());
    daemon.kill();
}
