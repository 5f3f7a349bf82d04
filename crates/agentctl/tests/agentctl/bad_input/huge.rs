//! A transcript of 100 MB with a line of 40 MB: the state is right, and the line is never held.

use crate::home::{
    Answer, DAY, Home, PROJECT,
    lines::{codex_end, codex_open, id, prompt, reply, result},
    text,
};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    io::Write,
    path::Path,
    process::Command,
};

const LINE: usize = 40 << 20;
const FILE: u64 = 100 << 20;
/// What a run may have for data, in kilobytes: less than one such line.
const DATA: usize = 32 << 10;

/// Lines, then a hole up to the size, then the last line with its `BULK` grown to 40 MB.
fn grown(path: &Path, before: &[Value], last: &Value) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let mut file = File::create(path).expect("a file");
    file.write_all(text(before).as_bytes()).expect("room");
    file.set_len(FILE - LINE as u64).expect("room");
    drop(file);
    let mut file = File::options().append(true).open(path).expect("a file");
    let last = last.to_string();
    let (head, tail) = last.split_once("BULK").expect("a place to grow");
    write!(file, "\n{head}").expect("room");
    for _ in 0..LINE >> 20 {
        file.write_all(&[b'x'; 1 << 20]).expect("room");
    }
    writeln!(file, "{tail}").expect("room");
}

fn claude(home: &Home, number: u32, last: &Value) {
    let path = home.path(format!("{PROJECT}/{}.jsonl", id(number)));
    grown(&path, &[prompt("Begin")], last);
}

/// A command under the limit.
fn limited(home: &Home, program: &Path, args: &[&str]) -> Command {
    let mut shell = home.command("/bin/sh");
    shell.args(["-c", &format!("ulimit -d {DATA}; exec \"$0\" \"$@\"")]).arg(program).args(args);
    shell
}

fn run(home: &Home, args: &[&str]) -> Answer {
    home.ask(&mut limited(home, &home.program("agentctl"), args))
}

/// The state that the list tells.
fn state(home: &Home, number: u32) -> String {
    let list = run(home, &["list", "--since", "all", "--json"]).json();
    let all = list["sessions"].as_array().expect("sessions").clone();
    let listed = all.into_iter().find(|session| session["id"] == id(number)).expect("listed");
    listed["state"].as_str().expect("a state").to_owned()
}

/// Else the other tests here prove nothing.
#[test]
fn the_limit_forbids_to_hold_such_a_line() {
    let home = Home::new();
    let args = ["if=/dev/zero", "of=/dev/null", &format!("bs={LINE}"), "count=1"];
    let held = limited(&home, Path::new("/bin/dd"), &args).output().expect("dd");
    assert_eq!(held.status.code(), Some(1), "{held:?}");
}

#[test]
fn a_huge_answer_ends_its_turn() {
    let home = Home::new();
    claude(&home, 1, &reply("BULK"));
    assert_eq!(state(&home, 1), "done");
}

#[test]
fn tokens_of_a_huge_answer_are_counted() {
    let home = Home::new();
    claude(&home, 1, &reply("BULK"));
    let one = run(&home, &["status", &id(1), "--json"]).json()["session"].clone();
    let tokens = json!({"input": 10, "output": 20, "cache_read": 30, "cache_write": 40});
    assert_eq!((&one["state"], &one["tokens"]), (&json!("done"), &tokens));
}

#[test]
fn a_huge_answer_is_not_shown_whole() {
    let home = Home::new();
    claude(&home, 1, &reply("BULK"));
    let logs = run(&home, &["logs", &id(1), "--json"]).json();
    let last = logs["messages"].as_array().expect("messages").last().expect("a message");
    let size = reply("").to_string().len() + LINE;
    assert_eq!(last["text"], format!("(a line of {size} bytes is not shown)"));
    assert_eq!(run(&home, &["doctor"]).code, Some(0));
}

#[test]
fn a_huge_result_leaves_its_turn_open() {
    let home = Home::new();
    claude(&home, 1, &result("BULK"));
    assert_eq!(state(&home, 1), "died");
}

#[test]
fn a_huge_end_of_a_thread_is_an_end() {
    let home = Home::new();
    let name = format!("{DAY}/rollout-2026-11-01T10-00-00-{}.jsonl", id(1));
    grown(&home.path(name), &codex_open(&id(1), "Begin"), &codex_end("BULK"));
    assert_eq!(state(&home, 1), "done");
}

/// A huge line is read as a small one is, whatever types its fields have.
#[test]
fn a_huge_line_is_read_as_leniently_as_a_small_one() {
    let home = Home::new();
    let mut odd = reply("BULK");
    odd["version"] = 2.into();
    odd["isMeta"] = Value::Null;
    odd["gitBranch"] = false.into();
    odd["message"]["model"] = json!([]);
    let path = home.path(format!("{PROJECT}/{}.jsonl", id(1)));
    let small = odd.to_string().replace("BULK", "small");
    home.write(format!("{PROJECT}/{}.jsonl", id(2)), format!("{}{small}\n", text(&[prompt("x")])));
    let twice = odd.to_string().replace("BULK", &"x".repeat(2 << 20));
    let twice = twice.replace("\"isSidechain\":false", "\"isSidechain\":0,\"isSidechain\":false");
    fs::write(&path, format!("{}{twice}\n", text(&[prompt("x")]))).expect("a file");
    assert_eq!((state(&home, 1), state(&home, 2)), ("done".to_owned(), "done".to_owned()));
}

/// A huge end of a turn may be a bad end.
#[test]
fn a_huge_failure_is_a_failure() {
    let home = Home::new();
    let mut thread = codex_open(&id(1), "Begin");
    let mut end = codex_end("");
    end["payload"]["error"] = json!({"message": "x".repeat(2 << 20)});
    thread.push(end);
    home.codex(&id(1), &thread);
    assert_eq!(state(&home, 1), "failed");
}

/// A name, a registry file or an index may be huge as well.
#[test]
fn huge_small_files_are_not_held_either() {
    let home = Home::new();
    for below in [".claude/sessions/1.json", ".codex/session_index.jsonl"] {
        let path = home.write(below, "{");
        File::options().append(true).open(path).expect("a file").set_len(FILE).expect("room");
    }
    let answer = run(&home, &["list", "--since", "all"]);
    assert_eq!(answer.code, Some(8), "{answer:?}");
}
