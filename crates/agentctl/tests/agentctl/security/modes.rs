//! What we write is for its owner's eyes only, whatever the umask.

use crate::home::{Agents, other_user, until};
use std::{
    fs::{self, Permissions},
    os::unix::{
        fs::{PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
};

const STATE: &str = ".local/state/agentctl";

/// Everything below a folder, itself included.
fn all(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let mut next = 0;
    while let Some(path) = found.get(next).cloned() {
        if path.symlink_metadata().is_ok_and(|stat| stat.is_dir()) {
            let entries = fs::read_dir(path).expect("a folder").flatten();
            found.extend(entries.map(|entry| entry.path()));
        }
        next += 1;
    }
    found
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().map_or(0, |stat| stat.permissions().mode() & 0o777)
}

#[test]
fn all_that_we_write_is_its_owner_s_alone() {
    let agents = Agents::new();
    let home = &agents.home;
    let loose = |words: &str| {
        let mut shell = home.command("/bin/sh");
        shell
            .args(["-c", &format!("umask 000; exec \"$0\" {words}")])
            .arg(home.program("agentctl"));
        let answer = home.ask(&mut shell);
        assert_eq!(answer.code, Some(0), "{answer:#?}");
    };
    loose("launch claude-code -p hi --on-create true --steerable --json");
    loose("lock /elsewhere --reason words");
    loose("fuse set . --ttl 1h");
    loose("daemon start");
    let state = home.path(STATE);
    until("its files", || state.join("daemon.log").exists().then_some(()));
    loose("stop --all --force");
    loose("daemon stop");
    let written = all(&state);
    assert!(written.len() > 8, "{written:?}");
    for path in written {
        let stat = path.symlink_metadata().expect("our file");
        let wanted = if stat.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), wanted, "{}", path.display());
    }
}

/// A folder of ours that others may write is closed to them before anything is put there.
#[test]
fn a_folder_that_others_may_write_is_closed() {
    let agents = Agents::new();
    let home = &agents.home;
    let launches = home.path(format!("{STATE}/launches"));
    fs::create_dir_all(&launches).expect("a folder");
    agents.own();
    fs::set_permissions(&launches, Permissions::from_mode(0o777)).expect("our folder");
    let answer = home.run(&["launch", "claude-code", "-p", "hi", "--json"]);
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    assert_eq!(mode(&launches) & 0o022, 0);
}

/// Whose folder it is decides what lies there: nothing of ours is put into a stranger's.
#[test]
fn nothing_is_written_into_another_user_s_folder() {
    let agents = Agents::new();
    let home = &agents.home;
    if home.user().is_none() {
        return; // only root can be somebody else
    }
    let planted = home.root().join("planted");
    fs::create_dir(&planted).expect("a folder");
    chown(&planted, Some(other_user()), None).expect("a stranger's");
    fs::set_permissions(&planted, Permissions::from_mode(0o777)).expect("a folder");
    for words in [
        &["launch", "claude-code", "-p", "hi", "--json"][..],
        &["lock", "/elsewhere"],
        &["fuse", "set", ".", "--ttl", "1h"],
        &["daemon", "start"],
    ] {
        let mut command = home.agentctl(words);
        command.env("AGENTCTL_HOME", &planted);
        for name in ["launches", "locks", "intents", "intents/locks", "intents/fuses", "run"] {
            let below = planted.join(name);
            fs::create_dir_all(&below).expect("a folder");
            chown(&below, Some(other_user()), None).expect("a stranger's");
            fs::set_permissions(&below, Permissions::from_mode(0o777)).expect("a folder");
        }
        let answer = home.ask(&mut command);
        assert!(!matches!(answer.code, Some(0 | 2)), "{answer:#?}");
        let files: Vec<PathBuf> = all(&planted).into_iter().filter(|path| path.is_file()).collect();
        assert_eq!(files, [""; 0].map(PathBuf::from), "{words:?}");
    }
    assert_eq!(agents.started(), 0);
}

/// A receipt or a lock that another user made says nothing.
#[test]
fn another_user_s_receipt_is_not_heard() {
    let agents = Agents::new();
    let home = &agents.home;
    if home.user().is_none() {
        return;
    }
    let more = serde_json::json!({"labels": {"who": "a stranger"}});
    let receipt = agents.receipt("l-1", &agents.launched("l-1", crate::home::GOOD_CLAUDE, more));
    agents.own();
    let labels = || {
        let answer = home.run(&["status", crate::home::GOOD_CLAUDE, "--json"]);
        answer.json()["session"]["labels"].clone()
    };
    assert_eq!(labels()["who"], "a stranger", "one of his own is heard");
    chown(&receipt, Some(other_user()), None).expect("a stranger's");
    fs::set_permissions(&receipt, Permissions::from_mode(0o644)).expect("a file");
    assert_eq!(labels()["who"], serde_json::Value::Null);
}

/// Another user's processes are never ours, and his directory is refused as he would refuse it.
#[test]
fn another_user_may_not_read_what_we_wrote() {
    let agents = Agents::new();
    let home = &agents.home;
    if home.user().is_none() {
        return;
    }
    assert_eq!(home.run(&["lock", "/elsewhere", "--reason", "words"]).code, Some(0));
    let stranger = other_user();
    let mut grep = home.command("/bin/sh");
    grep.args(["-c", "PATH=/usr/bin:/bin; grep -r words \"$0\""]).arg(home.path(STATE));
    grep.uid(stranger).gid(stranger);
    let answer = crate::home::Answer::of(&mut grep, &home.root().join("out"));
    assert!(answer.stderr.contains("Permission denied") && answer.stdout.is_empty(), "{answer:#?}");
}
