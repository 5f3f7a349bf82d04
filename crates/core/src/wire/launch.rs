//! What was launched, or would be.

use super::{NewWorktree, Problem, Session};
use crate::{hosted::Call, receipt::HookName};
use serde::Serialize;
use std::path::PathBuf;

/// What `launch` and `resume` answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Launch {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// The session that runs, or ran already.
    pub session: Session,
    /// It was launched before, with the same key; nothing was started.
    pub reused: bool,
    /// The worktree that was made for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<NewWorktree>,
    /// What its process writes.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::text::path_if_any")]
    pub log: Option<PathBuf>,
    /// What went wrong beside it: a hook.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// A command that would be run for a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedHook {
    /// When.
    pub name: HookName,
    /// Which.
    pub command: String,
}

/// What `launch --dry-run` answers: how an agent would be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DryRun {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Where.
    #[serde(serialize_with = "crate::text::path")]
    pub cwd: PathBuf,
    /// Variables that are set.
    pub env: Vec<(String, String)>,
    /// Variables that are not handed on.
    pub without: Vec<String>,
    /// What it reads.
    pub input: String,
    /// Commands that are run for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<PlannedHook>,
    /// What its server is asked for, where that runs its sessions: then nothing is started.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Call>,
    /// The worktree that is made for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<NewWorktree>,
}

/// What a launch of several answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Launches {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// The group that all belong to.
    pub group: String,
    /// Each of them, in the order in which they were asked for.
    pub slots: Vec<Slot>,
    /// What went wrong beside them: hooks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// One launch of several: a session, or what stood in its way.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Slot {
    /// What it is called among them.
    pub name: String,
    /// Which agent.
    pub agent: String,
    /// Which model, if one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The session that runs, or ran already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Session>,
    /// It was launched before, with the same key; nothing was started.
    pub reused: bool,
    /// The worktree that was made for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<NewWorktree>,
    /// Why it does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

/// What any command answers that cannot do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failed {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// What stood in the way.
    pub error: Failure,
}

/// What stood in the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// As in the errors of commands.
    pub kind: String,
    /// What was tried, on what, and why not.
    pub message: String,
    /// The way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What `launch --dry-run` of several answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DryRuns {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// The group that all would belong to.
    pub group: String,
    /// Each of them.
    pub slots: Vec<DrySlot>,
}

/// How one of several would be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DrySlot {
    /// What it is called among them.
    pub name: String,
    /// How it would be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<DryRun>,
    /// Why it could not be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}
