//! Links where our files should be: nothing behind them is read as ours, written or removed.

use crate::home::{Agents, GOOD_CLAUDE, lines::id, receipts::days};
use serde_json::json;
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

const STATE: &str = ".local/state/agentctl";

fn precious(agents: &Agents) -> PathBuf {
    agents.home.write("precious", "kept")
}

fn is_kept(file: &Path) {
    assert_eq!(fs::read_to_string(file).ok().as_deref(), Some("kept"));
}

fn plant(agents: &Agents, to: &Path, name: &str) -> PathBuf {
    let path = agents.home.path(format!("{STATE}/{name}"));
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    symlink(to, &path).expect("a link");
    agents.own();
    path
}

/// The file that says who launches where is written before anything else.
#[test]
fn a_claim_is_not_written_through_a_link() {
    let agents = Agents::new();
    let precious = precious(&agents);
    let root = agents.home.work().to_string_lossy().replace('/', "%2f").replace('.', "%2e");
    plant(&agents, &precious, &format!("locks/{root}.lock"));
    let answer = agents.home.run(&["launch", "claude-code", "-p", "hi", "--json"]);
    assert_ne!(answer.code, Some(0), "{answer:#?}");
    is_kept(&precious);
    assert_eq!(agents.started(), 0);
}

#[test]
fn the_daemon_writes_through_no_link() {
    for name in ["daemon.lock", "daemon.log"] {
        let agents = Agents::new();
        let precious = precious(&agents);
        plant(&agents, &precious, name);
        let answer = agents.home.run(&["daemon", "start"]);
        assert_ne!(answer.code, Some(0), "{name}: {answer:#?}");
        is_kept(&precious);
    }
}

/// A whole file of ours replaces a link, and never what it leads to.
#[test]
fn a_lock_or_fuse_behind_a_link_is_neither_heard_nor_changed() {
    let agents = Agents::new();
    let home = &agents.home;
    let text = json!({"schema": 1, "id": "f-123456", "target": {"directory": "/elsewhere"},
        "set_at": days(0), "deadline": days(1), "action": "event"});
    let outside = home.write("fuse", text.to_string());
    plant(&agents, &outside, "intents/fuses/f-123456.json");
    let listed = home.run(&["fuses", "--json"]);
    assert_eq!(listed.json()["fuses"], json!([]), "{listed:#?}");
    let cancelled = home.run(&["fuse", "cancel", "f-123456"]);
    assert_ne!(cancelled.code, Some(0), "{cancelled:#?}");
    assert_eq!(fs::read_to_string(outside).ok(), Some(text.to_string()));
}

#[test]
fn a_receipt_behind_a_link_is_not_heard() {
    let agents = Agents::new();
    let home = &agents.home;
    let more = json!({"labels": {"who": "behind a link"}, "at": days(-90)});
    let text = agents.launched("l-1", GOOD_CLAUDE, more).to_string();
    let outside = home.write("receipt", &text);
    plant(&agents, &outside, "launches/l-1.json");
    let session = home.run(&["status", GOOD_CLAUDE, "--json"]).json()["session"].clone();
    assert_eq!(session["labels"]["who"], json!(null), "{session:#}");
    home.run(&["prune"]);
    assert_eq!(fs::read_to_string(outside).ok(), Some(text));
}

/// What a session is read from may be a link of its user's own; what we sweep never is.
#[test]
fn a_link_among_old_files_is_removed_and_not_what_it_leads_to() {
    let agents = Agents::new();
    let precious = precious(&agents);
    let old = json!({"at": days(-90)});
    agents.receipt("old", &agents.launched("old", &id(1), old));
    plant(&agents, &precious, "launches/old.log");
    agents.home.run(&["prune"]);
    is_kept(&precious);
    assert!(!agents.files().contains(&"launches/old.json".to_owned()));
}
