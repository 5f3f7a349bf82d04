//! Codex 0.166 itself, and one 0.140, against the scripted model.

mod attach;
mod control;
mod events;
mod exec;
mod many;
mod old;
mod send;
mod tui;
mod verbs;

use std::fs;

use agentctl_testkit::sandbox::{Run, Started, Terminal};
use serde_json::{Value, json};

use crate::support::{LIMIT, Stage};

/// Where the executable lies in its package; what npm starts is a script that starts this.
const EXE: &str = "vendor/x86_64-unknown-linux-musl/bin/codex";

impl Stage {
    /// `codex exec`, and the thread it says it has started.
    fn exec(&self, script: &str) -> (Started, String) {
        let codex = self.execute(&[], script).spawn();
        let id = self.thread(&codex);
        (codex, id)
    }

    /// `codex exec` with a subcommand before the prompt.
    fn execute(&self, command: &[&str], script: &str) -> Run<'_> {
        self.sandbox.run(&[&["codex"], FLAGS, command, &["--", script]].concat())
    }

    /// The first line of its output names the thread.
    fn thread(&self, codex: &Started) -> String {
        self.sandbox.wait_for("started thread", LIMIT, || {
            let out = codex.stdout();
            let lines = out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let mut started = lines.filter(|line| line["type"] == "thread.started");
            Some(started.next()?["thread_id"].as_str()?.to_owned())
        })
    }

    /// Codex on a terminal without its daemon, ready for a prompt, and the thread it has locked.
    fn chat(&self, more: &[&str]) -> (Terminal<'_>, String) {
        let words = [&["codex", "--no-daemon", "-s", "workspace-write"], more].concat();
        let terminal = self.sandbox.run(&words).on_terminal();
        terminal.shows("mock-model");
        let locks = self.sandbox.home().join(".codex/thread-writer-locks");
        let id = self.sandbox.wait_for("locked thread", LIMIT, || {
            let names = fs::read_dir(&locks).ok()?.flatten().map(|entry| entry.file_name());
            let ids =
                names.filter_map(|name| Some(name.to_str()?.strip_suffix(".lock")?.to_owned()));
            ids.into_iter().find(|id| !id.starts_with('.'))
        });
        (terminal, id)
    }
}

const FLAGS: &[&str] =
    &["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];

/// The tokens of this many calls; what came from the cache is not counted as sent.
fn tokens(calls: u64) -> Value {
    json!({
        "input": 800 * calls,
        "output": 10 * calls,
        "cache_read": 200 * calls,
        "cache_write": 0,
    })
}
