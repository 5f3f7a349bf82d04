//! What a run of `agentctl` answered.

use std::process::{Command, Stdio};

use serde_json::Value;

/// The output of a command that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What it was called with, for messages.
    pub call: String,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
}

impl Answer {
    /// Runs a command and waits for it.
    pub(super) fn of(command: &mut Command) -> Answer {
        let args: Vec<String> =
            command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
        let output = command.stdin(Stdio::null()).output();
        let output = output.unwrap_or_else(|why| panic!("cannot run {command:?}: {why}"));
        Answer {
            call: args.join(" "),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code(),
        }
    }

    /// Standard output as one JSON value.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|why| panic!("`{}` printed no JSON: {why}\n{self:#?}", self.call))
    }
}
