//! What we write is for its owner's eyes only, whatever the umask, and in folders of his alone.

use super::{
    below, is_root,
    ours::{Ours, STATE},
};
use crate::home::{Agents, Answer, Home, other_user, until};
use rustix::fs::{CWD, Mode, mkfifoat};
use std::{
    collections::BTreeSet,
    fs::{self, Permissions},
    os::unix::{
        fs::{PermissionsExt, chown, symlink},
        process::CommandExt,
    },
    path::{Path, PathBuf},
};

/// What the agent itself writes, below its home.
const ITS_OWN: [&str; 2] = ["started", ".claude"];

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().map_or(0, |stat| stat.permissions().mode() & 0o7777)
}

/// A folder that another user made for us to walk into.
fn planted(path: &Path, by: u32) {
    fs::create_dir_all(path).expect("a folder");
    chown(path, Some(by), None).expect("a stranger's");
    fs::set_permissions(path, Permissions::from_mode(0o777)).expect("a folder");
}

/// Everything that is new in the home, the agent's own left out.
fn written(home: &Home, before: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let is_ours = |path: &PathBuf| !ITS_OWN.iter().any(|own| path.starts_with(home.path(own)));
    let all = below(&home.path("")).into_iter();
    all.filter(|path| is_ours(path) && !before.contains(path)).collect()
}

/// With a daemon that tells nobody who listens, so that there is an outbox, a cursor and a socket.
#[test]
fn all_that_we_write_is_its_owner_s_alone() {
    let agents = Agents::new();
    let home = &agents.home;
    home.write(".config/agentctl/config.toml", "[webhook]\nurl = 'http://127.0.0.1:1/'\n");
    let runtime = home.path("runtime");
    fs::create_dir(&runtime).expect("a folder");
    fs::set_permissions(&runtime, Permissions::from_mode(0o700)).expect("our folder");
    agents.own();
    let before = below(&home.path("")).into_iter().collect();
    let loose = |words: &str| {
        let mut shell = home.command("/bin/sh");
        let line = format!("umask 000; exec \"$0\" {words}");
        shell.args(["-c", &line]).arg(home.program("agentctl")).env("XDG_RUNTIME_DIR", &runtime);
        let answer = home.ask(&mut shell);
        assert_eq!(answer.code, Some(0), "{answer:#?}");
    };
    loose("daemon start");
    loose("launch claude-code -p hi --on-create true --steerable --json");
    loose("lock /elsewhere --reason words");
    loose("fuse set . --ttl 1h");
    let closed = |places: &[&str]| {
        for place in places {
            until(place, || {
                let mut written = written(home, &before).into_iter();
                written.any(|path| path.display().to_string().contains(place)).then_some(())
            });
        }
        for path in written(home, &before) {
            let Ok(stat) = path.symlink_metadata() else { continue }; // it was for a moment
            let wanted = if stat.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode(&path), wanted, "{}", path.display());
        }
    };
    closed(&["launches/", "locks/", "intents/locks/", "intents/fuses/", ".in"]);
    closed(&["daemon.log", "daemon.lock", ".cursor", "runtime/agentctl/", ".sock"]);
    loose("stop --all --force");
    closed(&["/outbox/", ".exit"]);
    loose("daemon stop");
}

/// A folder of ours that others may enter is closed to them before anything is put there.
#[test]
fn a_folder_that_others_may_write_is_closed() {
    for open in [0o777, 0o755, 0o2770] {
        let agents = Agents::new();
        let home = &agents.home;
        let launches = home.path(format!("{STATE}/launches"));
        fs::create_dir_all(&launches).expect("a folder");
        agents.own();
        fs::set_permissions(&launches, Permissions::from_mode(open)).expect("our folder");
        let answer = home.run(&["launch", "claude-code", "-p", "hi", "--json"]);
        assert_eq!(answer.code, Some(0), "{answer:#?}");
        assert_eq!(mode(&launches), 0o700);
    }
}

/// All that would write into the folder of our state.
const WRITERS: [&[&str]; 4] = [
    &["launch", "claude-code", "-p", "hi", "--json"],
    &["lock", "/elsewhere"],
    &["fuse", "set", ".", "--ttl", "1h"],
    &["daemon", "start"],
];

/// Refused for whose folder it is, and nothing is there that was not before.
fn is_refused(agents: &Agents, words: &[&str], place: &Path) {
    let home = &agents.home;
    let before = below(&home.root().join("planted"));
    let answer = home.ask(home.agentctl(words).env("AGENTCTL_HOME", place));
    let said = format!("{}{}", answer.stdout, answer.stderr);
    assert!(matches!(answer.code, Some(1 | 6)), "{answer:#?}");
    assert!(said.contains("belongs to another user"), "{answer:#?}");
    assert_eq!(below(&home.root().join("planted")), before, "{words:?}");
    assert_eq!(agents.started(), 0);
}

/// Whose folder it is decides what lies there: nothing of ours is put into a stranger's, be it empty, or
/// full of folders, or one of ours between.
#[test]
fn nothing_is_written_into_another_user_s_folder() {
    let agents = Agents::new();
    let home = &agents.home;
    if !is_root(home) {
        return;
    }
    let (stranger, folder) = (other_user(), home.root().join("planted"));
    planted(&folder, stranger);
    for words in WRITERS {
        is_refused(&agents, words, &folder);
        is_refused(&agents, words, &folder.join("not/there"));
    }
    let own = folder.join("ours");
    fs::create_dir(&own).expect("a folder");
    chown(&own, home.user(), None).expect("our own");
    for words in WRITERS {
        is_refused(&agents, words, &own);
    }
    for name in ["launches", "locks", "intents/locks", "intents/fuses", "run"] {
        planted(&folder.join(name), stranger);
    }
    for words in WRITERS {
        is_refused(&agents, words, &folder);
    }
}

/// A stranger's link to a folder of ours is a stranger's: he may lead it elsewhere.
#[test]
fn another_user_s_link_to_our_folder_is_not_followed() {
    let agents = Agents::new();
    let home = &agents.home;
    if !is_root(home) {
        return;
    }
    let folder = home.root().join("planted");
    fs::create_dir(&folder).expect("a folder");
    fs::create_dir(folder.join("ours")).expect("a folder");
    chown(folder.join("ours"), home.user(), None).expect("our own");
    symlink(folder.join("ours"), folder.join("link")).expect("a link");
    std::os::unix::fs::lchown(folder.join("link"), Some(other_user()), None).expect("a stranger's");
    for words in WRITERS {
        is_refused(&agents, words, &folder.join("link"));
    }
    let answer = home.ask(home.agentctl(WRITERS[1]).env("AGENTCTL_HOME", folder.join("ours")));
    assert_eq!(answer.code, Some(0), "his own is written to: {answer:#?}");
}

/// A receipt, a lock or a fuse that another user made says nothing.
#[test]
fn another_user_s_receipt_is_not_heard() {
    let agents = Agents::new();
    let home = &agents.home;
    if !is_root(home) {
        return;
    }
    for one in Ours::all(&agents) {
        assert!(one.is_heard(home), "one of his own is heard");
        chown(&one.file, Some(other_user()), None).expect("a stranger's");
        fs::set_permissions(&one.file, Permissions::from_mode(0o644)).expect("a file");
        assert!(!one.is_heard(home), "{}", one.file.display());
    }
}

/// A pipe in their place is neither waited for nor heard.
#[test]
fn a_pipe_is_not_waited_for() {
    let agents = Agents::new();
    let home = &agents.home;
    for one in Ours::all(&agents) {
        assert!(one.is_heard(home), "a file is heard");
        fs::remove_file(&one.file).expect("our file");
        mkfifoat(CWD, &one.file, Mode::RUSR | Mode::WUSR).expect("a pipe");
        agents.own();
        assert!(!one.is_heard(home), "{}", one.file.display());
    }
    let state = home.path(STATE);
    mkfifoat(CWD, state.join("daemon.log"), Mode::RUSR | Mode::WUSR).expect("a pipe");
    agents.own();
    let answer = home.run(&["daemon", "start"]);
    assert!(!matches!(answer.code, Some(0 | 2)), "{answer:#?}");
}

/// It is our own folder that keeps him out, and not one above that happens to be closed.
#[test]
fn another_user_may_not_read_what_we_wrote() {
    let agents = Agents::new();
    let home = &agents.home;
    if !is_root(home) {
        return;
    }
    let above = home.path(".local/state");
    fs::create_dir_all(&above).expect("a folder");
    agents.own();
    assert_eq!(home.run(&["lock", "/elsewhere", "--reason", "words"]).code, Some(0));
    let stranger = other_user();
    let grep = |place: &Path| {
        let mut grep = home.command("/bin/sh");
        grep.args(["-c", "PATH=/usr/bin:/bin; grep -r words \"$0\""]).arg(place);
        Answer::of(grep.uid(stranger).gid(stranger), &home.root().join("out"))
    };
    fs::write(above.join("open"), "words").expect("a file");
    let open = grep(&above.join("open"));
    assert_eq!(open.code, Some(0), "he gets as far as our folder: {open:#?}");
    let answer = grep(&home.path(STATE));
    assert!(answer.stderr.contains("Permission denied") && answer.stdout.is_empty(), "{answer:#?}");
}
