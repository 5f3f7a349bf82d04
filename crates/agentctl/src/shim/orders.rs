//! What the shim is told, and what it tells.

use agentctl_core::{
    launch::{Mark, Signal},
    receipt::Launched,
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What the shim is told, in a file that it removes once it was read: variables may hold secrets.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// The program and its arguments.
    pub(crate) argv: Vec<String>,
    /// Where to start it.
    pub(crate) cwd: PathBuf,
    /// Variables to set.
    pub(crate) env: Vec<(String, String)>,
    /// Variables not to hand on.
    pub(crate) without: Vec<String>,
    /// The receipt, all but the process, which is not there yet.
    pub(crate) receipt: Launched,
    /// Where its output goes.
    pub(crate) log: PathBuf,
    /// Where the agent's output names its session, if the id was not chosen.
    pub(crate) mark: Option<Mark>,
    /// The first words of an input that stays open.
    pub(crate) first: Option<String>,
    /// Signals that end it, the best first.
    pub(crate) ends_by: Vec<Signal>,
}

impl Orders {
    /// Something is to be run once the agent has ended.
    pub(crate) fn completes(&self) -> bool {
        self.receipt.hooks.as_ref().is_some_and(|hooks| hooks.on_complete.is_some())
    }
}

/// What the shim tells whoever started it, a line each. Nobody may be listening.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The agent could not be started, and why.
    NotStarted(String),
    /// It runs.
    Started,
    /// It ended, by this exit code or signal.
    Ended {
        /// Exit code.
        code: Option<i32>,
        /// Signal.
        signal: Option<i32>,
    },
}
