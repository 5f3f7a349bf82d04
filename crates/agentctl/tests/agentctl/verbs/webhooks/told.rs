//! Webhooks as the daemon tells them: at least once, in order, whoever is killed or not there for a while.

use super::{SECRET, USER, changing, server, signature};
use crate::home::{Agents, Home, until};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
        mpsc::Receiver,
    },
    time::Duration,
};

/// What a request held.
struct Told {
    id: String,
    body: Value,
}

/// The next request.
fn next(heard: &Receiver<(String, String)>) -> Told {
    let (head, body) = heard.recv_timeout(Duration::from_secs(30)).expect("a request");
    assert!(
        head.contains(&format!("x-agentctl-signature: {}\r\n", signature(&body))),
        "{head}{body}"
    );
    let id = head.lines().find_map(|line| line.strip_prefix("x-agentctl-delivery: "));
    let body = serde_json::from_str(&body).unwrap_or_else(|_| json!(body));
    Told { id: id.expect(&head).to_owned(), body }
}

fn launched(home: &Home, more: &[&str]) -> String {
    let words = [&["launch", "claude-code", "--json", "-p", "x"], more].concat();
    let answer = home.run(&words);
    answer.json()["session"]["id"].as_str().unwrap_or_else(|| panic!("{answer:#?}")).to_owned()
}

/// Nobody hears the first daemon, which is killed; the second tells what happened, in order.
#[test]
fn what_was_not_heard_is_told_by_the_next_daemon() {
    let agents = Agents::new();
    let home = &agents.home;
    let status = Arc::new(AtomicU16::new(503));
    let (url, heard) = changing(&status);
    let text = format!(
        "[webhook.team]\nurl = '{url}'\nsecret = '{SECRET}'\nfilter = \
         'type=session.started,type=session.ended'\n"
    );
    home.write(USER, text);
    agents.own();
    let mut first = home.daemon();
    let id = launched(home, &["--callback-session", "key", "--group", "g"]);
    let refused = next(&heard);
    assert_eq!(refused.body["type"], "session.started");
    assert_eq!(home.run(&["stop", &id]).code, Some(0));
    until("both wait", || {
        let shown = home.run(&["webhook", "list", "--json"]).json();
        (shown["webhooks"][0]["waiting"] == 2).then_some(())
    });
    first.kill();
    status.store(200, Ordering::Relaxed);
    let second = home.daemon();
    // Requests which nobody heard may have come before.
    let mut told = next(&heard);
    while told.body["type"] != "session.ended" {
        assert_eq!((&told.id, &told.body), (&refused.id, &refused.body));
        told = next(&heard);
    }
    let session = &told.body["session"];
    assert_eq!((&session["id"], &session["state"]), (&json!(id), &json!("stopped")));
    assert_eq!((&session["callback"]["session"], &session["group"]), (&json!("key"), &json!("g")));
    until("an empty outbox", || {
        let shown = home.run(&["webhook", "list", "--json"]).json();
        (shown["webhooks"][0]["waiting"] == 0).then_some(())
    });
    assert!(!second.said().contains(SECRET) && !second.said().contains("t0ken"));
}

/// A person who asked for a webhook when a fuse fires gets it, whatever the target is told otherwise.
#[test]
fn a_fuse_is_told_to_everybody_in_their_words() {
    let agents = Agents::new();
    let home = &agents.home;
    let (old, heard) = server(200);
    let text =
        format!("[webhook]\nurl = '{old}'\nsecret = '{SECRET}'\nfilter = 'type=session.waiting'\n");
    home.write(USER, text);
    agents.own();
    let _daemon = home.daemon();
    let more = ["--ttl", "10ms", "--on-expire", "webhook", "--label", "tea", "--json"];
    let fuse = home.run(&[&["fuse", "set", "."], &more[..]].concat()).json()["fuses"][0].clone();
    let told = next(&heard).body;
    assert_eq!(told["hook_type"], "fuse.fired");
    assert_eq!(told["meta"], json!({"fuse": fuse["id"], "label": "tea"}));
    assert_eq!(told["cwd"], fuse["target"]["directory"]);
}

/// Whatever is wrong with what is configured, the daemon does the rest, and says so; who could not be told is
/// told once it is mended.
#[test]
fn a_broken_configuration_keeps_no_fuse_from_firing() {
    let agents = Agents::new();
    let home = &agents.home;
    home.write(USER, "[webhook\n");
    agents.own();
    let mut first = home.daemon();
    let status = home.run(&["daemon", "status", "--json"]);
    let problem = status.json()["problems"][0]["message"].to_string();
    assert_eq!(status.code, Some(8), "{status:#?}");
    assert!(problem.contains("nobody is told what happens") && problem.contains(USER), "{problem}");
    home.run(&["fuse", "set", ".", "--ttl", "10ms", "--on-expire", "webhook"]);
    until("a fuse that fired", || {
        let fuses = home.run(&["fuses", "-a", "--json"]).json();
        (!fuses["fuses"][0]["fired"].is_null()).then_some(())
    });
    first.kill();
    let (url, heard) = server(200);
    home.write(USER, format!("[webhook]\nurl = '{url}'\nsecret = '{SECRET}'\n"));
    let _second = home.daemon();
    assert_eq!(next(&heard).body["hook_type"], "fuse.fired");
}
