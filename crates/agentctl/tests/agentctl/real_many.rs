//! Several real agents at once on one repository.

use std::{collections::BTreeSet, env, fs, process::Command};

use serde_json::{Value, json};

use crate::{
    real_pi::NEW,
    support::{Stage, ended},
};

/// A repository with one commit in the stage's directory.
fn repository(stage: &Stage) {
    let work = stage.sandbox.work();
    fs::write(work.join("README"), "hello\n").expect("a file");
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(&work).env("GIT_CONFIG_GLOBAL", "/dev/null");
        git.args(["-c", "user.name=T", "-c", "user.email=t@example.org"]).args(words);
        let output = git.output().expect("git runs");
        assert!(output.status.success(), "git {words:?}: {output:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "first"]);
}

#[test]
fn launch_of_twelve_slots_on_one_repository_is_twelve_sessions() {
    let stage = Stage::new();
    repository(&stage);
    let mut set = stage.pi_set(&NEW);
    let others = env::var("AGENTCTL_TEST_AGENTS").expect("`cargo xtask test` sets it");
    for (_, path) in set.iter_mut().filter(|(name, _)| *name == "PATH") {
        path.push_str(&format!(":{others}"));
    }
    let set: Vec<(&str, &str)> = set.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let gate = stage.sandbox.gate("answer");
    let prompt = gate.until();
    let slots = ["claude-code", "codex", "pi"].repeat(4);
    let slots: Vec<&str> = slots.iter().flat_map(|agent| ["--adapter", agent]).collect();
    let words = [&["launch", "--json", "-p", &prompt], slots.as_slice()].concat();
    let answer = stage.sandbox.agentctl_with(&set, &words);
    assert_eq!(answer.code, Some(0), "{answer:?}\n{}", stage.sandbox.scene());
    let all = answer.json();
    let sessions: Vec<&Value> =
        all["slots"].as_array().expect("slots").iter().map(|slot| &slot["session"]).collect();
    let field = |name: &str| -> BTreeSet<String> {
        sessions.iter().map(|session| session[name].to_string()).collect()
    };
    for name in ["id", "pid", "cwd", "branch", "launch_id"] {
        assert_eq!(field(name).len(), 12, "{name}: {:#}", json!(sessions));
    }
    assert_eq!((field("group").len(), field("agent").len()), (1, 3));
    for session in &sessions {
        let pid = session["pid"].as_u64().expect("a pid");
        let cwd = fs::read_link(format!("/proc/{pid}/cwd")).expect("it is alive");
        assert_eq!(json!(cwd), session["cwd"]);
    }
    let group = all["group"].as_str().expect("a group");
    let listed = stage.list(&["--group", group]);
    assert_eq!(listed.len(), 12, "{:#}", json!(listed));

    gate.open();
    let ids: Vec<&str> = sessions.iter().filter_map(|session| session["id"].as_str()).collect();
    let waited = stage.sandbox.agentctl_with(&set, &[&["wait", "--json"], ids.as_slice()].concat());
    assert_eq!(waited.code, Some(0), "{waited:?}");
    for id in ids {
        stage.becomes(id, &["done"], &ended("done", "completed"));
    }
}
