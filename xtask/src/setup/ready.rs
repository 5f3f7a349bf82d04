//! The whole of setup, and the variables by which tests find what it installed.

use super::{agents, cache::Cache, cargo_tools, spelling, system};
use crate::failure::{Failure, Outcome};
use std::{
    env,
    ffi::OsString,
    fmt::Write,
    path::{Path, PathBuf},
};

/// Folders of pins below `xtask/agents`, and the variable by which tests find each set's commands.
const SETS: &[(&str, &str)] = &[
    ("current", "AGENTCTL_TEST_AGENTS"),
    ("codex-0.140", "AGENTCTL_TEST_CODEX_0_140"),
    ("opencode", "AGENTCTL_TEST_OPENCODE"),
    ("pi-0.73", "AGENTCTL_TEST_PI_0_73"),
    ("pi-1.5", "AGENTCTL_TEST_PI_1_5"),
    ("gemini", "AGENTCTL_TEST_GEMINI"),
    ("copilot", "AGENTCTL_TEST_COPILOT"),
    ("openclaw", "AGENTCTL_TEST_OPENCLAW"),
];

/// Where the things are that tests need and setup installed.
#[derive(Debug)]
pub(crate) struct Ready {
    sets: Vec<(&'static str, PathBuf)>,
    nextest: Option<PathBuf>,
}

/// Installs what is missing.
pub(crate) fn run(root: &Path) -> Outcome<Ready> {
    let cache = Cache::of_this_user()?;
    system::ensure(&cache, system::FOR_TESTS)?;
    let nextest = cargo_tools::nextest(&cache)?;
    spelling::typos(root)?;
    let mut sets = Vec::new();
    for (folder, variable) in SETS {
        sets.push((*variable, agents::ensure(&cache, &root.join("xtask/agents").join(folder))?));
    }
    Ok(Ready { sets, nextest })
}

/// The commands that are pinned, each with its version.
pub(crate) fn pinned(root: &Path) -> Outcome<Vec<(&'static str, String)>> {
    let mut pinned = Vec::new();
    for (folder, _) in SETS {
        pinned.extend(agents::commands_of(&root.join("xtask/agents").join(folder))?);
    }
    Ok(pinned)
}

impl Ready {
    /// The variables for a test run: where the agents' commands are, and a search path on which
    /// `cargo nextest` is found.
    pub(crate) fn environment(&self) -> Vec<(&'static str, OsString)> {
        let sets = self.sets.iter().map(|(name, dir)| (*name, dir.clone().into_os_string()));
        let mut variables: Vec<_> = sets.collect();
        if let Some(dir) = &self.nextest {
            let path = env::var_os("PATH").unwrap_or_default();
            let mut searched = dir.clone().into_os_string();
            searched.push(":");
            searched.push(path);
            variables.push(("PATH", searched));
        }
        variables
    }

    /// The same as lines for a shell's `eval`.
    pub(crate) fn exports(&self) -> String {
        let mut lines = String::new();
        for (name, value) in self.environment() {
            let quoted = quoted(&value.to_string_lossy());
            writeln!(lines, "export {name}={quoted}").expect("a String takes any text");
        }
        lines
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A pin that does not read as such.
pub(super) fn bad_pin(file: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::new(format!("cannot read the pins in {}: {why}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::Ready;

    #[test]
    fn exports_survive_spaces_and_quotes() {
        let sets = vec![("ONE", "/a b/.bin".into()), ("TWO", "/it's/.bin".into())];
        let ready = Ready { sets, nextest: None };
        assert_eq!(ready.exports(), "export ONE='/a b/.bin'\nexport TWO='/it'\\''s/.bin'\n");
    }
}
