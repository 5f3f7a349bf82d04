//! Whole screens, as people see them. `SNAPSHOTS=overwrite` writes them anew.

use crate::home::{
    Home, StandIn,
    lines::{api_error, call, codex_end, codex_open, id, prompt, reply, result},
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use snapbox::{assert_data_eq, file};

/// So long ago that no run of a test makes it another age.
fn ago(minutes: i64) -> String {
    let half = SignedDuration::from_secs(30);
    let at = Timestamp::now() - SignedDuration::from_mins(minutes) - half;
    at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string() // always as long: offsets are shown
}

/// The same line at another time, in another directory.
fn moved(mut line: Value, minutes: i64, dir: &str) -> Value {
    line["timestamp"] = ago(minutes).into();
    line["cwd"] = dir.into();
    line
}

/// A home with a session of each kind; what is alive goes with the stand-ins.
fn gallery() -> (Home, Vec<StandIn>) {
    let home = Home::new();
    let (api, web) = ("/home/dev/work/api", "/home/dev/work/web");
    let at = |line: Value, minutes| moved(line, minutes, api);
    let titled = json!({"type": "ai-title", "aiTitle": "Add a /healthz endpoint"});
    let tool = call("Bash", json!({"command": "cargo test --workspace"}));
    home.claude(
        &id(0xd09e),
        &[
            at(prompt("Please add a /healthz endpoint\nthat says ok"), 30),
            at(tool.clone(), 29),
            at(result("test result: ok. 12 passed"), 28),
            at(reply("I added the endpoint.\n\nAll tests pass."), 26),
            titled,
        ],
    );
    home.claude(&id(0xdead), &[at(prompt("Run everything, then crash"), 185), at(tool, 184)]);
    let failed = api_error("rate_limit", "API Error: 429");
    home.claude(&id(0xfa11), &[at(prompt("Too much"), 60 * 30), at(failed, 60 * 30)]);
    let stop = prompt("[Request interrupted by user]");
    home.claude(&id(0x5109), &[at(prompt("Stop me"), 60 * 24 * 4), at(stop, 60 * 24 * 4)]);
    let mut thread = codex_open(&id(0xc0de), "Port the parser to the new tokenizer");
    thread.push(codex_end("Ported."));
    for line in &mut thread {
        line["timestamp"] = ago(60 * 24 * 6).into();
        if line["payload"]["cwd"].is_string() {
            line["payload"]["cwd"] = web.into();
        }
    }
    home.codex(&id(0xc0de), &thread);
    let processes = vec![home.stand_in(), home.stand_in()];
    let waits = json!({"status": "waiting", "waitingFor": "permission prompt", "cwd": api,
        "name": "Migrate the sessions table", "nameSource": "user"});
    home.register(&processes[0], &id(0x3a17), waits);
    home.claude(&id(0x3a17), &[at(prompt("Migrate"), 12)]);
    home.register(&processes[1], &id(0xb054), json!({"status": "busy", "cwd": web}));
    home.claude(&id(0xb054), &[moved(prompt("Rename the columns, 日本語も"), 3, web)]);
    (home, processes)
}

/// What differs from run to run, under names of the same width where columns depend on it.
fn shown(home: &Home, args: &[&str]) -> String {
    let answer = home.run(args);
    let text = format!("{}{}", answer.stdout, answer.stderr);
    dateless(&text.replace(&home.root().display().to_string(), "[ROOT]"))
}

/// Dates as `2026-11-15 18:23:30Z` become letters.
fn dateless(text: &str) -> String {
    const SHAPE: &str = "YYYY-MM-DD hh:mm:ssZ";
    let is_date = |part: &str| {
        part.len() == SHAPE.len()
            && part.chars().zip(SHAPE.chars()).all(|(c, shape)| match shape {
                '-' | ' ' | ':' | 'Z' => c == shape,
                _ => c.is_ascii_digit(),
            })
    };
    let mut rest = text;
    let mut out = String::new();
    while let Some(next) = rest.chars().next() {
        let taken = match rest.get(..SHAPE.len()).is_some_and(is_date) {
            true => {
                out.push_str(SHAPE);
                SHAPE.len()
            }
            false => {
                out.push(next);
                next.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    out
}

#[test]
fn list() {
    let (home, _processes) = gallery();
    assert_data_eq!(shown(&home, &["list"]), file!["screens/list.txt"].raw());
}

#[test]
fn list_all() {
    let (home, _processes) = gallery();
    let args = ["list", "--all", "--cwd", "/home/dev/work"];
    assert_data_eq!(shown(&home, &args), file!["screens/list_all.txt"].raw());
}

#[test]
fn list_wide_with_usage() {
    let (home, processes) = gallery();
    drop(processes); // their pids would differ from run to run
    let args = ["list", "--all", "--cwd", "/home/dev/work", "--wide", "--usage"];
    assert_data_eq!(shown(&home, &args), file!["screens/list_wide.txt"].raw());
}

#[test]
fn status() {
    let (home, _processes) = gallery();
    assert_data_eq!(shown(&home, &["status", &id(0xd09e)]), file!["screens/status.txt"].raw());
}

#[test]
fn status_of_a_failure() {
    let (home, _processes) = gallery();
    let text = shown(&home, &["status", &id(0xfa11)]);
    assert_data_eq!(text, file!["screens/status_failed.txt"].raw());
}

#[test]
fn explain() {
    let (home, _processes) = gallery();
    assert_data_eq!(shown(&home, &["explain", &id(0xd09e)]), file!["screens/explain.txt"].raw());
}

#[test]
fn logs() {
    let (home, _processes) = gallery();
    assert_data_eq!(shown(&home, &["logs", &id(0xd09e)]), file!["screens/logs.txt"].raw());
}

#[test]
fn doctor() {
    let (home, _processes) = gallery();
    assert_data_eq!(shown(&home, &["doctor"]), file!["screens/doctor.txt"].raw());
}

/// Where nothing was ever run, it says what it looks for and what to do.
#[test]
fn nothing_yet() {
    let home = Home::new();
    std::fs::remove_dir_all(home.path(".claude")).expect("our folder");
    std::fs::remove_dir_all(home.path(".codex")).expect("our folder");
    assert_data_eq!(shown(&home, &["list"]), file!["screens/nothing_yet.txt"].raw());
}
