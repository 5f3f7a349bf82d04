//! What `diff` and `compare` answer.

use super::{Problem, Session};
use serde::Serialize;
use std::path::PathBuf;

/// What `diff` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// Whose.
    pub id: String,
    /// What was changed.
    pub changes: Changes,
    /// The same as a patch, unless only `--stat` was asked for; what is not UTF-8 is shown as well as can be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
}

/// What was changed since a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Changes {
    /// The commit since which.
    pub base: String,
    /// How that commit was found.
    pub since: Since,
    /// The worktree that was looked at, or the repository, where the worktree is gone.
    #[serde(serialize_with = "crate::text::path")]
    pub worktree: PathBuf,
    /// Only the branch could be looked at: the worktree is gone, and what was not committed with it.
    pub branch_only: bool,
    /// The branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// How many commits were added.
    pub commits: u64,
    /// Lines that were added.
    pub added: u64,
    /// Lines that were removed.
    pub removed: u64,
    /// Every file that differs.
    pub files: Vec<ChangedFile>,
    /// What is not in these numbers, or is and may not be the session's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How the commit was found since which changes are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Since {
    /// It was checked out when the session was launched.
    Launch,
    /// The branch and its upstream have it in common.
    Upstream,
    /// The branch and the default branch have it in common.
    DefaultBranch,
    /// It is checked out: only what is not committed is shown.
    Head,
}

/// One file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangedFile {
    /// Its path in the worktree.
    pub path: String,
    /// Its path before, where it was moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Lines that were added; absent where it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    /// Lines that were removed; absent where it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<u64>,
}

/// What `compare` answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// Which group.
    pub group: String,
    /// Its sessions, the first that was started first.
    pub rows: Vec<Compared>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// One session of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compared {
    /// The session, tokens included.
    pub session: Session,
    /// How many seconds it took, or has taken so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<i64>,
    /// What it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
    /// Why that cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}
