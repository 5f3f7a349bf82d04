//! Launches of Claude Code that are out of the ordinary.

use std::fs;

use serde_json::{Value, json};

use super::EXE;
use crate::support::{Stage, ended, is_real};

fn waited(stage: &Stage, args: &[&str]) -> Value {
    let args = [&["launch", "claude-code", "--wait", "--json"], args].concat();
    let answer = stage.sandbox.agentctl(&args);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    answer.json()["session"].clone()
}

#[test]
fn five_megabytes_of_prompt_arrive() {
    let stage = Stage::new();
    let file = stage.sandbox.root().join("prompt");
    let prompt = format!("MOCK:text all of it\n{}", "0123456789abcde\n".repeat(5 << 16));
    fs::write(&file, prompt).expect("a file");
    let session = waited(&stage, &["-f", &file.to_string_lossy()]);
    assert_eq!((&session["state"], &session["last"]), (&"done".into(), &"all of it".into()));
    let source = session["source"].as_str().expect("a record");
    assert!(fs::metadata(source).expect("its record").len() > 5 << 20, "it was cut");
}

#[test]
fn a_prompt_that_looks_like_an_option_is_a_prompt() {
    let stage = Stage::new();
    for begins in ["--help", "-p", "--", "--no-such-flag=1"] {
        let session = waited(&stage, &["-p", &format!("{begins}\nMOCK:text heard")]);
        let id = session["id"].as_str().expect("an id");
        let session = stage.becomes(id, &[], &ended("done", "completed"));
        let prompt = session["prompt"].as_str().expect("a prompt");
        assert!(prompt.starts_with(begins) && session["last"] == "heard", "{session:#}");
    }
}

#[test]
fn launched_by_another_claude_it_is_nobody_s_child() {
    let stage = Stage::new();
    let gate = stage.sandbox.gate("answer");
    let outer = [
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_CHILD_SESSION", "1"),
        ("CLAUDE_CODE_SESSION_ID", "00000000-0000-4000-8000-000000000000"),
        ("CLAUDE_CODE_ENTRYPOINT", "cli"),
        ("AGENTCTL_LAUNCH_ID", "outer"),
    ];
    let args = ["launch", "claude-code", "-p", &gate.until(), "--json"];
    let answer = stage.sandbox.agentctl_with(&outer, &args);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let session = answer.json()["session"].clone();
    let pid = is_real(&session, EXE);
    let env = fs::read(format!("/proc/{pid}/environ")).expect("it is alive");
    let env = String::from_utf8_lossy(&env).into_owned();
    let has = |one: &str| env.split('\0').any(|pair| pair == one);
    for (name, value) in outer {
        assert!(!has(&format!("{name}={value}")), "{name} was handed on");
    }
    let launch = session["launch_id"].as_str().expect("our launch");
    assert!(has(&format!("AGENTCTL_LAUNCH_ID={launch}")), "{env}");
    gate.open();
    let id = session["id"].as_str().expect("an id");
    stage.becomes(id, &["working", "idle", "unknown"], &ended("done", "completed"));
}

/// 2.1.197 does not let root skip all permissions.
#[test]
fn what_root_may_not_do_is_told_in_its_words() {
    let stage = Stage::new();
    if !rustix::process::geteuid().is_root() {
        let session = waited(&stage, &["-p", "MOCK:text hi", "--permission", "full"]);
        assert_eq!((&session["state"], &session["last"]), (&"done".into(), &"hi".into()));
        return;
    }
    let args = ["launch", "claude-code", "-p", "MOCK:text hi", "--permission", "full"];
    let answer = stage.sandbox.agentctl(&args);
    assert_eq!(answer.code, Some(6), "{answer:?}");
    assert!(answer.stderr.contains("root/sudo privileges"), "{answer:?}");
    assert_eq!(stage.list(&["--all"]), Vec::<Value>::new());
}

/// Whoever asks later need not know what its environment was.
#[test]
fn a_store_of_its_own_is_found_without_its_environment() {
    let stage = Stage::new();
    let store = format!("CLAUDE_CONFIG_DIR={}", stage.sandbox.root().join("own").display());
    let session = waited(&stage, &["-p", "MOCK:text hi", "--env", &store, "--key", "k"]);
    let id = session["id"].as_str().expect("it has an id");
    stage.becomes(id, &[], &ended("done", "completed"));
    let launch = ["launch", "claude-code", "-p", "hi", "--key", "k", "--json"];
    let again = stage.sandbox.agentctl(&launch).json();
    assert_eq!((&again["session"]["id"], &again["reused"]), (&session["id"], &json!(true)));
    let other = stage.sandbox.agentctl(&["launch", "codex", "-p", "hi", "--key", "k"]);
    assert_eq!(other.code, Some(5), "{other:?}");
    let own = ["launch", "claude-code", "-p", "hi", "--", "--session-id", id];
    let own = stage.sandbox.agentctl(&own);
    assert_eq!(own.code, Some(2), "{own:?}");
}
