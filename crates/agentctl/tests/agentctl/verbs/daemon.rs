//! The daemon: one at a time, found by the kernel's lock, and never needed for an answer.

mod installed;
mod killed;
mod mutated;
mod past;
mod socket;
mod spoiled;
mod systemd;
mod versions;

use crate::home::{Agents, Answer, Daemon, Home, lines::id, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    thread,
};

fn status(home: &Home) -> (Option<i32>, Value) {
    let answer = home.run(&["daemon", "status", "--json"]);
    (answer.code, answer.json())
}

fn pid(status: &Value) -> u64 {
    status["pid"].as_u64().unwrap_or_else(|| panic!("no pid: {status:#}"))
}

#[test]
fn it_starts_once_and_ends_when_told() {
    let agents = Agents::new();
    let home = &agents.home;
    assert_eq!((status(home).0, &status(home).1["running"]), (Some(1), &json!(false)));
    assert_eq!(home.run(&["daemon", "stop"]).code, Some(0), "what does not run has ended");
    let first = home.run(&["daemon", "start"]);
    let (code, running) = status(home);
    assert_eq!((first.code, code), (Some(0), Some(0)), "{first:#?} {running:#}");
    assert_eq!(first.stdout, format!("the daemon runs, as process {}\n", pid(&running)));
    let stores = running["watches"].as_array().expect("stores");
    assert!(stores.contains(&json!(home.path(".claude"))), "{stores:?}");
    let again = home.run(&["daemon", "start"]);
    assert_eq!(again.code, Some(0));
    assert_eq!(
        again.stdout,
        format!("the daemon is running already, as process {}\n", pid(&running))
    );
    assert_eq!(home.run(&["daemon", "run"]).code, Some(5), "there is only one");
    assert_eq!(home.run(&["daemon", "restart"]).code, Some(0));
    let (_, next) = status(home);
    assert_ne!(pid(&next), pid(&running));
    let ended = home.run(&["daemon", "stop"]);
    assert_eq!(ended.stdout, format!("the daemon (process {}) has ended\n", pid(&next)));
    assert_eq!(status(home).0, Some(1));
    assert!(!home.socket().exists());
}

/// It keeps nothing of whoever started it: who waits for the end of a pipe gets it.
#[test]
fn it_lets_go_of_what_its_caller_had_open() {
    let agents = Agents::new();
    let home = &agents.home;
    let (mut read, write) = std::io::pipe().expect("a pipe");
    let mut shell = home.command("/bin/sh");
    shell.args(["-c", "exec 3>&1 >/dev/null; \"$0\" daemon start"]);
    let mut child = shell.arg(home.program("agentctl")).stdout(write).spawn().expect("a shell");
    assert!(child.wait().expect("a child").success());
    drop(shell); // our own end
    std::io::Read::read_to_end(&mut read, &mut Vec::new()).expect("an end");
    assert_eq!(status(home).0, Some(0), "and it runs");
    home.run(&["daemon", "stop"]);
}

/// Nobody but the user gets near its files.
#[test]
fn its_files_are_its_user_s() {
    let agents = Agents::new();
    let _daemon = agents.home.daemon();
    let mode = |path: &str| {
        let path = agents.home.path(".local/state/agentctl").join(path);
        fs::metadata(path).expect("a file").permissions().mode() & 0o777
    };
    assert_eq!(["run", "run/agentctl.sock", "daemon.lock"].map(mode), [0o700, 0o600, 0o600]);
}

/// Of many who start it at once all are told of the same one.
#[test]
fn starts_race_and_one_wins() {
    let agents = Agents::new();
    let home = &agents.home;
    let answers: Vec<Answer> = thread::scope(|scope| {
        let calls: Vec<_> =
            (0..6).map(|_| scope.spawn(|| home.run(&["daemon", "start"]))).collect();
        calls.into_iter().map(|call| call.join().expect("an answer")).collect()
    });
    let pid = pid(&status(home).1);
    for answer in &answers {
        let named = answer.stdout.contains(&format!("process {pid}"));
        assert!(answer.code == Some(0) && named, "{pid}: {answer:#?}");
    }
    let first = answers.iter().filter(|answer| answer.stdout.contains("daemon runs")).count();
    assert_eq!(first, 1, "{answers:#?}");
}

/// A killed daemon is not running, whatever lies around; the next one takes its place.
#[test]
fn what_a_killed_one_leaves_is_nobody_s() {
    let agents = Agents::new();
    let home = &agents.home;
    let mut first = home.daemon();
    first.kill();
    assert!(home.socket().exists(), "nobody was there to remove it");
    assert_eq!(status(home).0, Some(1));
    let second = home.daemon();
    assert_eq!(pid(&status(home).1), u64::from(second.pid()));
}

/// The lock of a killed one may be seen for a moment longer: a start waits for that, and no longer.
#[test]
fn it_starts_right_after_a_kill() {
    let agents = Agents::new();
    let home = &agents.home;
    for round in 0..5 {
        let started = home.run(&["daemon", "start"]);
        assert_eq!(started.code, Some(0), "{round}: {started:#?}");
        let pid = i32::try_from(pid(&status(home).1)).expect("a pid");
        kill_process(Pid::from_raw(pid).expect("a pid"), Signal::KILL).expect("it lives");
    }
    let restarts: Vec<Answer> = thread::scope(|scope| {
        let calls: Vec<_> =
            (0..4).map(|_| scope.spawn(|| home.run(&["daemon", "restart"]))).collect();
        calls.into_iter().map(|call| call.join().expect("an answer")).collect()
    });
    assert!(restarts.iter().all(|answer| answer.code == Some(0)), "{restarts:#?}");
    assert_eq!(home.run(&["daemon", "stop"]).code, Some(0));
}

/// Nobody can find a daemon whose directory was removed: it makes room for the next.
#[test]
fn who_cannot_be_found_ends() {
    let agents = Agents::new();
    let home = &agents.home;
    let mut first = home.daemon();
    let state = home.path(".local/state/agentctl");
    fs::rename(&state, home.path("elsewhere")).expect("our folder");
    let second = home.daemon();
    assert_eq!(first.ended(), Some(0));
    assert_eq!(pid(&status(home).1), u64::from(second.pid()));
}

#[test]
fn the_login_s_own_directory_is_used_where_it_is_safe() {
    let agents = Agents::new();
    let home = &agents.home;
    let dir = home.write("login/x", "").parent().expect("a folder").to_owned();
    agents.own();
    for (mode, used) in [(0o700, true), (0o755, false)] {
        fs::set_permissions(&dir, Permissions::from_mode(mode)).expect("our folder");
        let mut command = home.agentctl(&["daemon", "run"]);
        let _daemon = Daemon::of(home, command.env("XDG_RUNTIME_DIR", &dir));
        // Whoever has other variables finds it all the same.
        let socket = PathBuf::from(status(home).1["socket"].as_str().expect("a socket"));
        let below =
            if used { dir.join("agentctl") } else { home.path(".local/state/agentctl/run") };
        assert_eq!(socket.parent(), Some(&*below), "{mode:o}");
        assert!(socket.exists(), "{mode:o}");
    }
}

/// Two states of one user share his directories of sockets and of caches, and nothing in them.
#[test]
fn each_state_has_a_daemon_of_its_own() {
    let agents = Agents::new();
    let home = &agents.home;
    let dir = home.write("login/x", "").parent().expect("a folder").to_owned();
    home.write("other/x", "");
    agents.own();
    fs::set_permissions(&dir, Permissions::from_mode(0o700)).expect("our folder");
    let call = |words: &[&str], other: bool| {
        let mut command = home.agentctl(words);
        command.env("XDG_RUNTIME_DIR", &dir);
        if other {
            command.env("XDG_STATE_HOME", home.path("other"));
        }
        command
    };
    let mut first = Daemon::of(home, &mut call(&["daemon", "run"], false));
    let second = Daemon::of(home, &mut call(&["daemon", "run"], true));
    let shown = |other| home.ask(&mut call(&["daemon", "status", "--json"], other)).json();
    assert_eq!(pid(&shown(false)), u64::from(first.pid()));
    assert_eq!(pid(&shown(true)), u64::from(second.pid()));
    until("cursors", || {
        let cache = fs::read_dir(home.path(".cache/agentctl")).into_iter().flatten().flatten();
        let is_cursor = |file: &fs::DirEntry| file.path().extension() == Some("cursor".as_ref());
        (cache.filter(is_cursor).count() == 2).then_some(())
    });
    let ended = home.ask(&mut call(&["daemon", "stop"], false));
    assert_eq!(ended.stdout, format!("the daemon (process {}) has ended\n", first.pid()));
    assert_eq!(first.ended(), Some(0));
    assert_eq!(pid(&shown(true)), u64::from(second.pid()));
}

#[test]
fn where_it_cannot_listen_it_does_not_start() {
    let agents = Agents::new();
    let home = &agents.home;
    let run = home.path(".local/state/agentctl/run");
    fs::create_dir_all(&run).expect("a folder");
    agents.own();
    let blocked = |why: &str| {
        let answer = home.run(&["daemon", "start"]);
        assert_eq!(answer.code, Some(6), "{answer:#?}");
        assert!(answer.stderr.contains("cannot listen on"), "{answer:#?}");
        assert!(answer.stderr.contains(why), "{answer:#?}");
        assert_eq!(status(home).0, Some(1));
    };
    home.write(".local/state/agentctl/run/agentctl.sock", "mine");
    agents.own();
    blocked("something else lies there");
    fs::remove_file(home.socket()).expect("a file");
    if home.user().is_some() {
        // Not ours, and closed to us.
        std::os::unix::fs::chown(&run, Some(0), Some(0)).expect("we are root");
        fs::set_permissions(&run, Permissions::from_mode(0o555)).expect("our folder");
        blocked("agentctl.sock: the directory belongs to another user");
    }
    let long = home.path(format!("{}/", "x".repeat(120)));
    fs::create_dir(&long).expect("a folder");
    agents.own();
    let answer = home.ask(home.agentctl(&["daemon", "run"]).env("AGENTCTL_HOME", &long));
    assert_eq!(answer.code, Some(1), "{answer:#?}");
    assert!(answer.stderr.contains("XDG_RUNTIME_DIR"), "it says no way out: {answer:#?}");
}

/// Every answer is the same with it, without it, and where it is not wanted.
#[test]
fn no_answer_needs_it() {
    let agents = Agents::new();
    let home = &agents.home;
    let process = home.stand_in();
    home.register(&process, &id(1), json!({"status": "busy"}));
    let all = || {
        let words: [&[&str]; 5] = [
            &["list", "--json", "--timeout", "none"],
            &["status", &id(1), "--json"],
            &["explain", &id(1), "--json"],
            &["locks", "--json"],
            &["fuses", "--json"],
        ];
        words.map(|words| {
            let plain = home.run(words);
            let alone = home.ask(home.agentctl(words).env("AGENTCTL_NO_DAEMON", "1"));
            assert_eq!((&plain.stdout, plain.code), (&alone.stdout, alone.code));
            plain.stdout
        })
    };
    let without = all();
    let daemon = home.daemon();
    assert_eq!(all(), without);
    drop(daemon);
    assert_eq!(all(), without);
}

/// What agents do is in its log, and where it stood in its cache: deleting that loses nothing but the past.
#[test]
fn it_goes_on_where_it_was_killed() {
    let agents = Agents::new();
    let home = &agents.home;
    let mut daemon = home.daemon();
    let cursor = until("a cursor", || {
        let cache = fs::read_dir(home.path(".cache/agentctl")).ok()?;
        let mut files = cache.flatten().map(|file| file.path());
        files.find(|path| path.extension() == Some("cursor".as_ref()))
    });
    daemon.kill();
    let process = home.stand_in();
    home.register(&process, &id(1), json!({"status": "busy"}));
    let says = |daemon: &Daemon, what: &str| {
        until(what, || daemon.said().contains(what).then_some(()));
    };
    let mut second = home.daemon();
    says(&second, "gap nobody watched from");
    says(&second, &format!("session.working claude-code {} working", id(1)));
    second.kill();
    fs::remove_file(&cursor).expect("a cache");
    let third = home.daemon();
    process.end();
    says(&third, &format!("session.ended claude-code {}", id(1)));
    assert!(!third.said().contains("gap"), "{}", third.said());
    fs::write(&cursor, "c1.garbage").expect("a cache");
    drop(third);
    assert!(!home.daemon().said().contains("problem"));
}
