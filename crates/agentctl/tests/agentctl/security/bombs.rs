//! Small inputs that would be huge: each is refused or read within bounds of memory, and of the time that
//! any run has.

use crate::home::{
    Answer, Home,
    lines::{id, prompt, reply},
};
use serde_json::json;
use std::fs;

/// What a run may have for data, in kilobytes.
const DATA: usize = 256 << 10;

fn run(home: &Home, words: &[&str]) -> Answer {
    let mut shell = home.command("/bin/sh");
    let limited = format!("ulimit -d {DATA}; exec \"$0\" \"$@\"");
    shell.args(["-c", &limited]).arg(home.program("agentctl")).args(words);
    home.ask(&mut shell)
}

/// A file of some kilobytes that stands for millions of texts: each of its many entries names a long list.
#[test]
fn a_matrix_file_of_aliases_is_refused_in_time() {
    let home = Home::new();
    let list = ["x"; 6000].join(", ");
    let entries = "  - {adapter: pi, model: *a}\n".repeat(2000);
    let text = format!("prompt: hi\nbase_branch: &a [{list}]\nmatrix:\n{entries}");
    let file = home.write("bomb.yaml", text);
    let file = file.to_string_lossy();
    let answer = run(&home, &["launch", "--matrix", &file, "--dry-run"]);
    assert_eq!(answer.code, Some(2), "{answer:#?}");
    assert!(answer.stderr.contains("budget breached: Nodes"), "{answer:#?}");
}

/// Lists that multiply.
#[test]
fn a_matrix_of_very_many_launches_is_refused_in_time() {
    let home = Home::new();
    let models: Vec<String> = (0..3000).map(|number| format!("m{number}")).collect();
    let bases: Vec<String> = (0..3000).map(|number| format!("b{number}")).collect();
    let (models, bases) = (models.join(", "), bases.join(", "));
    let text = format!(
        "prompt: hi\nmatrix:\n  - adapter: pi\n    model: [{models}]\n    base_branch: [{bases}]\n\
         \x20   permission: [read, edit, full]\n"
    );
    let file = home.write("many.yaml", text);
    let file = file.to_string_lossy();
    let answer = run(&home, &["launch", "--matrix", &file, "--dry-run"]);
    assert_eq!(answer.code, Some(2), "{answer:#?}");
    assert!(answer.stderr.contains("more than 64 launches at once"), "{answer:#?}");
}

/// A line of a transcript that is nothing but brackets.
#[test]
fn a_deep_line_neither_crashes_nor_hides_the_others() {
    let home = Home::new();
    let mut text = crate::home::text(&[prompt("Begin")]);
    text.push_str(&format!("{{\"type\":{}\n", "[".repeat(900_000)));
    text.push_str(&crate::home::text(&[reply("The end")]));
    home.write(format!("{}/{}.jsonl", crate::home::PROJECT, id(1)), text);
    let answer = run(&home, &["status", &id(1), "--json"]);
    assert_eq!(answer.json()["session"]["state"], "done", "{answer:#?}");
}

/// A transcript with a hole of many gigabytes: it costs no disk, and must cost no memory.
#[test]
fn a_transcript_of_holes_is_unknown_in_time() {
    let home = Home::new();
    let path = home.claude(&id(1), &[prompt("Begin")]);
    let file = fs::File::options().append(true).open(&path).expect("a file");
    let made = file.set_len(64 << 30);
    super::not_tried(made.is_err(), "no files with holes here");
    if made.is_err() {
        return;
    }
    drop(file);
    let mut text = fs::OpenOptions::new().append(true).open(&path).expect("a file");
    let line = crate::home::text(&[reply("The end")]);
    std::io::Write::write_all(&mut text, format!("\n{line}").as_bytes()).expect("room");
    let answer = run(&home, &["list", "--since", "all", "--json"]);
    let all = answer.json()["sessions"].as_array().expect("sessions").clone();
    let found = all.iter().find(|one| one["id"] == id(1).as_str());
    // What is behind the hole is not known, and so neither is what the session does.
    let (state, reason) = found.map(|one| (&one["state"], &one["reason"])).expect("it is listed");
    let why = "cannot read its record: a line is longer than 256 MiB";
    assert_eq!((state, reason), (&json!("unknown"), &json!(why)), "{answer:#?}");
}

#[test]
fn very_many_sessions_of_nothing_are_borne() {
    let home = Home::new();
    for number in 0..3000 {
        home.write(format!("{}/{}.jsonl", crate::home::PROJECT, id(10_000 + number)), "{\n");
    }
    let answer = run(&home, &["list", "--since", "all", "--json", "--timeout", "none"]);
    assert!(answer.json()["sessions"].as_array().is_some_and(|all| all.len() >= 3000));
}
