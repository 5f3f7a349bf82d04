//! Answers about the past, which somebody else works out: whole, or none.

use crate::home::{Agents, Caller, Daemon, Home};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::{fs, io::Read};

/// Another program in the place of a running daemon's changes nothing.
#[test]
fn an_upgrade_does_no_harm() {
    let home = &Home::new(); // it is ours, who run the daemon
    let copy = home.path("agentctl");
    fs::copy(home.program("agentctl"), &copy).expect("a copy");
    let mut command = std::process::Command::new(&copy);
    command.env_clear().env("HOME", home.path("")).args(["daemon", "run"]).current_dir("/");
    let _daemon = Daemon::of(home, &mut command);
    fs::remove_file(&copy).expect("our copy");
    fs::write(&copy, "another program").expect("a file");
    let mut caller = Caller::new(&home.socket());
    let answer = caller.ask("list", json!({"all": true}));
    assert_eq!(answer["result"]["schema"], 1, "{answer:#}");
}

/// Who works it out is killed in the middle: the caller is hung up on, and told nothing else.
#[test]
fn half_an_answer_is_none() {
    let agents = Agents::new();
    let home = &agents.home;
    let daemon = Daemon::of(home, &mut home.as_us(&["daemon", "run"]));
    let mut caller = Caller::new(&home.socket());
    // An answer begins with the id of its question, and nobody reads it yet.
    let id = "x".repeat(2 << 20);
    let ask = json!({"jsonrpc": "2.0", "id": id, "method": "list", "params": {"all": true}});
    assert!(caller.send(format!("{ask}\n").as_bytes()));
    let mut heard = vec![0];
    caller.0.get_mut().read_exact(&mut heard).expect("it begins");
    let clerk = child(daemon.pid()).expect("somebody at work, whom the full pipe holds");
    kill_process(clerk, Signal::KILL).expect("it lives");
    let _ = caller.0.read_to_end(&mut heard); // it may be a reset
    assert!(heard.starts_with(b"{\"jsonrpc\"") && heard.len() < 2 << 20, "{}", heard.len());
    assert!(!heard.contains(&b'\n'), "half a line, and nothing after it");
    assert_eq!(Caller::new(&home.socket()).ask("version", json!({}))["result"]["schema"], 1);
}

/// The process that works an answer out.
fn child(daemon: u32) -> Option<Pid> {
    let all = fs::read_dir("/proc").ok()?.flatten();
    let mut pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let line = format!("PPid:\t{daemon}");
    let of = |pid: &i32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.lines().any(|own| own == line)
    };
    Pid::from_raw(pids.find(of)?)
}
