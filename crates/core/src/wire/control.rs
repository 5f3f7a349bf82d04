//! What became of a request to a live session.

use super::Session;
use crate::{control::Question, proof::Source};
use serde::Serialize;

/// What `send` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Delivery {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// To whom.
    pub session_id: String,
    /// Which agent.
    pub agent: String,
    /// Whether it came.
    pub delivery: Delivered,
    /// What shows that it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
}

/// Whether a message came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Delivered {
    /// The agent's own store shows it.
    Delivered,
    /// It was sent, and the agent's own store did not show it in time.
    Unconfirmed,
}

/// What shows something, and how to look at it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proof {
    /// Where it was seen.
    pub source: Source,
    /// A shell command that exits 0 while the source shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
}

/// What `approve` and `deny` answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decision {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// Whose question it was.
    pub session_id: String,
    /// Which agent.
    pub agent: String,
    /// What was answered.
    pub decision: Decided,
    /// The question that was answered.
    pub request: Question,
    /// It was seen to wait no longer for this; it may ask for something else since.
    pub goes_on: bool,
    /// The session, as it is now.
    pub session: Session,
}

/// An answer to a question for leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Decided {
    /// It may, this once.
    Approved,
    /// It may not.
    Denied,
}

/// What `attach --json` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Attach {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// Which session.
    pub session_id: String,
    /// Which agent.
    pub agent: String,
    /// The command that leads to it.
    pub argv: Vec<String>,
    /// Variables that it needs as the session's process has them; their values are secret.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
}
