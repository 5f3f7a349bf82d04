//! What may not be read. Each test first shows that a plain read fails for the home's user.

use crate::home::{
    Home, PROJECT, Seen,
    lines::{id, prompt, reply},
};
use serde_json::json;
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
};

const DENIED: &str = "Permission denied (os error 13)";

/// Takes all permissions away while it lives: else the folder could not be removed.
struct Shut(PathBuf, Permissions);

fn shut(home: &Home, path: PathBuf) -> Shut {
    let before = fs::metadata(&path).expect("a path").permissions();
    fs::set_permissions(&path, Permissions::from_mode(0o000)).expect("our path");
    home.is_closed(&path);
    Shut(path, before)
}

impl Drop for Shut {
    fn drop(&mut self) {
        let _ = fs::set_permissions(&self.0, self.1.clone());
    }
}

#[test]
fn a_closed_project_is_a_problem() {
    let home = Home::new();
    let below = format!(".claude/projects/-closed/{}.jsonl", id(1));
    home.write(&below, "");
    let _shut = shut(&home, home.path(".claude/projects/-closed"));
    assert_eq!(home.seen(), Seen::good().problem(".claude/projects/-closed", DENIED));
    for args in [&["list"][..], &["list", "-a"], &["status", "900dc1a0"], &["doctor"]] {
        let told = home.run(args);
        let expected = if args == ["list"] { 0 } else { 8 };
        assert_eq!(told.code, Some(expected), "{told:#?}");
    }
}

/// What cannot be read is unknown, a problem, and told by the exit code.
#[test]
fn a_closed_transcript_is_unknown_and_a_problem() {
    let home = Home::new();
    let path = home.claude(&id(1), &[prompt("Begin"), reply("Done")]);
    let _shut = shut(&home, path);
    let below = format!("{PROJECT}/{}.jsonl", id(1));
    assert_eq!(home.seen(), Seen::good().and(id(1), "unknown").problem(&below, DENIED));
    assert_eq!(home.run(&["status", &id(1)]).code, Some(8));
    assert_eq!(home.run(&["explain", &id(1)]).code, Some(8));
    let logs = home.run(&["logs", &id(1)]);
    assert_eq!((logs.code, logs.stdout.as_str()), (Some(8), ""), "{logs:?}");
}

/// Where it cannot be read what a live process holds, it may hold anything of its directory.
#[test]
fn a_closed_registration_leaves_its_session_unknown() {
    let home = Home::new();
    let process = home.stand_in();
    let mut lines = [prompt("Begin"), reply("Done")];
    for line in &mut lines {
        line["cwd"] = home.work().display().to_string().into();
    }
    home.claude(&id(1), &lines);
    home.register(&process, &id(1), json!({"status": "busy"}));
    assert_eq!(home.seen(), Seen::good().and(id(1), "working"));
    let file = format!(".claude/sessions/{}.json", process.pid());
    let _shut = shut(&home, home.path(&file));
    assert_eq!(home.seen(), Seen::good().and(id(1), "unknown").problem(&file, DENIED));
}

#[test]
fn a_closed_rollout_and_a_closed_day_are_problems() {
    let home = Home::new();
    let path = home.codex(&id(1), &[]);
    let file = path.strip_prefix(home.path("")).expect("below").display().to_string();
    home.write(".codex/sessions/2026/10/01/x", "");
    let _file = shut(&home, path);
    let _day = shut(&home, home.path(".codex/sessions/2026/10/01"));
    let expected = Seen::good()
        .and(id(1), "unknown")
        .problem(&file, DENIED)
        .problem(".codex/sessions/2026/10/01", DENIED);
    assert_eq!(home.seen(), expected);
}

#[test]
fn a_closed_registry_is_a_problem() {
    let home = Home::new();
    home.write(".claude/sessions/1.json", "{}");
    let file = shut(&home, home.path(".claude/sessions/1.json"));
    assert_eq!(home.seen(), Seen::good().problem(".claude/sessions/1.json", DENIED));
    drop(file);
    let _folder = shut(&home, home.path(".claude/sessions"));
    assert_eq!(home.seen(), Seen::good().problem(".claude/sessions", DENIED));
}

/// The sessions of a store that cannot be read are lost, its live processes are not.
#[test]
fn a_closed_store_leaves_its_live_processes() {
    let home = Home::new();
    let process = home.stand_in();
    home.register(&process, &id(1), serde_json::json!({"status": "busy"}));
    let _shut = shut(&home, home.path(".claude"));
    let answer = home.run(crate::home::ALL);
    let list = answer.json();
    let all: Vec<_> = list["sessions"]
        .as_array()
        .expect("sessions")
        .iter()
        .map(|one| (one["id"].clone(), one["pid"].clone(), one["state"].clone()))
        .collect();
    let unnamed = (serde_json::Value::Null, process.pid().into(), "unknown".into());
    let codex = (crate::home::GOOD_CODEX.into(), serde_json::Value::Null, "done".into());
    assert_eq!((answer.code, all), (Some(8), vec![unnamed, codex]));
    let person = home.run(&["list"]);
    assert_eq!(person.code, Some(8), "{person:#?}");
    assert_eq!(home.run(&["status", &process.name()]).code, Some(8));
}

/// A home that cannot be entered is not a home without sessions.
#[test]
fn a_closed_home_is_a_problem() {
    let home = Home::new();
    let _shut = shut(&home, home.path(""));
    let answer = home.run(crate::home::ALL);
    assert_eq!(answer.code, Some(8), "{answer:#?}");
}

/// Tokens that cannot be counted are not told as if they were all.
#[test]
fn closed_sub_agents_are_a_problem_of_the_tokens() {
    let home = Home::new();
    home.claude(&id(1), &[prompt("Begin"), reply("Done")]);
    let folder = format!("{PROJECT}/{}/subagents", id(1));
    home.write(format!("{folder}/agent-1.jsonl"), crate::home::text(&[reply("Done")]));
    let _shut = shut(&home, home.path(&folder));
    assert_eq!(home.seen(), Seen::good().and(id(1), "done"));
    let answer = home.run(&["status", &id(1), "--json"]);
    let told = &answer.json()["session"]["tokens"];
    assert_eq!((told, answer.code), (&serde_json::Value::Null, Some(8)), "{answer:#?}");
}

#[test]
fn closed_sub_agents_of_gemini_are_a_problem_of_the_tokens() {
    const CHAT: &str = include_str!(
        "../../../../core/fixtures/gemini/0.61.0/tui-elsewhere/home/.gemini/tmp/api/chats/\
         session-2026-11-15T18-50-aaaaaaa2.jsonl"
    );
    let home = Home::new();
    let header = CHAT.lines().next().expect("a line");
    let header: serde_json::Value = serde_json::from_str(header).expect("JSON");
    let id = header["sessionId"].as_str().expect("an id");
    let chats = ".gemini/tmp/api/chats";
    home.write(format!("{chats}/session-2026-11-15T18-50-aaaaaaa2.jsonl"), CHAT);
    home.write(format!("{chats}/{id}/one.jsonl"), CHAT);
    let asked = || {
        let answer = home.run(&["status", id, "--json"]);
        let session = answer.json()["session"].clone();
        (answer.code, session["tokens"].is_null(), session["state"].clone())
    };
    let (code, is_null, state) = asked();
    assert_eq!((code, is_null), (Some(0), false));
    let _shut = shut(&home, home.path(format!("{chats}/{id}")));
    assert_eq!(asked(), (Some(8), true, state));
}
