//! What `locks` answers.

use super::Problem;
use jiff::Timestamp;
use serde::Serialize;
use std::path::PathBuf;

/// The whole answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Locks {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// Locked directories, one row for each lock.
    pub locks: Vec<Lock>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// A reason why nothing is launched in a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lock {
    /// The directory: of a git worktree its root, links resolved.
    #[serde(serialize_with = "crate::text::path")]
    pub directory: PathBuf,
    /// Who locks it.
    pub kind: LockKind,
    /// The session that works there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// That session's agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// That session's process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The person who locked it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Since when.
    pub since: Timestamp,
}

/// Who locks a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LockKind {
    /// A live session works in it; the lock goes with the session.
    Session,
    /// A person locked it; the lock stays until a person unlocks it.
    Manual,
}
