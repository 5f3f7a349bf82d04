//! What is swept on demand, and what agentctl 1.x left behind.

use crate::home::{
    Agents, Seen,
    lines::id,
    receipts::{LAUNCHES, days},
};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    time::{Duration, SystemTime},
};

fn paths(answer: &Value) -> Vec<String> {
    let all = answer["removed"].as_array().expect("a list").iter();
    all.map(|one| one["path"].as_str().expect("a path").to_owned()).collect()
}

#[test]
fn prune_says_what_it_removes_and_removes_only_that() {
    let agents = Agents::new();
    let home = &agents.home;
    assert_eq!(home.run(&["lock", "/elsewhere"]).code, Some(0)); // it looks, and so sweeps
    agents.receipt("old", &agents.launched("old", &id(1), json!({"at": days(-90)})));
    agents.receipt("new", &agents.launched("new", &id(2), json!({})));
    home.write(format!("{LAUNCHES}/old.log"), "words");
    home.write(format!("{LAUNCHES}/new.log"), "words");
    // What killed launches and locks leave: an old claim that nobody holds, an old draft.
    let state = ".local/state/agentctl";
    let left = ["intents/locks/%2fx.4711-0.draft", "locks/%2fx.lock"];
    let left = left.map(|name| home.write(format!("{state}/{name}"), ""));
    for file in &left {
        let file = File::options().append(true).open(file).expect("a file");
        file.set_modified(SystemTime::now() - Duration::from_secs(7200)).expect("a time");
    }
    home.write(format!("{state}/intents/locks/%2fy.4711-0.draft"), "");
    agents.own();
    let before = agents.files();
    let dry = home.run(&["prune", "--dry-run", "--json"]).json();
    let old = ["json", "log"].map(|kind| home.path(format!("{LAUNCHES}/old.{kind}")));
    let old = left.iter().chain(&old);
    let mut old: Vec<String> = old.map(|path| path.display().to_string()).collect();
    old.sort();
    let sorted = |answer: &Value| {
        let mut paths = paths(answer);
        paths.sort();
        paths
    };
    assert_eq!((sorted(&dry), dry["dry_run"].as_bool()), (old.clone(), Some(true)));
    assert_eq!(agents.files(), before);
    let done = home.run(&["prune", "--json"]).json();
    assert_eq!((sorted(&done), done["dry_run"].as_bool()), (old, Some(false)));
    let kept = |file: &String| !file.contains("/old.") && !file.contains("%2fx.");
    let kept: Vec<String> = before.into_iter().filter(kept).collect();
    assert_eq!(agents.files(), kept);
    let again = home.run(&["prune"]);
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), ""));
}

const LEFT: [&str; 5] = [
    ".agentctl/opencode-sessions/pending-4711",
    ".agentctl/state.json",
    ".claude/agentctl/sessions",
    ".codex/agentctl/sessions",
    ".pi/agentctl/sessions",
];

/// As 1.x left it: states of sessions, by pids that others have now.
fn plant(agents: &Agents) -> Vec<String> {
    let home = &agents.home;
    let meta = json!({"sessionId": id(1), "pid": std::process::id(), "status": "running"});
    home.write(".agentctl/state.json", json!({"sessions": {(id(1)): meta}}).to_string());
    home.write(".agentctl/opencode-sessions/pending-4711", meta.to_string());
    home.write(".agentctl/opencode-sessions/ses_real", "kept");
    home.write(".agentctl/config.json", "kept");
    for agent in ["claude", "codex", "pi"] {
        home.write(format!(".{agent}/agentctl/sessions/{}.json", id(1)), meta.to_string());
        home.write(format!(".{agent}/agentctl/sessions/pending-4711.json"), meta.to_string());
    }
    agents.own();
    LEFT.iter().map(|below| home.path(below).display().to_string()).collect()
}

#[test]
fn what_1_x_left_is_shown_and_removed_only_on_demand() {
    let agents = Agents::new();
    let home = &agents.home;
    let left = plant(&agents);
    assert_eq!(home.seen(), Seen::good());
    let doctor = home.run(&["doctor", "--json"]).json();
    let named = doctor["left_behind"].as_array().expect("a list").iter();
    let named: Vec<&str> = named.filter_map(|one| one["path"].as_str()).collect();
    assert_eq!(named, left);
    assert!(home.run(&["doctor"]).stdout.contains("agentctl prune --legacy"));
    for args in [&["prune", "--json"][..], &["prune", "--legacy", "--json"]] {
        home.run(args);
        assert!(left.iter().all(|path| fs::symlink_metadata(path).is_ok()));
    }
    assert_eq!(paths(&home.run(&["prune", "--legacy", "--json"]).json()), left);
    let removed = home.run(&["prune", "--legacy", "--yes", "--json"]);
    assert_eq!((removed.code, paths(&removed.json())), (Some(0), left));
    let kept = [".agentctl/opencode-sessions/ses_real", ".agentctl/config.json"];
    assert!(kept.iter().all(|below| home.path(below).exists()));
    assert!(!home.path(".claude/agentctl").exists());
    assert_eq!(home.run(&["doctor", "--json"]).json()["left_behind"], Value::Null);
    assert_eq!(home.seen(), Seen::good());
}

/// A link is removed, never what it leads to.
#[test]
fn nothing_is_removed_through_links() {
    let agents = Agents::new();
    let home = &agents.home;
    let precious = home.work().join("precious");
    fs::create_dir_all(precious.join("sessions")).expect("a folder");
    fs::write(precious.join("sessions/file"), "kept").expect("a file");
    for dir in [".claude/agentctl", ".codex"] {
        fs::create_dir_all(home.path(dir)).expect("a folder");
    }
    symlink(&precious, home.path(".claude/agentctl/sessions")).expect("a link");
    symlink(&precious, home.path(".codex/agentctl")).expect("a link");
    agents.own();
    let answer = home.run(&["prune", "--legacy", "--yes", "--json"]);
    let shown = (answer.code, paths(&answer.json()).len());
    assert_eq!(shown, (Some(8), 1), "{answer:#?}");
    assert!(precious.join("sessions/file").exists());
    assert!(home.path(".claude/agentctl/sessions").symlink_metadata().is_err());
}
