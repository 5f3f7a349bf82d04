//! Whole answers of commands.

use super::{Hook, Session, StateName};
use crate::{agent::Message, ident::ProcKey, observe};
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
    pub sessions: Vec<Box<Session>>, // they are large, and moved by whoever sorts
    /// Processes that launched agents left behind when they ended; in `list` of all agents only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub orphans: Vec<Orphan>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

impl Sessions {
    /// Each session.
    pub fn each(&self) -> impl Iterator<Item = &Session> {
        self.sessions.iter().map(|session| &**session)
    }
}

/// A process that an agent left behind: a tool that outlived it, or a server that it started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Orphan {
    /// The process, named for good.
    pub process: ProcKey,
    /// Short name of its program.
    pub command: String,
    /// The launch that it carries in its environment.
    pub launch_id: String,
    /// Which agent was launched.
    pub agent: String,
    /// The session that has ended, if it had a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
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

/// What `stop` answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stops {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// What became of each session.
    pub stopped: Vec<Certificate>,
    /// What could not be stopped, and why.
    pub refused: Vec<Unstopped>,
    /// What could not be read on the way.
    pub problems: Vec<Problem>,
}

/// A session that goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unstopped {
    /// As it was asked for.
    pub name: String,
    /// Why.
    pub message: String,
    /// The way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What became of one session.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Certificate {
    /// The session, as it is now.
    pub session: Session,
    /// It had ended before; nothing was done.
    pub already: bool,
    /// What was asked of the agent, where no process was signalled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// What became of each process, the session's own first.
    pub deaths: Vec<Death>,
}

/// An end of a turn that an agent was asked for, in its own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Asked {
    /// The call of its server, or the command.
    pub call: String,
    /// The process that has the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcKey>,
    /// The session's state before.
    pub before: StateName,
    /// And as it was seen afterwards.
    pub after: StateName,
}

/// What became of one process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Death {
    /// Which process.
    pub process: ProcKey,
    /// What it was called.
    pub comm: String,
    /// The signal that ended it; absent where it went with those above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Why it lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub survived: Option<String>,
}

/// What `hook run` answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HookRun {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// The session, as it is now.
    pub session: Session,
    /// The hook that was run.
    pub hook: Hook,
}
