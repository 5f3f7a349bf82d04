//! Whole answers of commands.

use super::Session;
use crate::{agent::Message, observe};
use serde::Serialize;
use std::path::PathBuf;

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Problem {
    /// Whose.
    pub agent: String,
    /// Where.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::text::path_if_any")]
    pub path: Option<PathBuf>,
    /// Why.
    pub message: String,
}

impl From<observe::Problem> for Problem {
    fn from(problem: observe::Problem) -> Self {
        Self { agent: problem.agent.to_owned(), path: problem.path, message: problem.why }
    }
}

/// What `list` answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sessions {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// The sessions, sorted.
    pub sessions: Vec<Session>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// What `status` and `explain` answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OneSession {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// The session.
    pub session: Session,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// What `logs` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Messages {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// Whose.
    pub id: String,
    /// Oldest first.
    pub messages: Vec<Message>,
}
