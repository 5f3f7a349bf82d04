//! Copilot CLI 1.0.102 itself, against the scripted model.

mod headless;
mod tui;
mod verbs;

use std::{env, fs};

use agentctl_testkit::sandbox::{Run, Terminal};
use serde_json::{Value, json};

use crate::support::{LIMIT, Stage};

/// The variable that names the folder with its command.
pub(crate) const SET: &str = "AGENTCTL_TEST_COPILOT";
/// Where the executable lies; what npm starts is a script that starts this.
const EXE: &str = "@github/copilot-linux-x64/copilot";

impl Stage {
    /// `copilot` with these arguments, set to talk to the model and to trust everybody.
    fn copilot(&self, args: &[&str]) -> Run<'_> {
        let program = env::var(SET).expect("`cargo xtask test` says where the agents are");
        let program = format!("{program}/copilot");
        let run = self.sandbox.run(&[&[program.as_str()], args].concat());
        self.copilot_set().iter().fold(run, |run, (name, value)| run.env(name, value))
    }

    /// The variables with which it talks to the model; its settings are made.
    pub(crate) fn copilot_set(&self) -> Vec<(&'static str, String)> {
        let config = self.sandbox.home().join(".copilot/config.json");
        if !config.exists() {
            fs::create_dir_all(config.parent().expect("it has one")).expect("the home is ours");
            let trusted = json!({"trustedFolders": [self.sandbox.work()], "appTipShown": true});
            fs::write(&config, trusted.to_string()).expect("the home is ours");
        }
        vec![
            ("COPILOT_OFFLINE", "true".to_owned()),
            ("COPILOT_PROVIDER_BASE_URL", format!("{}/v1", self.sandbox.model().url())),
            ("COPILOT_PROVIDER_API_KEY", "dummy".to_owned()),
            ("COPILOT_MODEL", "mock-1".to_owned()),
            ("COPILOT_AUTO_UPDATE", "false".to_owned()),
        ]
    }

    /// `copilot -p` with a script for the model.
    fn copilot_prompt(&self, id: &str, script: &str) -> Run<'_> {
        let free = ["--allow-all-tools", "--allow-all-paths"];
        self.copilot(&[&["--session-id", id], &free[..], &["-p", script]].concat())
    }

    /// Copilot on a terminal, ready for a prompt, and the session it has locked.
    fn copilot_chat(&self, args: &[&str]) -> (Terminal<'_>, String) {
        let terminal = self.copilot(args).on_terminal();
        terminal.shows("/ commands");
        let id = self.sandbox.wait_for("locked session", LIMIT, || {
            let live = self.list(&[]).into_iter().find(|row| row["live"] == true)?;
            Some(live["id"].as_str()?.to_owned())
        });
        (terminal, id)
    }
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
