//! Where the real agents are.

use std::env;
use std::path::PathBuf;

/// The variable that names the folder of the agents' commands.
const CURRENT: &str = "AGENTCTL_TEST_AGENTS";
/// The same for Codex 0.140, the last one known without locks.
const CODEX_0_140: &str = "AGENTCTL_TEST_CODEX_0_140";

/// Commands that must be the pinned ones, never whatever the machine happens to have.
const AGENTS: &[&str] = &["claude", "codex"];

/// The folder of the agents' commands, if it is known.
pub(super) fn folder() -> Option<PathBuf> {
    env::var_os(CURRENT).filter(|dir| !dir.is_empty()).map(PathBuf::from)
}

/// Fails the test if `program` is an agent that is not installed.
pub(super) fn need(program: &str) {
    if AGENTS.contains(&program) {
        found(CURRENT, program);
    }
}

/// The command of Codex 0.140.
pub(super) fn codex_0_140() -> PathBuf {
    found(CODEX_0_140, "codex")
}

fn found(variable: &str, program: &str) -> PathBuf {
    let dir = env::var_os(variable).filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let Some(dir) = dir else {
        panic!(
            "{variable} is not set: run `cargo xtask test`, or \
             `eval \"$(cargo xtask setup --print-env)\"` before the tests"
        );
    };
    let path = dir.join(program);
    assert!(
        path.exists(),
        "{variable} names no folder with `{program}` in it: run `cargo xtask setup`"
    );
    path
}
