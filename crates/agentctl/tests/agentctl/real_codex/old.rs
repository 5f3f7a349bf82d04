//! Codex 0.140, which keeps no locks: the open rollout is the only trail to its process.

use agentctl_testkit::sandbox::Started;

use rustix::process::Signal;

use super::{FLAGS, tokens};
use crate::support::{LIMIT, Stage, alive, ended, is_real, signal};

/// Where its executable lies in its package.
const EXE: &str = "vendor/x86_64-unknown-linux-musl/bin/codex";

fn exec(stage: &Stage, script: &str) -> (Started, String) {
    let program = stage.sandbox.codex_0_140().to_string_lossy().into_owned();
    let words = [&[program.as_str()], FLAGS, &["--", script]].concat();
    let codex = stage.sandbox.run(&words).spawn();
    let id = stage.thread(&codex);
    (codex, id)
}

#[test]
fn without_locks_it_is_work_and_then_done() {
    let stage = Stage::new();
    let gate = stage.sandbox.gate("answer");
    let (codex, id) = exec(&stage, &gate.until());
    stage.asked("until");
    let working = stage.becomes(&id, &["working"], &alive("working", "headless"));
    is_real(&working, EXE);
    assert_eq!(working["version"], "0.140.0");
    let locks = stage.sandbox.home().join(".codex/thread-writer-locks");
    assert!(!locks.exists(), "it was to have none");
    let checks = stage.proved(&id);
    gate.open();
    assert!(codex.wait(LIMIT).success(), "{codex}");
    let done = stage.becomes(&id, &[], &ended("done", "completed"));
    assert_eq!(done["last"], "released");
    assert_eq!(stage.tokens(&id), tokens(1));
    assert!(checks.iter().all(|check| !stage.holds(check)), "{checks:#?}");
    stage.proved(&id);
}

#[test]
fn without_locks_a_kill_is_seen() {
    let stage = Stage::new();
    let tool = stage.sandbox.gate("tool");
    let (codex, id) = exec(&stage, &format!("MOCK:tool {}", tool.tool()));
    stage.asked("tool");
    stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
    let working = stage.becomes(&id, &["working"], &alive("working", "headless"));
    signal(Signal::KILL, is_real(&working, EXE));
    codex.wait(LIMIT);
    stage.becomes(&id, &["working"], &ended("died", "killed or crashed"));
    stage.proved(&id);
}
