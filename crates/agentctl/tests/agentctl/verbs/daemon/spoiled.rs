//! The file of the lock is emptied, filled with garbage or forged: who has the lock, the kernel says.

use super::{pid, status};
use crate::home::{Agents, Daemon, until};
use rustix::{
    fs::{FlockOperation, flock},
    process::{Pid, Signal, kill_process},
};
use serde_json::json;
use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::Path,
};

/// What somebody may have put there.
fn spoiled() -> [String; 4] {
    let forged = json!({"pid": 1, "version": "2.0.0", "socket": "/nowhere.sock"});
    let no_place = json!({"pid": 1, "version": "2.0.0", "socket": ""});
    [String::new(), "\u{1}garbage".to_owned(), forged.to_string(), no_place.to_string()]
}

#[test]
fn it_is_named_and_ended_whatever_its_file_says() {
    let agents = Agents::new();
    let home = &agents.home;
    let lock = home.path(".local/state/agentctl/daemon.lock");
    for text in spoiled() {
        let mut daemon = home.daemon();
        // The daemon mends it at any moment, and it is spoiled until somebody has seen it so.
        let told = until("what was spoiled", || {
            fs::write(&lock, &text).expect("a file");
            let (code, told) = status(home);
            assert_eq!(pid(&told), u64::from(daemon.pid()), "{text}: {told:#}");
            (code == Some(8)).then_some(told)
        });
        assert_eq!(told["socket"], json!(home.socket()), "{text}");
        assert_eq!(told["problems"][0]["path"], json!(lock), "{text}: {told:#}");
        let refused = home.run(&["daemon", "run"]);
        assert!(refused.stderr.contains(&format!("process {}", daemon.pid())), "{refused:#?}");
        let ended = home.run(&["daemon", "stop"]);
        assert_eq!(ended.stdout, format!("the daemon (process {}) has ended\n", daemon.pid()));
        assert_eq!(daemon.ended(), Some(0));
    }
}

/// What lies in the place of its file, or nothing: it runs, is named and ended, and no second one begins.
#[test]
fn it_runs_though_its_file_is_removed() {
    let agents = Agents::new();
    let home = &agents.home;
    let lock = home.path(".local/state/agentctl/daemon.lock");
    let nothing: fn(&Path) = |_| {};
    let link: fn(&Path) = |path| symlink("/nowhere", path).expect("a link");
    let folder: fn(&Path) = |path| fs::create_dir(path).expect("a folder");
    for instead in [nothing, link, folder] {
        let mut daemon = home.daemon();
        fs::remove_file(&lock).expect("a file");
        instead(&lock);
        let (code, told) = status(home);
        assert!(matches!(code, Some(0 | 8)), "it may be mended by now: {told:#}");
        assert_eq!(pid(&told), u64::from(daemon.pid()), "{told:#}");
        let refused = home.run(&["daemon", "run"]);
        let named = format!("running already, as process {}", daemon.pid());
        assert!(refused.code == Some(5) && refused.stderr.contains(&named), "{refused:#?}");
        let ended = home.run(&["daemon", "stop"]);
        assert_eq!(ended.stdout, format!("the daemon (process {}) has ended\n", daemon.pid()));
        assert_eq!(daemon.ended(), Some(0));
        let _ = fs::remove_file(&lock).or_else(|_| fs::remove_dir(&lock)); // it may be mended
    }
}

/// It says again where it is.
#[test]
fn it_mends_its_file() {
    let agents = Agents::new();
    let home = &agents.home;
    let lock = home.path(".local/state/agentctl/daemon.lock");
    let mut command = home.agentctl(&["daemon", "run"]);
    let daemon = Daemon::of(home, command.env("WATCHDOG_USEC", "300000"));
    let before = fs::read(&lock).expect("a file");
    for text in spoiled() {
        fs::write(&lock, &text).expect("a file");
        until("the file as it was", || (fs::read(&lock).ok()? == before).then_some(()));
    }
    fs::remove_file(&lock).expect("a file");
    until("the file as it was", || (fs::read(&lock).ok()? == before).then_some(()));
    assert_eq!((status(home).0, pid(&status(home).1)), (Some(0), u64::from(daemon.pid())));
}

/// One that hangs is named by the kernel's word, and never by the file's.
#[test]
fn who_hangs_is_not_who_the_file_names() {
    let agents = Agents::new();
    let home = &agents.home;
    let daemon = home.daemon();
    let raw = Pid::from_raw(i32::try_from(daemon.pid()).expect("a pid")).expect("a pid");
    kill_process(raw, Signal::STOP).expect("it lives");
    fs::write(home.path(".local/state/agentctl/daemon.lock"), &spoiled()[2]).expect("a file");
    let (code, told) = status(home);
    assert_eq!((code, pid(&told)), (Some(8), u64::from(daemon.pid())), "{told:#}");
    let message = told["problems"][0]["message"].as_str().unwrap_or_default();
    assert!(message.contains("does not answer"), "{told:#}");
    assert!(!message.contains("No such file"), "that is the forged one: {told:#}");
    let stop = home.run(&["daemon", "stop"]);
    assert_eq!(stop.code, Some(7), "{stop:#?}");
    assert!(stop.stderr.contains(&format!("(process {})", daemon.pid())), "{stop:#?}");
}

/// What is there without a lock is nobody.
#[test]
fn a_file_alone_is_nobody() {
    let agents = Agents::new();
    let home = &agents.home;
    let lock = home.write(".local/state/agentctl/daemon.lock", &spoiled()[2]);
    agents.own();
    assert_eq!((status(home).0, &status(home).1["pid"]), (Some(1), &json!(null)));
    // One of another kind who has the lock is named, for it is he who keeps the daemon out.
    let file = File::open(&lock).expect("a file");
    flock(&file, FlockOperation::NonBlockingLockExclusive).expect("nobody else");
    let (code, told) = status(home);
    assert_eq!((code, pid(&told)), (Some(8), u64::from(std::process::id())), "{told:#}");
}
