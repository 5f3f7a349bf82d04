//! Claude Code 2.1.197 itself, against the scripted model.

mod abuse;
mod again;
mod attach;
mod events;
mod headless;
mod send;
mod trees;
mod tui;
mod verbs;

use std::fs;

use agentctl_testkit::sandbox::{Run, Started, Terminal};
use serde_json::{Value, json};

use crate::support::{LIMIT, Stage};

/// Where the executable lies in its package.
const EXE: &str = "claude-code/bin/claude.exe";

impl Stage {
    /// Claude Code on a terminal, ready for a prompt, and the session it says it has loaded.
    fn talk(&self, more: &[&str]) -> (Terminal<'_>, String) {
        let terminal = self.sandbox.run(&[&["claude"], more].concat()).on_terminal();
        terminal.shows("? for shortcuts");
        let registry =
            self.sandbox.home().join(format!(".claude/sessions/{}.json", terminal.pid()));
        let id = self.sandbox.wait_for("registered session", LIMIT, || {
            let file: Value = serde_json::from_slice(&fs::read(&registry).ok()?).ok()?;
            file["sessionId"].as_str().map(str::to_owned)
        });
        (terminal, id)
    }

    /// `claude -p` under this id; tools need no leave.
    fn print(&self, id: &str, script: &str) -> Started {
        self.printing(&["--session-id", id], script).spawn()
    }

    /// `claude -p` with more arguments; the prompt comes last, behind no variadic option.
    pub(crate) fn printing(&self, more: &[&str], script: &str) -> Run<'_> {
        let words = [&["claude", "-p", "--permission-mode", "dontAsk"], more].concat();
        let words = [words, vec!["--allowedTools=Bash", "--", script]].concat();
        self.sandbox.run(&words)
    }
}

/// The tokens of this many calls.
fn tokens(calls: u64) -> Value {
    json!({
        "input": 1000 * calls,
        "output": 10 * calls,
        "cache_read": 200 * calls,
        "cache_write": 50 * calls,
    })
}
