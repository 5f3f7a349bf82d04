//! What `prune` answers.

use super::Problem;
use serde::Serialize;
use std::path::PathBuf;

/// The whole answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pruned {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// Nothing was removed: this is what would be.
    pub dry_run: bool,
    /// What was removed, or would be.
    pub removed: Vec<Swept>,
    /// What could not be removed.
    pub problems: Vec<Problem>,
}

/// A file or folder that nobody needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Swept {
    /// Where it is, or was.
    #[serde(serialize_with = "crate::text::path")]
    pub path: PathBuf,
    /// Why nobody needs it.
    pub why: String,
}
