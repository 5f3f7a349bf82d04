//! Budgets: set, shown, taken away; and kept by the daemon, whoever was killed meanwhile.

use crate::home::{
    Agents, Home, PROJECT, Stream,
    lines::{id, prompt, reply},
    until,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;

const FOLDER: &str = ".local/state/agentctl/intents/budgets";

fn set(home: &Home, session: &str, more: &[&str]) -> Value {
    let words = [&["budget", "set", session, "--json"], more].concat();
    let answer = home.run(&words);
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    answer.json()["budgets"][0].clone()
}

fn all(home: &Home) -> Vec<Value> {
    let answer = home.run(&["budget", "list", "-a", "--json"]).json();
    answer["budgets"].as_array().expect("budgets").clone()
}

fn status(home: &Home, session: &str) -> Value {
    home.run(&["status", session, "--json"]).json()["session"].clone()
}

/// Its crossings, once there are so many.
fn crossed(home: &Home, session: &str, count: usize) -> Vec<Value> {
    until("a limit that was crossed", || {
        let own = all(home).into_iter().find(|one| one["session_id"] == session)?;
        own["crossed"].as_array().filter(|all| all.len() >= count).cloned()
    })
}

/// The next event of budgets.
fn told(events: &mut Stream) -> Value {
    loop {
        let event = events.next();
        if event["type"] == "budget.crossed" {
            return event;
        }
    }
}

/// What cannot be read is named, and the way out is one.
#[test]
fn a_spoiled_budget_that_is_taken_away_is_named() {
    let home = Home::new();
    home.claude(&id(1), &[prompt("Begin")]);
    let folder = home.path(FOLDER);
    let words = ["budget", "set", &id(1), "--max-turns", "3"];
    assert_eq!(home.ask(&mut home.as_us(&words)).code, Some(0));
    let mut files = fs::read_dir(&folder).expect("a folder").flatten().map(|one| one.path());
    let file = files.find(|path| path.extension().is_some_and(|kind| kind == "json"));
    let file = file.expect("a budget");
    for text in ["", "{}", "{\"schema\":9}"] {
        fs::write(&file, text).expect("our file");
        let told = home.ask(&mut home.as_us(&["budget", "cancel", &id(1)]));
        assert_eq!(told.code, Some(8), "{told:#?}");
        let what = format!("error: cannot read {}: ", file.display());
        assert!(told.stderr.starts_with(&what), "{told:#?}");
        assert!(told.stderr.contains("mend or remove it"), "{told:#?}");
    }
    fs::remove_file(&file).expect("our file");
    assert_eq!(home.ask(&mut home.as_us(&words)).code, Some(0));
}

/// A record with so many answers of 70 tokens each, and 30 from the cache.
fn answers(agents: &Agents, session: &str, count: usize) {
    let home = &agents.home;
    let mut lines = Vec::new();
    for number in 0..count {
        let mut answer = reply("done");
        answer["message"]["id"] = format!("msg-{number}").into();
        lines.extend([prompt("go"), answer]);
    }
    for line in &mut lines {
        line["cwd"] = json!(home.work());
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    home.write(format!("{PROJECT}/{session}.jsonl"), text);
    agents.own();
}

fn launch(agents: &Agents, more: &[&str]) -> (String, i32) {
    let words = [&["launch", "claude-code", "--json", "-p", "x", "--force"], more].concat();
    let answer = agents.home.run(&words);
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    let session = answer.json()["session"].clone();
    let pid = session["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).expect("a pid");
    (session["id"].as_str().expect("an id").to_owned(), pid)
}

/// What the kernel says a process does.
fn does(pid: i32) -> Option<char> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    line.rsplit_once(") ")?.1.chars().next()
}

fn is_halted(pid: i32) -> bool {
    until("a process", || does(pid)) == 'T'
}

#[test]
fn budgets_are_set_shown_and_taken_away() {
    let agents = Agents::new();
    let home = &agents.home;
    let process = home.stand_in();
    home.register(&process, &id(1), json!({"status": "busy"}));
    answers(&agents, &id(1), 2);
    let one = set(home, &id(1)[..8], &["--max-tokens", "200k", "--max-turns", "20"]);
    assert_eq!((&one["agent"], &one["session_id"]), (&json!("claude-code"), &json!(id(1))));
    assert_eq!(one["limits"], json!({"tokens": 200_000, "turns": 20}));
    assert_eq!((&one["used"]["tokens"], &one["used"]["turns"]), (&json!(140), &json!(2)));
    assert_eq!(one["on_budget"], "stop", "whoever sets a limit means that it holds");
    let more = set(home, &id(1), &["--max-tokens", "300k", "--on-budget", "warn"]);
    assert_eq!(more["limits"], json!({"tokens": 300_000, "turns": 20}), "the others stay");
    assert_eq!((&more["id"], &more["on_budget"]), (&one["id"], &json!("warn")));
    let session = status(home, &id(1));
    assert_eq!(session["budget"]["limits"], more["limits"]);
    assert_eq!(session["budget"]["used"]["tokens"], 140);
    let page = home.run(&["status", &id(1)]);
    assert!(page.stdout.contains("tokens 140 of 300k, turns 2 of 20, then warn"), "{page:#?}");
    let listed = home.run(&["budget", "list"]);
    assert!(listed.stdout.contains("tokens 140 of 300k"), "{listed:#?}");
    assert!(listed.stderr.contains("agentctl daemon start"), "nobody keeps it: {listed:#?}");
    let idle = set(home, &id(1), &["--idle-timeout", "15m"]);
    assert_eq!(idle["limits"]["idle_seconds"], 900.0);
    assert_eq!(home.run(&["budget", "cancel", &id(1)[..8]]).code, Some(0));
    assert_eq!(home.run(&["budget", "cancel", &id(1)]).code, Some(1), "it is over");
    assert_eq!(home.run(&["budget", "list", "--json"]).json()["budgets"], json!([]));
    assert!(all(home)[0]["cancelled_at"].is_string());
    assert_eq!(status(home, &id(1))["budget"], Value::Null);
    let anew = set(home, &id(1), &["--max-turns", "5"]);
    assert_eq!(anew["limits"], json!({"turns": 5}), "what was taken away does not come back");
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let agents = Agents::new();
    let home = &agents.home;
    let process = home.stand_in();
    home.register(&process, &id(1), json!({"status": "busy"}));
    let code = |words: &[&str]| home.run(&[&["budget"], words].concat()).code;
    let session = id(1);
    assert_eq!(code(&["set", &session]), Some(2), "nothing is limited");
    for amount in ["0", "-1", "few", "1.5"] {
        assert_eq!(code(&["set", &session, "--max-tokens", amount]), Some(2), "{amount}");
    }
    let cost = home.run(&["budget", "set", &session, "--max-cost", "2.50"]);
    assert!(cost.code == Some(2) && cost.stderr.contains("writes down none"), "{cost:#?}");
    assert_eq!(code(&["set", "zzzz", "--max-turns", "1"]), Some(3));
    assert_eq!(code(&["cancel", &session]), Some(1));
    assert_eq!(code(&["release", &session]), Some(1), "it is not held");
    assert!(all(home).is_empty());
    let launch = ["launch", "claude-code", "-p", "x"];
    for more in [&["--max-cost", "1"][..], &["--on-budget", "warn"], &["--max-turns", "0"]] {
        assert_eq!(home.run(&[&launch, more].concat()).code, Some(2), "{more:?}");
    }
    assert_eq!(agents.started(), 0);
    // What is configured is for all agents: one that it cannot be kept for is started without it.
    home.write(".config/agentctl/config.toml", "[launch]\nmax_cost = 2.5\nmax_turns = 7\n");
    agents.own();
    let begun = home.run(&[&launch[..], &["--json"]].concat());
    assert!(begun.stderr.contains("launch.max_cost is not heeded"), "{begun:#?}");
    assert_eq!(begun.json()["session"]["budget"]["limits"], json!({"turns": 7}));
}

/// Each crossing is one event, however often it is looked at and by whom; a new limit is another.
#[test]
fn a_warning_is_told_once() {
    let agents = Agents::new();
    let home = &agents.home;
    let cursor = home.cursor();
    let (session, pid) = launch(&agents, &["--max-tokens", "100", "--on-budget", "warn"]);
    answers(&agents, &session, 1);
    let mut daemon = home.daemon();
    let mut events = home.events();
    answers(&agents, &session, 2);
    let event = told(&mut events);
    let over = &event["budget"]["crossed"];
    assert_eq!(
        (&over["limit"], &over["allowed"], &over["used"]),
        (&json!("tokens"), &json!(100), &json!(140))
    );
    assert_eq!(
        (&event["budget"]["session_id"], &event["session"]["id"]),
        (&json!(session), &json!(session))
    );
    daemon.kill();
    answers(&agents, &session, 3);
    let _daemon = home.daemon();
    let listed = home.run(&["list"]);
    assert!(listed.stdout.contains("(budget: tokens 140 of 100)"), "{listed:#?}");
    set(home, &session, &["--max-tokens", "200"]);
    let second = told(&mut events);
    assert_eq!(second["budget"]["crossed"]["used"], 210);
    assert!(!is_halted(pid) && status(home, &session)["live"] == true);
    let words =
        ["events", "--once", "--since", &cursor, "--filter", "type=budget,agent=claude-code"];
    let later = home.run(&words).stdout;
    let later = later.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let ids: Vec<Value> =
        later.filter(|one| one["type"] == "budget.crossed").map(|one| one["id"].clone()).collect();
    assert_eq!(ids, [event["id"].clone(), second["id"].clone()]);
}

/// Exactly what is allowed may be used; the session that uses more is stopped, and goes on only with more.
#[test]
fn a_session_that_uses_more_is_stopped() {
    let agents = Agents::new();
    let home = &agents.home;
    let _daemon = home.daemon();
    let (other, _) = launch(&agents, &[]);
    let (session, _) = launch(&agents, &["--max-turns", "2"]);
    let mut events = home.events();
    answers(&agents, &other, 9);
    answers(&agents, &session, 2);
    assert_eq!(status(home, &session)["budget"]["crossed"], Value::Null);
    answers(&agents, &session, 3);
    assert_eq!(crossed(home, &session, 1)[0]["problem"], Value::Null);
    assert_eq!([&session, &other].map(|id| status(home, id)["live"].clone()), [false, true]);
    assert_eq!(told(&mut events)["budget"]["crossed"]["action"], "stop");
    let refused = home.run(&["resume", &session, "more"]);
    assert_eq!(refused.code, Some(5), "{refused:#?}");
    assert!(refused.stderr.contains("--max-turns gives it more"), "{refused:#?}");
    // The other one works in the same directory.
    let dry = ["resume", &session, "more", "--dry-run", "--force"];
    assert_eq!(home.run(&[&dry[..], &["--max-turns", "9"]].concat()).code, Some(0));
    assert_eq!(home.run(&["budget", "cancel", &session]).code, Some(0));
    assert_eq!(home.run(&dry).code, Some(0));
    // Where nobody can read what it may use, nobody says that something is left.
    let name = all(home)[0]["id"].as_str().expect("a name").to_owned();
    home.write(format!("{FOLDER}/{name}.json"), "{");
    agents.own();
    let torn = home.run(&dry);
    assert!(torn.code == Some(5) && torn.stderr.contains("cannot be read"), "{torn:#?}");
}

/// A person's Ctrl-Z is no budget's: more that is allowed does not wake it, and a release says whose it was.
#[test]
fn what_a_person_halted_stays_halted() {
    let agents = Agents::new();
    let home = &agents.home;
    let (session, pid) = launch(&agents, &["--max-turns", "5", "--on-budget", "hold"]);
    kill_process(Pid::from_raw(pid).expect("a pid"), Signal::STOP).expect("our process");
    until("a process that is halted", || is_halted(pid).then_some(()));
    set(home, &session, &["--max-turns", "9"]);
    assert!(is_halted(pid));
    assert_eq!(home.run(&["budget", "cancel", &session]).code, Some(0));
    assert!(is_halted(pid));
    let released = home.run(&["budget", "release", &session]);
    assert!(released.stderr.contains("no budget had halted it"), "{released:#?}");
    assert!(!is_halted(pid));
}

/// What is held is shown as it is, goes on when a person says so, and can be stopped where it is.
#[test]
fn a_session_is_held_and_goes_on() {
    let agents = Agents::new();
    let home = &agents.home;
    let _daemon = home.daemon();
    let (session, pid) = launch(&agents, &["--max-turns", "1", "--on-budget", "hold"]);
    answers(&agents, &session, 2);
    assert_eq!(crossed(home, &session, 1)[0]["problem"], Value::Null);
    assert!(is_halted(pid));
    let held = status(home, &session);
    assert_eq!((&held["halted"], &held["live"]), (&json!(true), &json!(true)), "{held:#}");
    assert!(home.run(&["list"]).stdout.contains(": halted"));
    let because = held["because"].as_array().expect("facts");
    let fact = because.iter().find(|fact| fact["rule"] == "halted").expect("it is a fact");
    let holds = |check: &Value| {
        let mut shell = home.command("/bin/sh");
        shell.args(["-c", check.as_str().expect("a check")]).env("PATH", "/usr/bin:/bin");
        shell.output().expect("a shell").status.success()
    };
    assert!(holds(&fact["check"]), "{fact:#}");
    let released = home.run(&["budget", "release", &session[..8], "--json"]);
    assert_eq!(released.json()["session"]["halted"], Value::Null, "{released:#?}");
    assert!(!is_halted(pid) && !holds(&fact["check"]));
    // What it crossed does not hold it again; a new limit does.
    answers(&agents, &session, 3);
    set(home, &session, &["--max-turns", "2"]);
    crossed(home, &session, 2);
    assert!(is_halted(pid));
    // Whoever has more again goes on.
    set(home, &session, &["--max-turns", "5"]);
    assert!(!is_halted(pid));
    answers(&agents, &session, 6);
    crossed(home, &session, 3);
    assert!(is_halted(pid));
    assert_eq!(home.run(&["budget", "cancel", &session]).code, Some(0));
    assert!(!is_halted(pid));
    set(home, &session, &["--max-turns", "1", "--on-budget", "hold"]);
    crossed(home, &session, 4);
    assert!(is_halted(pid));
    let stopped = home.run(&["stop", &session, "--json"]).json()["stopped"][0].clone();
    let death = &stopped["deaths"][0];
    assert_ne!(death["signal"], "SIGKILL", "it heeded what it was asked: {stopped:#}");
    assert_eq!(stopped["session"]["live"], false, "{stopped:#}");
}

/// Nothing written for so long, from its launch or its last line on.
#[test]
fn a_silent_session_is_stopped() {
    let agents = Agents::new();
    let home = &agents.home;
    let _daemon = home.daemon();
    // A busy machine takes more than a second until a launch has seen its session.
    let (session, _) = launch(&agents, &["--idle-timeout", "4s"]);
    let over = crossed(home, &session, 1)[0].clone();
    assert_eq!((&over["limit"], &over["allowed"]), (&json!("idle"), &json!(4)));
    assert!(over["used"].as_f64().expect("a time") >= 4.0, "{over:#}");
    assert_eq!(status(home, &session)["live"], false);
    // A silence uses nothing up: it may be taken up again.
    assert_eq!(
        home.run(&["budget", "list", "--json"]).json()["budgets"][0]["used"]["idle_seconds"],
        Value::Null
    );
}

/// What was crossed while nobody was there is seen on start; and one that was held before anybody could
/// write that down is held by the next daemon too, and told once.
#[test]
fn whoever_was_killed_meanwhile_is_made_up_for() {
    let agents = Agents::new();
    let home = &agents.home;
    let begun = home.run(&["launch", "claude-code", "-p", "x", "--max-turns", "1"]);
    assert!(begun.stderr.contains("nobody keeps budgets"), "{begun:#?}");
    let (session, pid) = launch(&agents, &["--max-turns", "1", "--on-budget", "hold"]);
    answers(&agents, &session, 2);
    kill_process(Pid::from_raw(pid).expect("a pid"), Signal::STOP).expect("our process");
    let mut events = home.events();
    let mut daemon = home.daemon();
    assert_eq!(crossed(home, &session, 1).len(), 1);
    let event = told(&mut events);
    until("a line", || {
        daemon.said().contains(&format!("{session}: turns 2 of 1, hold")).then_some(())
    });
    assert!(is_halted(pid));
    daemon.kill();
    let _daemon = home.daemon();
    set(home, &session, &["--max-turns", "2", "--on-budget", "warn"]);
    answers(&agents, &session, 3);
    assert_ne!(told(&mut events)["id"], event["id"], "the first is told once");
}

/// A launcher that was killed before it could say what its session may use has left that in its receipt.
#[test]
fn a_launch_keeps_its_budget_whoever_was_killed() {
    let agents = Agents::new();
    let home = &agents.home;
    let (session, _) = launch(&agents, &["--max-turns", "1", "--on-budget", "warn"]);
    let name = all(home)[0]["id"].as_str().expect("a name").to_owned();
    let file = home.path(format!("{FOLDER}/{name}.json"));
    fs::remove_file(&file).expect("it was written");
    answers(&agents, &session, 2);
    let _daemon = home.daemon();
    crossed(home, &session, 1);
    assert_eq!(home.run(&["budget", "cancel", &session]).code, Some(0));
    assert_eq!(home.run(&["budget", "list", "--json"]).json()["budgets"], json!([]));
}

/// Files that are no budgets are named, and keep no other from being kept.
#[test]
fn broken_files_limit_nothing() {
    let agents = Agents::new();
    let home = &agents.home;
    let (session, _) = launch(&agents, &["--max-turns", "1", "--on-budget", "warn"]);
    let name = all(home)[0]["id"].as_str().expect("a name").to_owned();
    let text = fs::read_to_string(home.path(format!("{FOLDER}/{name}.json"))).expect("a budget");
    home.write(format!("{FOLDER}/b-torn.json"), &text[..20]);
    home.write(format!("{FOLDER}/b-other.json"), &text);
    home.write(format!("{FOLDER}/b-half.draft"), "{");
    agents.own();
    let answer = home.run(&["budget", "list", "--json"]);
    let problems = answer.json()["problems"].as_array().expect("a list").len();
    assert_eq!((answer.code, problems), (Some(8), 2), "{answer:#?}");
    answers(&agents, &session, 2);
    let _daemon = home.daemon();
    crossed(home, &session, 1);
}
