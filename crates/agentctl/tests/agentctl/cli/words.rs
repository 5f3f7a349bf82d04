//! What is understood, what is not, and how that is said.

use crate::home::{
    GOOD_CLAUDE, GOOD_CODEX, Home,
    lines::{id, prompt, reply},
};
use serde_json::{Value, json};
use std::fs;

fn code(home: &Home, args: &[&str]) -> Option<i32> {
    let answer = home.run(args);
    if answer.code == Some(2) {
        assert!(answer.stdout.is_empty() && !answer.stderr.is_empty(), "{answer:#?}");
    }
    answer.code
}

#[test]
fn words_that_are_off_are_usage_errors() {
    let home = Home::new();
    let calls: [&[&str]; 22] = [
        &[],
        &["nonsense"],
        &["list", "--nonsense"],
        &["list", "extra"],
        &["list", "--since", "soon"],
        &["list", "--since", ""],
        &["list", "--since", "-1d"],
        &["list", "--since", "99999999999999999999w"],
        &["list", "--state", "asleep"],
        &["list", "--status", ""],
        &["list", "--agent", "nobody"],
        &["list", "--sort", "random"],
        &["list", "--limit", "-1"],
        &["list", "--limit", "many"],
        &["status"],
        &["status", ""],
        &["status", " "],
        &["status", "pid:"],
        &["status", "pid:-1"],
        &["status", "a/b"],
        &["logs", GOOD_CLAUDE, "-n", "x"],
        &["completions", "cmd.exe"],
    ];
    for call in calls {
        assert_eq!(code(&home, call), Some(2), "{call:?}");
    }
    assert_eq!(code(&home, &["man", "nonsense"]), Some(2));
}

/// Words in other encodings are words that are off, not a crash.
#[test]
fn words_that_are_no_unicode_are_usage_errors() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let home = Home::new();
    let odd = OsStr::from_bytes(b"\xff\xfe");
    for args in [&["status"][..], &["list", "--since"], &["list", "--group"], &["logs"]] {
        let answer = home.ask(home.agentctl(args).arg(odd));
        assert_eq!(answer.code, Some(2), "{answer:#?}");
    }
    let answer = home.ask(home.agentctl(&["list", "--cwd"]).arg(odd));
    assert_eq!(answer.code, Some(0), "{answer:#?}");
}

#[test]
fn a_prefix_of_any_length_means_its_session() {
    let home = Home::new();
    home.claude(&id(0xabc0_0000), &[prompt("Begin"), reply("Done")]);
    let whole = id(0xabc0_0000);
    for length in 1..=whole.len() {
        let one = home.run(&["status", &whole[..length], "--json"]).json();
        assert_eq!(one["session"]["id"], json!(whole), "{length} characters");
    }
    let upper = whole.to_uppercase();
    assert_eq!(code(&home, &["status", &upper[..8]]), Some(0));
    assert_eq!(code(&home, &["status", &format!("{whole}0")]), Some(3));
}

fn error(home: &Home, args: &[&str]) -> (Option<i32>, Value) {
    let answer = home.run(&[args, &["--json"]].concat());
    let json = answer.json();
    assert_eq!(json["schema"], 1, "{answer:#?}");
    (answer.code, json["error"].clone())
}

#[test]
fn unknown_ids_are_told_as_such() {
    let home = Home::new();
    let hint = "run `agentctl list -a --since all` to see every session";
    for command in ["status", "show", "explain", "logs", "peek"] {
        let expected = json!({"kind": "no_session", "message": "no session ffff", "hint": hint});
        assert_eq!(error(&home, &[command, "ffff"]), (Some(3), expected));
        let person = home.run(&[command, "ffff"]);
        let said = format!("error: no session ffff\nhint: {hint}\n");
        assert_eq!((person.stdout.as_str(), person.stderr), ("", said));
    }
    for name in ["pid:1", "pid:4294967295", "ffff@/nowhere", &format!("{GOOD_CLAUDE}@/nowhere")] {
        assert_eq!(code(&home, &["status", name]), Some(3), "{name}");
    }
}

/// Candidates are listed, each with as much of its id as is needed.
#[test]
fn ambiguous_ids_are_told_apart() {
    let home = Home::new();
    let (code, told) = error(&home, &["status", "900dc"]);
    let said = told["message"].as_str().expect("a message");
    let mut lines: Vec<&str> = said.lines().collect();
    lines[1..].sort_unstable();
    let expected = [
        "900dc fits 2 sessions:",
        "  900dc0  codex  done  /home/dev/good",
        "  900dc1  claude-code  done  /home/dev/good",
    ];
    assert_eq!((code, &told["kind"], lines), (Some(4), &json!("ambiguous"), expected.to_vec()));
    for command in ["status", "explain", "logs", "peek"] {
        assert_eq!(home.run(&[command, "900dc"]).code, Some(4));
    }
    for (shown, whole) in [("900dc0", GOOD_CODEX), ("900dc1", GOOD_CLAUDE)] {
        let one = home.run(&["status", shown, "--json"]).json();
        assert_eq!(one["session"]["id"], whole);
    }
}

/// Whoever looks is shown the session whose file is called after the id; whoever acts must say which one he means.
#[test]
fn one_id_at_two_agents_is_chosen_for_nobody_who_acts() {
    let home = Home::new();
    let header = json!({"type": "session", "version": 3, "id": GOOD_CLAUDE,
        "timestamp": "2026-11-15T18:46:44.509Z", "cwd": "/home/dev/good"});
    let name = format!("2026-11-15T18-46-44-509Z_{GOOD_CLAUDE}.jsonl");
    home.write(format!(".pi/agent/sessions/--home-dev-good--/{name}"), format!("{header}\n"));
    for command in ["status", "explain"] {
        let one = home.run(&[command, GOOD_CLAUDE, "--json"]).json();
        assert_eq!(one["session"]["agent"], "claude-code", "{command}");
    }
    let acts: [&[&str]; 4] = [
        &["stop", GOOD_CLAUDE],
        &["send", GOOD_CLAUDE, "words"],
        &["fuse", "set", GOOD_CLAUDE, "--ttl", "1h"],
        &["wait", GOOD_CLAUDE],
    ];
    for words in acts {
        assert_eq!(home.run(words).code, Some(4), "{words:?}");
    }
    // Two that are called after it are two for everybody.
    home.write(format!(".copilot/session-state/{GOOD_CLAUDE}/events.jsonl"), "{}\n");
    assert_eq!(home.run(&["status", GOOD_CLAUDE]).code, Some(4));
}

/// A thread of Codex that was copied to its archive is one thread.
#[test]
fn what_was_copied_to_the_archive_is_listed_once() {
    let home = Home::new();
    let own = id(0xaa00_0000);
    let rollout = home.codex(&own, &[json!({"type": "session_meta", "payload": {"id": own}})]);
    let name = rollout.file_name().expect("it has a name").to_string_lossy().into_owned();
    let bytes = fs::read_to_string(&rollout).expect("it was just written");
    home.write(format!(".codex/archived_sessions/{name}"), &bytes);
    let listed = home.run(&["list", "-a", "--since", "all", "--json"]).json();
    let own = |one: &&Value| one["id"] == *own;
    let paths: Vec<&Value> = listed["sessions"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(own)
        .map(|one| &one["source"])
        .collect();
    assert_eq!(paths, [&json!(rollout)]);
}

/// Many candidates are not all listed.
#[test]
fn many_candidates_are_counted() {
    let home = Home::new();
    for number in 0..30 {
        home.claude(&id(0xaa00_0000 + number), &[prompt("Begin"), reply("Done")]);
    }
    let (code, told) = error(&home, &["status", "aa"]);
    let said = told["message"].as_str().expect("a message");
    assert_eq!(
        (code, said.lines().count(), said.lines().last()),
        (Some(4), 12, Some("  and 20 more"))
    );
}

/// The same id in two directories is told apart by the directory.
#[test]
fn a_directory_tells_equal_ids_apart() {
    let home = Home::new();
    for dir in ["one", "two"] {
        let mut asked = prompt(dir);
        asked["cwd"] = format!("/home/dev/{dir}").into();
        let text = crate::home::text(&[asked, reply("Done")]);
        home.write(format!(".claude/projects/-home-dev-{dir}/{}.jsonl", id(1)), text);
    }
    assert_eq!(code(&home, &["status", &id(1)[..8]]), Some(4));
    for dir in ["one", "two"] {
        for name in
            [format!("{}@/home/dev/{dir}", &id(1)[..8]), format!("{}@/home/dev/{dir}", id(1))]
        {
            let one = home.run(&["status", &name, "--json"]).json();
            assert_eq!(one["session"]["prompt"], dir, "{name}: {one:#}");
            let logs = home.run(&["logs", &name, "--json"]).json();
            assert_eq!(logs["messages"][0]["text"], dir, "{name}");
        }
    }
    assert_eq!(code(&home, &["status", &id(1)]), Some(4));
}

#[test]
fn errors_in_json_have_a_kind() {
    let home = Home::new();
    let kinds = [
        (&["status", "ffff"][..], 3, "no_session"),
        (&["status", "900d"], 4, "ambiguous"),
        (&["status", " "], 2, "usage"),
        (&["list", "--since", "soon"], 2, "usage"),
    ];
    for (args, code, kind) in kinds {
        let (told, error) = error(&home, args);
        assert_eq!((told, &error["kind"]), (Some(code), &json!(kind)), "{args:?}");
    }
}

#[test]
fn filters_keep_what_is_asked_for() {
    let home = Home::new();
    home.claude(&id(1), &[prompt("Begin")]);
    let listed = |args: &[&str]| {
        let list = home.run(&[&["list", "--since", "all", "--json"], args].concat()).json();
        let sessions = list["sessions"].as_array().expect("sessions").clone();
        let mut ids: Vec<_> =
            sessions.iter().filter_map(|one| one["id"].as_str().map(str::to_owned)).collect();
        ids.sort();
        ids
    };
    let died = &*id(1);
    assert_eq!(listed(&[]), [died, GOOD_CODEX, GOOD_CLAUDE]);
    assert_eq!(listed(&["--state", "died"]), [died]);
    assert_eq!(listed(&["--status", "error"]), [died]);
    assert_eq!(listed(&["--status", "stopped,error"]).len(), 3);
    assert_eq!(listed(&["--state", "working"]), [""; 0]);
    assert_eq!(listed(&["--agent", "codex"]), [GOOD_CODEX]);
    assert_eq!(listed(&["--adapter", "claude"]), [died, GOOD_CLAUDE]);
    assert_eq!(listed(&["--cwd", "/home/dev"]).len(), 3);
    assert_eq!(listed(&["--cwd", "/home/de"]), [""; 0]);
    assert_eq!(listed(&["--group", "none"]), [""; 0]);
    assert_eq!(listed(&["-n", "0"]), [""; 0]);
    assert_eq!(listed(&["--limit", "1"]).len(), 1);
}
