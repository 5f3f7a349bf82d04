//! OpenCode 1.18 itself, against the scripted model.

mod attach;
mod control;
mod events;
mod files;
mod run;
mod send;
mod serve;
mod tui;
mod verbs;

use std::env;
use std::fs;
use std::path::Path;

use agentctl_testkit::sandbox::{Run, Started};
use serde_json::{Value, json};

use crate::support::{LIMIT, Stage};

/// Where the executable lies in its package.
const EXE: &str = "opencode-ai/bin/opencode.exe";

impl Stage {
    /// A stage on which OpenCode runs commands and writes files unasked, or asks first.
    pub(crate) fn opencode(permission: &str) -> Self {
        let stage = Self::new();
        let model = json!({
            "limit": {"context": 128_000, "output": 8192},
            "cost": {"input": 3, "output": 15},
        });
        let url = format!("{}/v1", stage.sandbox.model().url());
        let config = json!({
            "autoupdate": false,
            "share": "disabled",
            "model": "mock/mock-1",
            "small_model": "mock/mock-1",
            // The gates lie outside the directories of the tests.
            "permission": {"bash": permission, "edit": permission, "external_directory": "allow"},
            "provider": {"mock": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": url, "apiKey": "dummy"},
                "models": {"mock-1": model},
            }},
        });
        let dir = stage.sandbox.home().join(".config/opencode");
        fs::create_dir_all(&dir).expect("the home is ours");
        fs::write(dir.join("opencode.json"), config.to_string()).expect("the home is ours");
        stage
    }

    /// `opencode` with these words.
    fn opens(&self, words: &[&str]) -> Run<'_> {
        let program = program();
        let run = self.sandbox.run(&[&[program.as_str()], words].concat());
        quiet().iter().fold(run, |run, (name, value)| run.env(name, value))
    }

    /// `opencode run` in a directory, its prompt from a file: words of the command line get quoted.
    fn running(&self, more: &[&str], script: &str, dir: &Path) -> Started {
        let name = format!("prompt-{}", self.sandbox.model().requests().len());
        let file = dir.join(name);
        fs::write(&file, script).expect("the directory is ours");
        let input = fs::File::open(&file).expect("it was just written");
        let words = [&["run", "--print-logs"], more].concat();
        self.opens(&words).within(dir).input(input).spawn()
    }

    /// The session that a run says it has made.
    fn made(&self, run: &Started) -> String {
        self.sandbox.wait_for("made session", LIMIT, || {
            let log = run.stderr();
            let line = log.lines().find(|line| line.contains("message=created id=ses_"))?;
            let id = line.split("id=").nth(1)?.split_whitespace().next()?;
            Some(id.to_owned())
        })
    }

    /// The session that stands in the list and has no other name than its own.
    fn only(&self) -> String {
        self.sandbox.wait_for("named session", LIMIT, || {
            let rows = self.list(&["--all"]);
            rows.iter().find_map(|row| Some(row["id"].as_str()?.to_owned()))
        })
    }
}

/// Variables that keep it from fetching anything.
pub(crate) fn quiet() -> Vec<(&'static str, String)> {
    let on = [
        "OPENCODE_DISABLE_AUTOUPDATE",
        "OPENCODE_DISABLE_MODELS_FETCH",
        "OPENCODE_DISABLE_LSP_DOWNLOAD",
        "OPENCODE_DISABLE_SHARE",
    ];
    // It would fetch a package for plugins into its settings: nobody answers there.
    let nobody = [("npm_config_registry", "http://127.0.0.1:9"), ("npm_config_fetch_retries", "0")];
    let all = on.map(|name| (name, "1")).into_iter().chain(nobody);
    all.map(|(name, value)| (name, value.to_owned())).collect()
}

fn program() -> String {
    let dir = env::var("AGENTCTL_TEST_OPENCODE").unwrap_or_default();
    let program = Path::new(&dir).join("opencode");
    assert!(
        program.exists(),
        "AGENTCTL_TEST_OPENCODE names no folder with `opencode` in it: run `cargo xtask test`, or \
         `eval \"$(cargo xtask setup --print-env)\"` before the tests"
    );
    program.to_string_lossy().into_owned()
}

/// The tokens of this many calls; what came from the cache is not counted as sent.
fn tokens(calls: u64) -> Value {
    json!({
        "input": 800 * calls,
        "output": 10 * calls,
        "cache_read": 200 * calls,
        "cache_write": 0,
    })
}
