//! What `doctor` answers.

use super::{Problem, Swept};
use serde::Serialize;
use std::path::PathBuf;

/// The whole answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Doctor {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// What this host can tell.
    pub host: Vec<Ability>,
    /// Each agent.
    pub agents: Vec<Checkup>,
    /// What is wrong with what is ours: receipts that cannot be read, a configuration that others may read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// What agentctl 1.x left behind; it changes no answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<Swept>,
}

/// Whether a question can be answered here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ability {
    /// The question.
    pub what: String,
    /// Why it cannot be answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cannot_tell: Option<String>,
}

/// What was found of one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Checkup {
    /// Which agent.
    pub agent: String,
    /// How people call it.
    pub title: String,
    /// Where its program is.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::text::path_if_any")]
    pub program: Option<PathBuf>,
    /// Which version is installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Versions the adapter was proved against.
    pub proved: Vec<String>,
    /// Where sessions were looked for.
    pub stores: Vec<Store>,
    /// How many sessions are alive.
    pub live: usize,
    /// What transcripts hold that was never seen before, with how often and where.
    pub drift: Vec<Drift>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// One place sessions are looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Store {
    /// The directory.
    #[serde(serialize_with = "crate::text::path")]
    pub path: PathBuf,
    /// How many sessions it holds; absent if it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<usize>,
    /// How many of them are alive.
    pub live: usize,
}

/// Something never seen before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Drift {
    /// What it is.
    pub what: String,
    /// How often it was seen.
    pub times: usize,
    /// Where it was seen first.
    #[serde(serialize_with = "crate::text::path")]
    pub path: PathBuf,
    /// Where the line begins.
    pub offset: u64,
}
