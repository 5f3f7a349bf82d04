//! What `fuse` answers.

use super::Problem;
use crate::fuse::{self, Action, Fired, Target};
use jiff::Timestamp;
use serde::Serialize;

/// The whole answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fuses {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// The next to fire first.
    pub fuses: Vec<Fuse>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// One fuse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fuse {
    /// Its name.
    pub id: String,
    /// What it is about.
    pub target: Target,
    /// When it was set.
    pub set_at: Timestamp,
    /// When it fires, or should have.
    pub deadline: Timestamp,
    /// When it was put off last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extended_at: Option<Timestamp>,
    /// What is done then.
    pub action: Action,
    /// A word for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its time has come, and nobody has fired it yet.
    pub overdue: bool,
    /// How it fired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fired: Option<Fired>,
    /// When a person took it away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled_at: Option<Timestamp>,
}

impl Fuse {
    /// As it stands at that time.
    pub fn new(fuse: &fuse::Fuse, now: Timestamp) -> Self {
        let fuse = fuse.clone();
        Self {
            overdue: fuse.is_due(now),
            id: fuse.id,
            target: fuse.target,
            set_at: fuse.set_at,
            deadline: fuse.deadline,
            extended_at: fuse.extended_at,
            action: fuse.action,
            label: fuse.label,
            fired: fuse.fired,
            cancelled_at: fuse.cancelled_at,
        }
    }
}
