//! Lines whose fields are of other types than ever seen, nested too deep, or there twice.

use crate::home::{
    DAY, Home, PROJECT, Seen,
    lines::{codex_end, codex_open, id, prompt, reply},
    text,
};
use serde_json::{Value, json};

/// One of each type, and the extremes of numbers.
fn odd() -> Vec<Value> {
    let mut odd = vec![json!(null), json!(true), json!(0), json!(-1), json!(1.5), json!(1e308)];
    odd.extend([json!(u64::MAX), json!(""), json!("text"), json!([]), json!({}), json!([[null]])]);
    odd
}

/// Fields of a line that do not say how a turn ended.
const BESIDE: &[&str] = &[
    "/parentUuid",
    "/uuid",
    "/timestamp",
    "/cwd",
    "/version",
    "/gitBranch",
    "/message/id",
    "/message/role",
    "/message/model",
    "/message/content",
    "/message/usage",
    "/message/usage/input_tokens",
    "/requestId",
];

#[test]
fn fields_of_any_type_change_no_state() {
    let home = Home::new();
    let mut expected = Seen::good();
    let mut number = 0;
    for (field, value) in BESIDE.iter().flat_map(|field| odd().into_iter().map(move |v| (field, v)))
    {
        number += 1;
        let (mut asked, mut answered) = (prompt("Begin"), reply("Done"));
        for line in [&mut asked, &mut answered] {
            if let Some(place) = line.pointer_mut(field) {
                *place = value.clone();
            }
        }
        home.claude(&id(number), &[asked, answered]);
        expected = expected.and(id(number), "done");
    }
    assert_eq!(home.seen(), expected);
    let usage = &mut home.agentctl(&["list", "--since", "all", "--usage", "--json"]);
    assert_eq!(home.ask(usage).code, Some(0));
}

#[test]
fn deciding_fields_of_any_type_hide_nobody() {
    let home = Home::new();
    let mut ids = Vec::new();
    for field in ["type", "message", "payload", "timestamp"] {
        for value in odd() {
            let change = |mut line: Value| {
                line[field] = value.clone();
                line
            };
            let claude = id(2 * ids.len() as u32);
            let codex = id(2 * ids.len() as u32 + 1);
            home.claude(&claude, &[change(prompt("Begin")), change(reply("Done"))]);
            let mut thread = codex_open(&codex, "Begin");
            thread.push(codex_end("Done"));
            home.codex(&codex, &thread.into_iter().map(change).collect::<Vec<_>>());
            ids.extend([claude, codex]);
        }
    }
    let list = home.run(crate::home::ALL).json();
    let listed = |id: &String| {
        list["sessions"]
            .as_array()
            .is_some_and(|all| all.iter().filter(|session| session["id"] == **id).count() == 1)
    };
    let missing: Vec<&String> = ids.iter().filter(|id| !listed(id)).collect();
    assert_eq!(missing, Vec::<&String>::new());
    // Where no line has a type, nothing of the transcript is understood, and that is a problem.
    for (args, code) in [(&["list", "--since", "all", "--usage"][..], 8), (&["doctor"], 0)] {
        assert_eq!(home.run(args).code, Some(code));
    }
    home.seen_by(&mut home.agentctl(crate::home::ALL));
}

fn nested(depth: usize) -> String {
    format!("{}1{}", "[".repeat(depth), "]".repeat(depth))
}

/// The end of a turn is plain to see, however deep something beside it goes.
#[test]
fn deep_nesting_neither_crashes_nor_hides_the_line() {
    let home = Home::new();
    let mut expected = Seen::good();
    for (number, depth) in [(1, 100), (3, 200), (5, 100_000)] {
        let mut answered = reply("Done");
        answered["input"] = "DEEP".into();
        let lines = text(&[prompt("Begin"), answered]).replace("\"DEEP\"", &nested(depth));
        home.write(format!("{PROJECT}/{}.jsonl", id(number)), lines);
        let mut thread = codex_open(&id(number + 1), "Begin");
        let mut end = codex_end("Done");
        end["payload"]["extra"] = "DEEP".into();
        thread.push(end);
        let lines = text(&thread).replace("\"DEEP\"", &nested(depth));
        let name = format!("{DAY}/rollout-2026-11-01T10-00-00-{}.jsonl", id(number + 1));
        home.write(name, lines);
        expected = expected.and(id(number), "done").and(id(number + 1), "done");
    }
    for command in ["status", "logs"] {
        home.run(&[command, &id(5)]);
    }
    assert_eq!(home.seen(), expected);
}

/// As in JavaScript, the last of several fields of the same name counts.
#[test]
fn a_field_that_is_there_twice_counts_once() {
    let home = Home::new();
    let twice = text(&[prompt("Begin"), reply("Done")])
        .replace("\"type\":\"assistant\"", "\"type\":\"user\",\"type\":\"assistant\"")
        .replace("\"usage\":{", "\"usage\":{\"input_tokens\":7,\"output_tokens\":7,");
    home.write(format!("{PROJECT}/{}.jsonl", id(1)), twice);
    assert_eq!(home.seen(), Seen::good().and(id(1), "done"));
    let tokens = json!({"input": 10, "output": 20, "cache_read": 30, "cache_write": 40});
    assert_eq!(home.run(&["status", &id(1), "--json"]).json()["session"]["tokens"], tokens);
}

/// What of a message's usage is told is counted, though the rest is not told.
#[test]
fn counts_that_are_null_leave_the_others_counted() {
    let home = Home::new();
    let mut answered = reply("Done");
    answered["message"]["usage"]["cache_read_input_tokens"] = Value::Null;
    answered["message"]["usage"]["cache_creation_input_tokens"] = json!(-1);
    home.claude(&id(1), &[prompt("Begin"), answered]);
    let tokens = json!({"input": 10, "output": 20, "cache_read": 0, "cache_write": 0});
    assert_eq!(home.run(&["status", &id(1), "--json"]).json()["session"]["tokens"], tokens);
}
