//! Things that stand where a file should be: FIFOs, sockets, devices, directories. Nothing may block.

use crate::home::{
    Answer, DAY, Home, PROJECT, Seen,
    lines::{id, prompt, reply},
};
use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
    process::Command,
};

const NOT_A_FILE: &str = "not a regular file";

fn fifo(path: &Path) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
}

fn every_command(home: &Home, id: &str) -> Vec<Answer> {
    let calls: [&[&str]; 7] = [
        &["list"],
        &["list", "-a", "--usage"],
        &["status", id],
        &["explain", id],
        &["logs", id],
        &["peek", id],
        &["doctor"],
    ];
    calls.into_iter().map(|args| home.run(args)).collect()
}

#[test]
fn transcripts_that_are_no_files_are_problems() {
    let home = Home::new();
    let claude = |number| format!("{PROJECT}/{}.jsonl", id(number));
    let codex = format!("{DAY}/rollout-2026-11-01T10-00-00-{}.jsonl", id(6));
    fifo(&home.path(claude(1)));
    let _socket = UnixListener::bind(home.path(claude(2))).expect("a socket");
    symlink("/dev/zero", home.path(claude(3))).expect("a link");
    symlink("/dev/tty", home.path(claude(4))).expect("a link");
    fs::create_dir(home.path(claude(5))).expect("a folder");
    fifo(&home.path(&codex));
    for number in 1..=6 {
        every_command(&home, &id(number));
    }
    let mut expected = Seen::good().problem(&codex, NOT_A_FILE);
    for number in 1..=5 {
        expected = expected.problem(&claude(number), NOT_A_FILE);
    }
    assert_eq!(home.seen(), expected);
}

#[test]
fn small_files_that_are_no_files_are_problems() {
    let home = Home::new();
    fifo(&home.path(".claude/sessions/1.json"));
    fs::create_dir(home.path(".claude/sessions/2.json")).expect("a folder");
    symlink("/dev/zero", home.path(".claude/sessions/3.json")).expect("a link");
    fifo(&home.path(".codex/session_index.jsonl"));
    fifo(&home.path(".codex/thread-writer-locks/00000001-0000-4000-8000-000000000000.lock"));
    let expected = Seen::good()
        .problem(".claude/sessions/1.json", "is a fifo, not a regular file")
        .problem(".claude/sessions/2.json", "is a directory, not a regular file")
        .problem(".claude/sessions/3.json", "is a device, not a regular file");
    assert_eq!(home.seen(), expected);
}

#[test]
fn folders_that_are_no_folders_are_problems() {
    let home = Home::new();
    fifo(&home.path(".claude/projects/-fifo"));
    home.write(".claude/projects/-file", "");
    symlink("/dev/null", home.path(".claude/projects/-device")).expect("a link");
    home.write(".claude/sessions", "");
    fifo(&home.path(".codex/thread-writer-locks"));
    home.write(".codex/archived_sessions", "");
    let no_folder = "Not a directory (os error 20)";
    let expected = Seen::good()
        .problem(".claude/projects/-device", no_folder)
        .problem(".claude/sessions", no_folder)
        .problem(".codex/thread-writer-locks", no_folder)
        .problem(".codex/archived_sessions", no_folder);
    assert_eq!(home.seen(), expected);
}

/// Tokens need the transcripts of sub-agents, the state does not: all ways of asking agree on it.
#[test]
fn bad_transcripts_of_sub_agents_change_no_state() {
    let home = Home::new();
    for number in 1..=3 {
        home.claude(&id(number), &[prompt("Begin"), reply("Done")]);
    }
    let agent = |number| home.path(format!("{PROJECT}/{}/subagents/agent-1.jsonl", id(number)));
    fifo(&agent(1));
    fs::create_dir_all(agent(2)).expect("a folder");
    fs::create_dir_all(agent(3).parent().expect("a folder")).expect("a folder");
    symlink("gone", agent(3)).expect("a link");
    let list = |args: &[&str]| {
        let answer = home.run(args).json();
        let sessions = answer["sessions"].as_array().expect("sessions").clone();
        let mut all: Vec<_> =
            sessions.iter().map(|one| (one["id"].to_string(), one["state"].to_string())).collect();
        all.sort();
        all
    };
    let plain = list(crate::home::ALL);
    for number in 1..=3 {
        let one = home.run(&["status", &id(number), "--json"]).json();
        assert_eq!(one["session"]["state"], "done", "session {number}: {one:#}");
    }
    assert_eq!(list(&["list", "--since", "all", "--usage", "--json"]), plain);
}
