//! Killed at any moment, while agents come and go: nothing is lost, and nothing is wrong.

use crate::home::{Agents, Daemon, Home, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// How often it is killed.
const KILLS: u32 = 12;

/// Moments between two hundredths of a second and half a second after its start, spread without a clock.
fn moment(kill: u32) -> Duration {
    Duration::from_millis(u64::from(kill.wrapping_mul(2_654_435_761) >> 16) % 480 + 20)
}

/// How much scripts of fuses have written.
fn size(home: &Home) -> u64 {
    fs::metadata(home.path("done")).map_or(0, |stat| stat.len())
}

fn launched(home: &Home, number: usize) -> String {
    let dir = home.path(format!("work-{number}"));
    fs::create_dir(&dir).expect("a folder");
    std::os::unix::fs::chown(&dir, home.user(), None).expect("our folder");
    let dir = dir.to_str().expect("a name");
    let answer = home.run(&["launch", "claude-code", "--json", "-p", "x", "--cwd", dir]);
    answer.json()["session"]["id"].as_str().unwrap_or_else(|| panic!("{answer:#?}")).to_owned()
}

#[test]
fn nothing_is_lost_whenever_it_is_killed() {
    let agents = Agents::new();
    let home = &agents.home;
    let cursor = home.cursor();
    let over = AtomicBool::new(false);
    let (fuses, ids) = thread::scope(|scope| {
        let life = scope.spawn(|| {
            let (mut fuses, mut ids) = (Vec::new(), Vec::new());
            for number in 0.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                let id = launched(home, number);
                let script = format!("echo {number} >>\"$HOME/done\"");
                let more =
                    ["--ttl", "200ms", "--on-expire", "script", "--script", &script, "--json"];
                let words = [&["fuse", "set", "."], &more[..]].concat();
                fuses.push(home.run(&words).json()["fuses"][0].clone());
                let ended = if number % 2 == 0 { home.run(&["stop", &id]).code } else { Some(0) };
                assert_eq!(ended, Some(0));
                ids.push(id);
            }
            (fuses, ids)
        });
        for kill in 0..KILLS {
            let began = Instant::now();
            let mut daemon = Daemon::begin(home, &mut home.agentctl(&["daemon", "run"]));
            // At any moment; and at moments when it is surely at work, however slow the machine is.
            match kill % 3 {
                0 => until("a daemon", || daemon.said().contains("listens on").then_some(())),
                1 => {
                    let (before, own) = (size(home), || daemon.said().contains("listens on"));
                    until("a fuse that fires", || (size(home) > before && own()).then_some(()));
                }
                _ => {
                    while began.elapsed() < moment(kill) {
                        thread::yield_now();
                    }
                }
            }
            daemon.kill();
        }
        over.store(true, Ordering::Relaxed);
        life.join().expect("a life")
    });
    let _daemon = home.daemon();
    let all =
        || home.run(&["fuses", "-a", "--json"]).json()["fuses"].as_array().expect("fuses").clone();
    until("all fuses fired", || all().iter().all(|one| !one["fired"].is_null()).then_some(()));
    assert_eq!(all().len(), fuses.len());
    // Each was done, once or again.
    let done = fs::read_to_string(home.path("done")).expect("they were run");
    let done: BTreeSet<&str> = done.lines().collect();
    assert_eq!(done.len(), fuses.len(), "{done:?}");
    assert_states(home, &ids);
    assert_told(home, &cursor, (&fuses, &ids));
}

/// What was stopped is stopped, and what was left alone works.
fn assert_states(home: &Home, ids: &[String]) {
    let all = home.run(&["list", "-a", "--json", "--timeout", "none"]).json();
    let sessions = all["sessions"].as_array().expect("sessions");
    for (number, id) in ids.iter().enumerate() {
        let own: Vec<&Value> = sessions.iter().filter(|one| one["id"] == *id).collect();
        let state = if number % 2 == 0 { "stopped" } else { "working" };
        assert_eq!(own.iter().map(|one| &one["state"]).collect::<Vec<_>>(), [state], "{own:#?}");
    }
}

/// Every firing and every end is told to whoever goes on from before, once by id.
fn assert_told(home: &Home, cursor: &str, (fuses, ids): (&[Value], &[String])) {
    let lines = home.run(&["events", "--once", "--json", "--since", cursor]).stdout;
    let events: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let count = |kind: &str, field: &str, id: &Value| {
        let of = |event: &&Value| event["type"] == kind && event[field]["id"] == *id;
        events.iter().filter(of).count()
    };
    for fuse in fuses {
        let told = ["fuse.set", "fuse.fired"].map(|kind| count(kind, "fuse", &fuse["id"]));
        assert_eq!(told, [1, 1], "{fuse:#}");
    }
    for (number, id) in ids.iter().enumerate() {
        let ended = count("session.ended", "session", &Value::from(id.as_str()));
        assert_eq!(ended, usize::from(number % 2 == 0), "{id}: {events:#?}");
    }
    let unique: BTreeSet<String> = events.iter().map(|event| event["id"].to_string()).collect();
    assert_eq!(unique.len(), events.len());
}

/// Whose parent was killed and whose time is over is ended by the daemon, as its parent would have.
#[test]
fn deadlines_are_kept_where_nobody_else_is_left() {
    let agents = Agents::new();
    let home = &agents.home;
    let launched =
        home.run(&["launch", "claude-code", "--json", "-p", "x", "--timeout", "12s"]).json();
    let session = &launched["session"];
    let id = session["id"].as_str().expect("an id");
    let pid = session["pid"].as_u64().expect("a pid");
    let parent = fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let parent = parent.lines().find_map(|line| line.strip_prefix("PPid:")).expect("it has one");
    let parent = Pid::from_raw(parent.trim().parse().expect("a pid")).expect("a pid");
    kill_process(parent, Signal::KILL).expect("the shim lives");
    let shown = |id: &str| home.run(&["status", id, "--json"]).json()["session"].clone();
    until("an overdue session", || (shown(id)["overdue"] == true).then_some(()));
    assert_eq!(shown(id)["live"], true);
    let daemon = home.daemon();
    until("its end", || (shown(id)["state"] == "stopped").then_some(()));
    until("a line", || daemon.said().contains("its time was over").then_some(()));
}

/// As long as its parent is there, that one ends it, and sees how.
#[test]
fn the_parent_comes_first() {
    let agents = Agents::new();
    let home = &agents.home;
    let daemon = home.daemon();
    let launched =
        home.run(&["launch", "claude-code", "--json", "-p", "x", "--timeout", "12s"]).json();
    let id = launched["session"]["id"].as_str().expect("an id");
    let shown = || home.run(&["status", id, "--json"]).json()["session"].clone();
    until("its end", || (shown()["outcome"] == "timed out").then_some(()));
    assert!(!daemon.said().contains("its time was over"), "{}", daemon.said());
}
