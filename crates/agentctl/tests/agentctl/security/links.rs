//! Links where our files should be: nothing behind them is read as ours, written or removed.

use super::ours::{Ours, STATE};
use crate::home::{Agents, Answer, lines::id, receipts::days};
use serde_json::json;
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

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

/// It was the link that was in the way.
fn is_refused(answer: &Answer) {
    assert!(matches!(answer.code, Some(1 | 6)), "{answer:#?}");
    let said = format!("{}{}", answer.stdout, answer.stderr);
    assert!(said.contains("symbolic link"), "{answer:#?}");
}

/// What a file about the directory that agents are launched in is called, without its ending.
fn name_of_work(agents: &Agents) -> String {
    let home = &agents.home;
    assert_eq!(home.run(&["lock", "."]).code, Some(0));
    let entries = fs::read_dir(home.path(format!("{STATE}/intents/locks"))).expect("a folder");
    let name = entries.flatten().next().expect("a lock").path();
    assert_eq!(home.run(&["unlock", "."]).code, Some(0));
    name.file_stem().expect("a name").to_string_lossy().into_owned()
}

/// The file that says who launches where is written before anything else.
#[test]
fn a_claim_is_not_written_through_a_link() {
    let agents = Agents::new();
    let precious = precious(&agents);
    agents.own();
    let name = name_of_work(&agents);
    plant(&agents, &precious, &format!("locks/{name}.lock"));
    is_refused(&agents.home.run(&["launch", "claude-code", "-p", "hi", "--json"]));
    is_kept(&precious);
    assert_eq!(agents.started(), 0);
}

#[test]
fn the_daemon_writes_through_no_link() {
    for name in ["daemon.lock", "daemon.log"] {
        let agents = Agents::new();
        let precious = precious(&agents);
        plant(&agents, &precious, name);
        is_refused(&agents.home.run(&["daemon", "start"]));
        is_kept(&precious);
    }
}

/// Nothing of ours is heard from behind a link, and who takes it away takes away no more than the link.
#[test]
fn what_is_behind_a_link_is_neither_heard_nor_changed() {
    for which in 0..Ours::KINDS {
        let agents = Agents::new();
        let home = &agents.home;
        let one = &Ours::all(&agents)[which];
        assert!(one.is_heard(home), "without a link it is");
        let text = fs::read_to_string(&one.file).expect("our file");
        let outside = home.path("outside");
        fs::rename(&one.file, &outside).expect("our file");
        symlink(&outside, &one.file).expect("a link");
        agents.own();
        assert!(!one.is_heard(home), "{}", one.file.display());
        let name = one.file.file_stem().expect("a name").to_string_lossy().into_owned();
        for words in [&["fuse", "cancel", &name][..], &["unlock", "/elsewhere"], &["prune"]] {
            home.run(words);
        }
        assert_eq!(fs::read_to_string(&outside).ok(), Some(text));
    }
}

/// What a session is read from may be a link of its user's own; what we sweep never is.
#[test]
fn a_link_among_old_files_is_removed_and_not_what_it_leads_to() {
    let agents = Agents::new();
    let precious = precious(&agents);
    let old = json!({"at": days(-90)});
    agents.receipt("old", &agents.launched("old", &id(1), old));
    let link = plant(&agents, &precious, "launches/old.log");
    agents.home.run(&["prune"]);
    is_kept(&precious);
    assert!(link.symlink_metadata().is_err(), "the link stays");
    assert!(!agents.files().contains(&"launches/old.json".to_owned()));
}
