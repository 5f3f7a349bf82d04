//! Waiting for sessions that go on, come to rest, ask, or end.

use crate::home::{
    Answer, GOOD_CLAUDE, Home, StandIn,
    lines::{id, prompt},
};
use serde_json::json;
use std::thread;

/// A home with two sessions that work, each in a process.
fn two() -> (Home, StandIn, StandIn) {
    let home = Home::new();
    let (one, other) = (home.stand_in(), home.stand_in());
    for (process, id) in [(&one, id(1)), (&other, id(2))] {
        home.claude(&id, &[prompt("Begin")]);
        home.register(process, &id, json!({"status": "busy"}));
    }
    (home, one, other)
}

fn wait(home: &Home, words: &[&str]) -> Answer {
    home.run(&[&["wait"], words].concat())
}

/// The exit code, and each session with its state.
fn shown(answer: &Answer) -> (Option<i32>, Vec<String>) {
    let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    (answer.code, answer.stdout.lines().map(line).collect())
}

#[test]
fn wait_gives_up_in_time_and_says_where_it_stood() {
    let (home, _one, _other) = two();
    for until in ["ended", "idle", "waiting"] {
        let late = wait(&home, &[&id(1), &id(2), "--for", until, "--timeout", "200ms"]);
        assert_eq!((late.code, late.stdout.as_str()), (Some(7), ""), "{until}: {late:#?}");
        for id in [id(1), id(2)] {
            assert!(late.stderr.contains(&format!("{id} is working")), "{until}: {late:#?}");
        }
    }
}

#[test]
fn wait_for_one_that_waits_sees_it_ask() {
    let (home, one, _other) = two();
    let asked = thread::scope(|scope| {
        let call = || wait(&home, &[&id(1), "--for", "waiting", "--timeout", "30s"]);
        let waiting = scope.spawn(call);
        home.register(&one, &id(1), json!({"status": "waiting", "waitingFor": "dialog open"}));
        waiting.join().expect("an answer")
    });
    assert_eq!(shown(&asked), (Some(0), vec![format!("{} waiting", id(1))]));
    // One that has ended never asks.
    let never = wait(&home, &[GOOD_CLAUDE, "--for", "waiting", "--timeout", "30s"]);
    assert_eq!(never.code, Some(1), "{never:#?}");
}

#[test]
fn wait_for_idle_is_met_by_rest_and_by_an_end() {
    let (home, one, other) = two();
    home.register(&one, &id(1), json!({"status": "idle"}));
    let idle = wait(&home, &[&id(1), "--for", "idle"]);
    assert_eq!(shown(&idle), (Some(0), vec![format!("{} idle", id(1))]));
    other.end();
    let died = wait(&home, &[&id(2), "--for", "idle", "--json"]);
    assert_eq!((died.code, &died.json()["sessions"][0]["state"]), (Some(1), &json!("died")));
}

#[test]
fn wait_for_any_is_met_by_the_first() {
    let (home, one, other) = two();
    home.register(&one, &id(1), json!({"status": "idle"}));
    let ids = [id(1), id(2)];
    let names = [ids[0].as_str(), ids[1].as_str()];
    let all = wait(&home, &[&names[..], &["--for", "idle", "--timeout", "200ms"]].concat());
    assert_eq!(all.code, Some(7), "{all:#?}");
    let any = wait(&home, &[&names[..], &["--for", "idle", "--any"]].concat());
    let states = [format!("{} idle", id(1)), format!("{} working", id(2))];
    assert_eq!(shown(&any), (Some(0), states.to_vec()));
    other.end();
    let dead = wait(&home, &[&names[..], &["--any", "--timeout", "30s"]].concat());
    assert_eq!(dead.code, Some(1), "the first end is a death: {dead:#?}");
}
