//! Names that are paths: of sessions, keys, groups, fuses and branches.

use crate::home::{
    Agents, Home,
    lines::{prompt, reply},
    text,
};
use serde_json::json;
use std::fs;

/// Words that nobody may get at by a name.
const WORDS: &str = "w0rds-that-are-nobodys";

/// A live session is called what its agent wrote down; its record is looked for under that name.
#[test]
fn no_session_id_leads_out_of_its_store() {
    let home = Home::new();
    let process = home.stand_in();
    let outside = text(&[prompt(WORDS), reply(WORDS)]);
    for below in ["secret.jsonl", ".claude/secret.jsonl", ".claude/projects/secret.jsonl"] {
        home.write(below, &outside);
    }
    let absolute = home.path("secret").display().to_string();
    for id in ["../secret", "../../secret", "../../../secret", "..%2fsecret", absolute.as_str()] {
        home.register(&process, id, json!({}));
        let pid = format!("pid:{}", process.pid());
        for words in [
            &["logs", &pid][..],
            &["peek", &pid],
            &["status", &pid],
            &["logs", id],
            &["explain", id],
        ] {
            for more in [&[][..], &["--json"]] {
                let answer = home.run(&[words, more].concat());
                let shown = format!("{}{}", answer.stdout, answer.stderr);
                assert!(!shown.contains(WORDS), "{words:?}: {shown}");
            }
        }
        let listed = home.run(&["list", "--json"]);
        assert!(!listed.stdout.contains(WORDS), "{listed:#?}");
    }
}

/// What people call things by makes file names; none of these leaves our folders.
#[test]
fn no_key_group_or_fuse_leads_out_of_our_folders() {
    let agents = Agents::new();
    let home = &agents.home;
    let victim = home.write("victim.json", "kept");
    let lock = home.write("victim.lock", "kept");
    agents.own();
    let before = names(home);
    let odd = "../../../../victim";
    let launch = ["launch", "claude-code", "-p", "hi", "--json", "--key", odd, "--group", odd];
    home.run(&[&launch[..], &["--label", "../x=../y"]].concat());
    for words in [
        &["fuse", "cancel", odd][..],
        &["fuse", "extend", odd, "--ttl", "1h"],
        &["hook", "run", odd, "on-complete"],
        &["stop", odd],
        &["status", odd],
        &["webhook", "retry", odd],
        &["lock", odd],
    ] {
        home.run(words);
    }
    for file in [victim, lock] {
        assert_eq!(fs::read_to_string(file).ok().as_deref(), Some("kept"));
    }
    let mut after = names(home);
    after.retain(|name| !before.contains(name) && !matches!(name.as_str(), ".local" | "started"));
    assert_eq!(after, [""; 0], "what was not there");
}

fn names(home: &Home) -> Vec<String> {
    let entries = fs::read_dir(home.path("")).expect("a home").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
