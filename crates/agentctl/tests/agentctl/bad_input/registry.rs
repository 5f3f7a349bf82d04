//! Registry files of Claude Code that hold nonsense: nobody is taken for alive who is not.

use crate::home::{
    Home, Seen,
    lines::{id, prompt, reply},
};
use serde_json::{Value, json};

/// A registry file that is right but for one field.
fn off(home: &Home, number: u32, field: &str, value: Value) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
    let mut file = json!({
        "pid": 1, "sessionId": id(number), "cwd": "/home/dev/good", "procStart": "12345678901",
        "startedAt": now.as_millis() as u64 - 5000, "status": "busy", "entrypoint": "cli",
    });
    file[field] = value;
    home.register_as(&format!("{number}"), file);
    home.claude(&id(number), &[prompt("Begin"), reply("Done")]);
}

#[test]
fn absurd_numbers_lead_to_nobody() {
    let home = Home::new();
    let numbers = [
        json!(0),
        json!(-1),
        json!(1),
        json!(std::process::id()),
        json!(4_194_304),
        json!(4_294_967_295_u32),
        json!(4_294_967_297_u64),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e300),
        json!(1.5),
        json!("1"),
        json!(null),
        json!([1]),
    ];
    let mut expected = Seen::good();
    let mut number = 0;
    for field in ["pid", "procStart", "startedAt"] {
        for value in &numbers {
            number += 1;
            off(&home, number, field, value.clone());
            expected = expected.and(id(number), "done");
        }
    }
    assert_eq!(home.seen(), expected);
}

/// Ticks are a number in a text; anything else is no trail.
#[test]
fn absurd_start_times_lead_to_nobody() {
    let home = Home::new();
    let mut expected = Seen::good();
    let texts =
        ["", "now", "-1", "0x10", "1e3", "18446744073709551616", "12 34", "\u{0661}\u{0662}"];
    for (number, text) in (1..).zip(texts) {
        off(&home, number, "procStart", json!(text));
        expected = expected.and(id(number), "done");
    }
    assert_eq!(home.seen(), expected);
}

/// The last moments a clock can show, and the first beyond.
#[test]
fn absurd_clocks_hurt_nobody() {
    let home = Home::new();
    let process = home.stand_in();
    let last = 253_402_207_200_999_i64;
    for at in [last, last - 999, last + 1, i64::MAX, i64::MIN, -377_705_023_201_000, 0, -1] {
        home.register(&process, &id(1), json!({"startedAt": at, "status": "busy"}));
        for args in [&["list", "--json"][..], &["list", "-w"], &["doctor"]] {
            let answer = home.run(args);
            // A moment that no clock shows is a problem, and nobody's end.
            assert!(matches!(answer.code, Some(0 | 8)), "startedAt {at}, {answer:#?}");
        }
    }
}

/// Files that hold no registration are problems, or nothing, and never hide the rest.
#[test]
fn files_that_are_no_registration_hide_nobody() {
    let home = Home::new();
    let process = home.stand_in();
    home.register(&process, &id(1), json!({"status": "idle"}));
    for (name, text) in
        [("2", "[]"), ("3", "7"), ("4", "\"text\""), ("5", "{}"), ("6", "null"), ("7", "")]
    {
        home.write(format!(".claude/sessions/{name}.json"), text);
    }
    assert_eq!(home.seen(), Seen::good().and(id(1), "idle"));
    for (name, text) in [("8", "{\"pid\":"), ("9", "\0\0\0"), ("10", "\u{fffd}")] {
        home.write(format!(".claude/sessions/{name}.json"), text);
    }
    let why = "not a JSON value (it may be in the middle of a rewrite)";
    let mut expected = Seen::good().and(id(1), "idle");
    for name in ["8", "9", "10"] {
        expected = expected.problem(&format!(".claude/sessions/{name}.json"), why);
    }
    assert_eq!(home.seen(), expected);
}

/// Deep nesting in a file that every command reads.
#[test]
fn a_deep_registry_file_is_a_problem_at_most() {
    let home = Home::new();
    let deep = "[".repeat(50_000);
    home.write(".claude/sessions/1.json", format!("{{\"x\":{deep}"));
    let why = "not a JSON value (it may be in the middle of a rewrite)";
    assert_eq!(home.seen(), Seen::good().problem(".claude/sessions/1.json", why));
}
