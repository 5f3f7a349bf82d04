//! The whole of setup, and the variables by which tests find what it installed.

use super::{agents, cache::Cache, cargo_tools, spelling, system};
use crate::failure::{Failure, Outcome};
use std::{
    env,
    ffi::OsString,
    fmt::Write,
    path::{Path, PathBuf},
};

/// Where the things are that tests need and setup installed.
#[derive(Debug)]
pub(crate) struct Ready {
    agents: PathBuf,
    codex_0_140: PathBuf,
    nextest: Option<PathBuf>,
}

/// Installs what is missing.
pub(crate) fn run(root: &Path) -> Outcome<Ready> {
    let cache = Cache::of_this_user()?;
    system::ensure(&cache, system::FOR_TESTS)?;
    let nextest = cargo_tools::nextest(&cache)?;
    spelling::typos(root)?;
    Ok(Ready {
        agents: agents::ensure(&cache, &root.join("xtask/agents/current"))?,
        codex_0_140: agents::ensure(&cache, &root.join("xtask/agents/codex-0.140"))?,
        nextest,
    })
}

impl Ready {
    /// The variables for a test run: where the agents' commands are, and a search path on which
    /// `cargo nextest` is found.
    pub(crate) fn environment(&self) -> Vec<(&'static str, OsString)> {
        let mut variables = vec![
            ("AGENTCTL_TEST_AGENTS", self.agents.clone().into_os_string()),
            ("AGENTCTL_TEST_CODEX_0_140", self.codex_0_140.clone().into_os_string()),
        ];
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
        let ready =
            Ready { agents: "/a b/.bin".into(), codex_0_140: "/it's/.bin".into(), nextest: None };
        assert_eq!(
            ready.exports(),
            "export AGENTCTL_TEST_AGENTS='/a b/.bin'\n\
             export AGENTCTL_TEST_CODEX_0_140='/it'\\''s/.bin'\n"
        );
    }
}
