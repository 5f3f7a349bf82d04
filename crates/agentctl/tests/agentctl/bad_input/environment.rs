//! A caller's environment that is not as usual.

use crate::home::{
    ALL, Home, Seen,
    lines::{id, prompt, reply},
    text,
};
use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt};

/// Ids that are listed, and the exit code.
fn listed(home: &Home, command: &mut std::process::Command) -> (Option<i32>, Vec<String>) {
    let answer = home.ask(command);
    let list = answer.json();
    let ids = list["sessions"].as_array().expect("sessions").iter();
    let name = |one: &serde_json::Value| match one["id"].as_str() {
        Some(id) => id.to_owned(),
        None => format!("pid:{}", one["pid"]),
    };
    let mut ids: Vec<String> = ids.map(name).collect();
    ids.sort();
    (answer.code, ids)
}

fn good() -> (Option<i32>, Vec<String>) {
    (Some(0), vec![crate::home::GOOD_CODEX.to_owned(), crate::home::GOOD_CLAUDE.to_owned()])
}

/// Live processes tell their stores themselves: a caller without a home sees them.
#[test]
fn without_a_home_live_sessions_are_listed() {
    let home = Home::new();
    let process = home.stand_in();
    home.register(&process, &id(1), serde_json::json!({"status": "idle"}));
    for value in [None, Some(""), Some("nowhere"), Some("/nowhere"), Some("/dev/null")] {
        let mut list = home.agentctl(&["list", "--json"]);
        match value {
            Some(value) => list.env("HOME", value),
            None => list.env_remove("HOME"),
        };
        assert_eq!(listed(&home, &mut list), (Some(0), vec![id(1)]), "HOME={value:?}");
    }
}

#[test]
fn without_a_home_and_anything_alive_nothing_is_claimed() {
    let home = Home::new();
    for args in [&["list"][..], &["list", "-a"], &["doctor"], &["status", "900dc1a0"]] {
        let answer = home.ask(home.agentctl(args).env_remove("HOME"));
        let code = if args[0] == "status" { 3 } else { 0 };
        assert_eq!(answer.code, Some(code), "{answer:#?}");
    }
}

#[test]
fn a_relative_home_is_meant_from_here() {
    let home = Home::new();
    let mut list = home.agentctl(ALL);
    assert_eq!(listed(&home, list.env("HOME", "../home")), good());
}

#[test]
fn an_empty_variable_is_none() {
    let home = Home::new();
    let mut list = home.agentctl(ALL);
    list.env("CLAUDE_CONFIG_DIR", "").env("CODEX_HOME", "");
    assert_eq!(home.seen_by(&mut list), Seen::good());
}

#[test]
fn a_relative_store_is_meant_from_here() {
    let home = Home::new();
    home.write(
        "moved/projects/-x/00000001-0000-4000-8000-000000000000.jsonl",
        text(&[prompt("x")]),
    );
    let mut list = home.agentctl(ALL);
    let found = listed(&home, list.env("CLAUDE_CONFIG_DIR", "../home/moved"));
    assert_eq!(found, (Some(0), vec![id(1), crate::home::GOOD_CODEX.to_owned()]));
}

#[test]
fn a_store_that_is_not_there_is_no_problem() {
    let home = Home::new();
    let mut list = home.agentctl(ALL);
    let found = listed(&home, list.env("CLAUDE_CONFIG_DIR", "/nowhere/at/all"));
    assert_eq!(found, (Some(0), vec![crate::home::GOOD_CODEX.to_owned()]));
}

/// A home whose name is in some other encoding is a home all the same.
#[test]
fn a_home_whose_name_is_no_unicode_is_read() {
    let home = Home::new();
    let odd = home.root().join(OsStr::from_bytes(b"home-\xff\xfe"));
    let project = odd.join(".claude/projects/-x");
    fs::create_dir_all(&project).expect("a folder");
    let lines = text(&[prompt("Begin"), reply("Done")]);
    fs::write(project.join(format!("{}.jsonl", id(1))), lines).expect("a file");
    let mut list = home.agentctl(ALL);
    assert_eq!(listed(&home, list.env("HOME", &odd)), (Some(0), vec![id(1)]));
    let table = home.ask(home.agentctl(&["list", "--since", "all"]).env("HOME", &odd));
    assert_eq!(table.code, Some(0), "{table:#?}");
}

/// Variables of ours that hold nonsense are a usage error, not a crash.
#[test]
fn a_nonsensical_setting_is_a_usage_error() {
    let home = Home::new();
    let answer = home.ask(home.agentctl(&["list"]).env("AGENTCTL_PORTABLE", "perhaps"));
    assert_eq!(answer.code, Some(2), "{answer:#?}");
    for value in ["1", "true", "0", "false"] {
        let answer = home.ask(home.agentctl(&["list"]).env("AGENTCTL_PORTABLE", value));
        assert_eq!(answer.code, Some(0), "AGENTCTL_PORTABLE={value}: {answer:#?}");
    }
}
