//! Text that would steer a terminal: it never reaches one, and JSON gives it back unchanged.
//!
//! Every run checks its whole output (see `Answer::checked`), so that here it is enough to run.

use crate::home::{
    Home,
    lines::{api_error, call, codex_end, codex_open, id, prompt, reply, result},
    text,
};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;

/// Titles, clipboards, colours, C1 controls, reordering, and lines that pretend to be others.
const HOSTILE: &str = "a\u{1b}]52;c;aGk=\u{7}\u{1b}[2J\u{1b}]0;t\u{1b}\\\u{9b}31m\u{90}x\u{9c}\
                       \u{202e}\u{2066}\u{200f}\u{61c}\u{2028}\u{85}\r\nnew\u{8}\u{7f}\0z";

fn claude(home: &Home, number: u32, last: Value) {
    let mut asked = prompt(HOSTILE);
    let mut called = call(HOSTILE, json!({"command": HOSTILE}));
    for line in [&mut asked, &mut called] {
        line["cwd"] = format!("/home/{HOSTILE}").into();
        line["gitBranch"] = HOSTILE.into();
        line["version"] = HOSTILE.into();
        line["uuid"] = HOSTILE.into();
    }
    called["message"]["model"] = HOSTILE.into();
    let odd = json!({"type": HOSTILE, HOSTILE: HOSTILE});
    let title = json!({"type": "custom-title", "customTitle": HOSTILE, HOSTILE: 1});
    home.claude(&id(number), &[asked, called, result(HOSTILE), odd, title, last]);
}

fn codex(home: &Home, number: u32) {
    let mut thread = codex_open(&id(number), HOSTILE);
    thread[0]["payload"]["git"]["branch"] = HOSTILE.into();
    thread[0]["payload"]["cli_version"] = HOSTILE.into();
    thread[0]["payload"]["parent_thread_id"] = HOSTILE.into();
    thread[0]["payload"]["forked_from_id"] = HOSTILE.into();
    thread[2]["payload"]["cwd"] = format!("/home/{HOSTILE}").into();
    thread[2]["payload"]["model"] = HOSTILE.into();
    let mut end = codex_end(HOSTILE);
    end["payload"]["error"] = json!({"message": HOSTILE});
    thread.push(json!({"type": HOSTILE, "payload": {"type": HOSTILE, HOSTILE: HOSTILE}}));
    thread.push(end);
    home.codex(&id(number), &thread);
    let name = json!({"id": id(number), "thread_name": HOSTILE});
    home.write(".codex/session_index.jsonl", text(&[name]));
}

/// A home in which every text is hostile.
fn hostile() -> Home {
    let home = Home::new();
    claude(&home, 1, reply(HOSTILE));
    claude(&home, 2, api_error(HOSTILE, HOSTILE));
    codex(&home, 3);
    let folder = HOSTILE.replace('\0', "");
    home.write(format!(".claude/projects/{folder}/{}.jsonl", id(4)), text(&[prompt(HOSTILE)]));
    symlink("gone", home.path(format!(".claude/projects/{folder}-gone"))).expect("a link");
    // An installed program that tells a hostile version.
    let package = json!({"version": HOSTILE}).to_string();
    home.write("bin/package.json", package);
    home.write("bin/claude", "");
    home
}

#[test]
fn people_never_see_it() {
    let home = hostile();
    for args in [&["list"][..], &["list", "-a"], &["list", "--since", "all"]] {
        home.run(args);
        home.run(&[args, &["--json"]].concat());
    }
    for args in [&["-w"][..], &["--usage"], &["-w", "--usage", "--json"]] {
        home.run(&[&["list", "--since", "all"], args].concat());
    }
    for number in 1..=4 {
        let id = id(number);
        let calls: [&[&str]; 7] = [
            &["status", &id],
            &["explain", &id],
            &["logs", &id],
            &["logs", &id, "--full"],
            &["logs", &id, "--follow"],
            &["peek", &id],
            &["peek", &id, "--full"],
        ];
        for call in calls {
            home.run(call);
            home.run(&[call, &["--json"]].concat());
        }
    }
}

#[test]
fn the_doctor_never_shows_it() {
    let home = hostile();
    home.run(&["doctor", "--json"]);
    home.run(&["doctor"]);
}

#[test]
fn errors_do_not_repeat_it() {
    let home = hostile();
    let word = HOSTILE.replace('\0', "");
    for args in [
        &["status", "0000000"][..],
        &["status", &word],
        &["status", &format!("0@{word}")],
        &["logs", &format!("pid:{word}")],
        &["list", "--since", &word],
        &["man", &word],
        &[word.as_str()],
        &["list", &format!("--{word}")],
        &["list", &format!("--since={word}")],
        &["lock", &word, &word, &word],
    ] {
        let answer = home.run(args);
        assert_ne!(answer.code, Some(0), "{answer:#?}");
        if args[0] != "man" {
            home.run(&[args, &["--json"]].concat());
        }
    }
}

#[test]
fn json_gives_it_back_unchanged() {
    let home = hostile();
    let told = |number: u32| {
        let session = home.run(&["status", &id(number), "--json"]).json()["session"].clone();
        let keys = ["cwd", "branch", "model", "title", "prompt", "last", "version", "outcome"];
        json!(keys.map(|key| session[key].clone()))
    };
    let cwd = format!("/home/{HOSTILE}");
    // The last line has a model, a branch and a version of its own.
    let first =
        json!([cwd, "main", "claude-opus-4-8", HOSTILE, HOSTILE, HOSTILE, "2.1.197", "completed"]);
    let second = json!([cwd, "main", HOSTILE, HOSTILE, HOSTILE, null, "2.1.197", HOSTILE]);
    assert_eq!(told(1), first);
    assert_eq!(told(2), second);
    let third = told(3);
    assert_eq!(
        json!(third.as_array().expect("fields")[..7]),
        json!([cwd, HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE])
    );
    let logs = home.run(&["logs", &id(1), "--json"]).json();
    let texts: Vec<_> =
        logs["messages"].as_array().expect("messages").iter().map(|one| &one["text"]).collect();
    assert_eq!(texts, [HOSTILE; 4]);
    assert_eq!(logs["messages"][1]["tool"], HOSTILE);
}

/// What a live process says of itself is no more to be trusted.
#[test]
fn live_processes_may_be_hostile_too() {
    let home = Home::new();
    let process = home.stand_in();
    let more = json!({"name": HOSTILE, "version": HOSTILE, "cwd": format!("/{HOSTILE}"), "status": HOSTILE});
    home.register(&process, HOSTILE, more);
    for args in
        [&["list"][..], &["list", "-w"], &["status", "a"], &["explain", "a"], &["logs", "a"]]
    {
        home.run(args);
        home.run(&[args, &["--json"]].concat());
    }
    let list = home.run(&["list", "--json"]).json();
    assert_eq!(list["sessions"][0]["id"], HOSTILE);
}
