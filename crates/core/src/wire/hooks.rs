//! Hooks of a session, as programs see them.

use crate::{
    launch::MASK,
    receipt::{HookEnd, HookName, Launched, Ran, Run},
};
use jiff::Timestamp;
use serde::Serialize;

/// A command that is run for a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hook {
    /// When it is run.
    pub name: HookName,
    /// Always `***`: what it runs may hold a secret, and stays in the receipt.
    pub command: String,
    /// What became of it.
    pub outcome: HookOutcome,
    /// Its exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Why it could not be started, or why nobody knows what became of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When it was begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

/// What became of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HookOutcome {
    /// It will be run by the agent's parent.
    Waiting,
    /// Nobody has run it, and nobody will but `agentctl hook run`.
    NotRun,
    /// It runs.
    Running,
    /// It exited with 0.
    Succeeded,
    /// It exited otherwise, was killed, or could not be started.
    Failed,
    /// Its time was over, and it was ended.
    TimedOut,
    /// It was begun, and whoever ran it was killed; or its receipt cannot be read.
    Unknown,
}

impl HookOutcome {
    /// Something went wrong, and a person should know.
    pub fn is_bad(self) -> bool {
        match self {
            Self::Waiting | Self::Running | Self::Succeeded => false,
            Self::NotRun | Self::Failed | Self::TimedOut | Self::Unknown => true,
        }
    }

    /// It is not over yet.
    pub fn is_open(self) -> bool {
        match self {
            Self::Waiting | Self::Running => true,
            Self::Succeeded | Self::NotRun | Self::Failed | Self::TimedOut | Self::Unknown => false,
        }
    }
}

/// The hooks of a launch.
pub(super) fn of(launch: &Launched) -> Vec<Hook> {
    let Some(hooks) = &launch.hooks else { return Vec::new() };
    let one = |name: &HookName| hooks.command(*name).map(|_| hook(*name, launch.runs.of(*name)));
    HookName::ALL.iter().filter_map(one).collect()
}

fn hook(name: HookName, run: &Run) -> Hook {
    let plain = |outcome, at| Hook {
        name,
        command: MASK.to_owned(),
        outcome,
        code: None,
        signal: None,
        message: None,
        at,
        ended_at: None,
    };
    match run {
        Run::NotRun => plain(HookOutcome::NotRun, None),
        Run::Waiting => plain(HookOutcome::Waiting, None),
        Run::Running(Ran { at, .. }) => plain(HookOutcome::Running, Some(*at)),
        Run::Lost(Ran { at, .. }) => plain(HookOutcome::Unknown, Some(*at)),
        Run::Damaged(path, why) => {
            let message = Some(format!("{} cannot be read: {why}", path.display()));
            Hook { message, ..plain(HookOutcome::Unknown, None) }
        }
        Run::Ended(Ran { at, .. }, end) => Hook {
            code: end.code,
            signal: end.signal,
            message: end.failure.clone(),
            ended_at: Some(end.at),
            ..plain(outcome(end), Some(*at))
        },
    }
}

fn outcome(end: &HookEnd) -> HookOutcome {
    match (end.timed_out, end.code) {
        (true, _) => HookOutcome::TimedOut,
        (false, Some(0)) => HookOutcome::Succeeded,
        (false, _) => HookOutcome::Failed,
    }
}
