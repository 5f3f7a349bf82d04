//! Names: of folders, of files, of sessions, of directories that processes work in.

use crate::home::{
    Home, PROJECT, Seen,
    lines::{id, prompt, reply},
    text,
};
use serde_json::json;
use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
};

#[test]
fn projects_may_have_any_name() {
    let home = Home::new();
    let names: [&[u8]; 8] = [
        b"new\nline",
        b"it's \"quoted\" $(x) `y`",
        "日本 \u{1f600} é".as_bytes(),
        b"-rf",
        b" ",
        b"..-",
        b"tab\tand\x1bescape",
        &[b'x'; 255],
    ];
    let mut expected = Seen::good();
    for (number, name) in (1..).zip(names) {
        let folder = home.path(".claude/projects").join(OsStr::from_bytes(name));
        fs::create_dir(&folder).expect("a folder");
        let lines = text(&[prompt("Begin"), reply("Done")]);
        fs::write(folder.join(format!("{}.jsonl", id(number))), lines).expect("a file");
        expected = expected.and(id(number), "done");
    }
    assert_eq!(home.seen(), expected);
    for (number, name) in (1..).zip(names) {
        for command in ["status", "logs"] {
            assert_eq!(home.run(&[command, &id(number)]).code, Some(0), "{name:?}");
        }
        checks_hold(&home, &id(number));
    }
}

/// Every command that `explain` offers holds, whatever the path in it is called.
fn checks_hold(home: &Home, id: &str) {
    let proof = home.run(&["explain", id, "--json"]).json();
    for because in proof["session"]["because"].as_array().expect("facts") {
        let check = because["check"].as_str().expect("a check");
        let mut shell = home.command("/bin/sh");
        shell.args(["-c", check]).env("PATH", "/usr/bin:/bin");
        let done = shell.output().expect("a shell");
        assert!(done.status.success(), "{check}: {done:?}");
    }
}

/// Only what is named as the agent names its sessions is one.
#[test]
fn files_of_other_names_are_no_sessions() {
    let home = Home::new();
    for name in
        ["notes", "..", "a\nb", "'", "日", &"a".repeat(36), &"-".repeat(36), &"é".repeat(18)]
    {
        home.write(format!("{PROJECT}/{name}.jsonl"), text(&[prompt("x"), reply("y")]));
    }
    let odd = home.path(PROJECT).join(OsStr::from_bytes(b"\xff\xfe.jsonl"));
    fs::write(odd, "").expect("a file");
    let expected = Seen::good().and("a".repeat(36), "done").and("-".repeat(36), "done");
    assert_eq!(home.seen(), expected);
    assert_eq!(home.run(&["status", "--", &"-".repeat(36)]).code, Some(0));
}

/// A store may lie below a directory whose name is in some other encoding.
#[test]
fn paths_that_are_no_unicode_do_not_spoil_the_list() {
    let home = Home::new();
    let odd = home.root().join(OsStr::from_bytes(b"store-\xff"));
    fs::rename(home.path(".claude"), &odd).expect("our folder");
    symlink(&odd, home.path(".claude")).expect("a link");
    let answer = home.run(crate::home::ALL);
    let list = answer.json();
    let ids: Vec<_> = list["sessions"]
        .as_array()
        .expect("sessions")
        .iter()
        .map(|one| one["id"].clone())
        .collect();
    let good = [json!(crate::home::GOOD_CODEX), json!(crate::home::GOOD_CLAUDE)];
    assert_eq!((answer.code, ids), (Some(0), good.to_vec()));
    for args in [&["list", "-a"][..], &["status", "900dc1a0", "--json"], &["doctor", "--json"]] {
        assert_eq!(home.run(args).code, Some(0), "{args:?}");
    }
}

/// So may a process work in one.
#[test]
fn a_process_may_work_anywhere() {
    let home = Home::new();
    let odd = home.root().join(OsStr::from_bytes(b"work-\xff\n\x1b[31m"));
    fs::create_dir(&odd).expect("a folder");
    let process = home.stand_in_within(&odd);
    assert_eq!(home.seen(), Seen::good().and(process.name(), "unknown"));
    for args in [&["list"][..], &["list", "-w"], &["status", &process.name()]] {
        assert_eq!(home.run(args).code, Some(0));
    }
    fs::remove_dir(&odd).expect("our folder");
    assert_eq!(home.seen(), Seen::good().and(process.name(), "unknown"));
}

/// A live session is listed under the id its process tells, whatever that looks like.
#[test]
fn ids_of_live_sessions_may_be_anything() {
    let home = Home::new();
    let names = ["../../../../etc/passwd", "a\nb", "'; rm -rf /; '", "-rf", "日本", "x@y", "pid:1"];
    let long = "long".repeat(5000);
    let mut expected = Seen::good();
    let mut processes = Vec::new();
    for name in names.into_iter().chain([long.as_str()]) {
        let process = home.stand_in();
        home.register(&process, name, json!({"status": "idle"}));
        expected = expected.and(name, "idle");
        processes.push(process);
    }
    assert_eq!(home.seen(), expected);
    for args in [&["list"][..], &["list", "-w"], &["status", "日"], &["logs", "日本"]] {
        assert_eq!(home.run(args).code, Some(0), "{args:?}");
    }
}

/// Prefixes are counted in characters where ids are not plain.
#[test]
fn ids_that_begin_alike_in_the_middle_of_a_character_are_told_apart() {
    let home = Home::new();
    let processes = [home.stand_in(), home.stand_in()];
    for (process, name) in processes.iter().zip(["a日x", "a本x"]) {
        home.register(process, name, json!({"status": "idle"}));
    }
    assert_eq!(home.run(&["list"]).code, Some(0));
    let several = home.run(&["status", "a", "--json"]);
    assert_eq!((several.code, &several.json()["error"]["kind"]), (Some(4), &json!("ambiguous")));
    assert_eq!(home.run(&["status", "a日"]).code, Some(0));
}

/// An empty word is no name, and a duration says what is wrong with it.
#[test]
fn empty_words_and_odd_durations_are_usage_errors() {
    let home = Home::new();
    let launch = ["launch", "claude-code", "-p", "hi", "--dry-run"];
    for flag in ["--name", "--group", "--model", "--key"] {
        let answer = home.run(&[&launch[..], &[flag, ""]].concat());
        assert_eq!(answer.code, Some(2), "{flag}: {answer:#?}");
    }
    let odd = [
        ("--label", "=x", "use NAME=VALUE"),
        ("--timeout", "0", "longer than nothing"),
        ("--timeout", "-1s", "cannot be negative"),
        ("--timeout", "90", "no unit"),
        ("--timeout", "99999999h", "too long"),
    ];
    for (flag, value, told) in odd {
        let answer = home.run(&[&launch[..], &[flag, value]].concat());
        assert_eq!(answer.code, Some(2), "{value}: {answer:#?}");
        assert!(answer.stderr.contains(told), "no {told}: {answer:#?}");
    }
}

/// It may be a secret, whose name was forgotten.
#[test]
fn a_mistyped_variable_is_not_repeated() {
    let home = Home::new();
    let launch = ["launch", "claude-code", "-p", "hi", "--dry-run", "--env"];
    for (value, told) in [
        ("s3cret", "it has no `=`"),
        ("=s3cret", "no name stands before the `=`"),
        ("A s3cret=x", "a name has letters, digits and `_` alone"),
        ("s3cret-x=", "a name has letters, digits and `_` alone"),
    ] {
        for more in [&[][..], &["--json"]] {
            let answer = home.run(&[&launch[..], &[value], more].concat());
            assert_eq!(answer.code, Some(2), "{value}: {answer:#?}");
            let said = format!("{}{}", answer.stdout, answer.stderr);
            assert!(!said.contains("s3cret"), "{said}");
            assert!(!more.is_empty() || said.contains(told), "no {told}: {said}");
        }
    }
}

#[test]
fn a_relative_directory_is_meant_from_here() {
    let home = Home::new();
    let below = home.work().join("below");
    fs::create_dir(&below).expect("a folder");
    let mut line = prompt("Begin");
    line["cwd"] = json!(below);
    let lines = text(&[line, reply("Done")]);
    home.write(format!("{PROJECT}/{}.jsonl", id(1)), &lines);
    for (dir, code) in [("below", 0), ("./below", 0), (".", 3), ("gone", 3)] {
        let name = format!("{}@{dir}", id(1));
        assert_eq!(home.run(&["status", &name]).code, Some(code), "{name}");
    }
}
