//! Commands of a person's that are run when a session is there and when its agent has ended.

use super::SCHEMA;
use crate::ident::ProcKey;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::{path::PathBuf, time::Duration};

/// Variables by which a hook is told what it is run for. All are always set; what is not known is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookVariable {
    /// Its session.
    SessionId,
    /// Where it works.
    Cwd,
    /// Which agent.
    Adapter,
    /// The git branch there.
    Branch,
    /// How its process ended.
    ExitCode,
    /// Its group.
    Group,
    /// The model that was asked for.
    Model,
    /// Its state.
    State,
    /// The session that wants to be told.
    CallbackSession,
    /// The agent that wants to be told.
    CallbackAgent,
}

impl HookVariable {
    /// Every one.
    pub const ALL: &[Self] = &[
        Self::SessionId,
        Self::Cwd,
        Self::Adapter,
        Self::Branch,
        Self::ExitCode,
        Self::Group,
        Self::Model,
        Self::State,
        Self::CallbackSession,
        Self::CallbackAgent,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionId => "AGENTCTL_SESSION_ID",
            Self::Cwd => "AGENTCTL_CWD",
            Self::Adapter => "AGENTCTL_ADAPTER",
            Self::Branch => "AGENTCTL_BRANCH",
            Self::ExitCode => "AGENTCTL_EXIT_CODE",
            Self::Group => "AGENTCTL_GROUP",
            Self::Model => "AGENTCTL_MODEL",
            Self::State => "AGENTCTL_STATE",
            Self::CallbackSession => "AGENTCTL_CALLBACK_SESSION",
            Self::CallbackAgent => "AGENTCTL_CALLBACK_AGENT",
        }
    }
}

/// What is run for a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hooks {
    /// Once its session is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_create: Option<String>,
    /// Once its agent has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_complete: Option<String>,
    /// Where.
    pub cwd: PathBuf,
    /// The model that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How long each may take.
    pub limit: Duration,
}

/// When a hook is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HookName {
    /// Once the session is there.
    OnCreate,
    /// Once its agent has ended.
    OnComplete,
}

impl HookName {
    /// Both.
    pub const ALL: &[Self] = &[Self::OnCreate, Self::OnComplete];

    /// As it is called in words, and what its receipt's name ends with.
    pub fn name(self) -> &'static str {
        match self {
            Self::OnCreate => "on-create",
            Self::OnComplete => "on-complete",
        }
    }
}

impl Hooks {
    /// The command.
    pub fn command(&self, name: HookName) -> Option<&str> {
        match name {
            HookName::OnCreate => self.on_create.as_deref(),
            HookName::OnComplete => self.on_complete.as_deref(),
        }
    }
}

/// A hook was begun. The file is made right before it is started, by one process only, so that no hook
/// is run twice; its end is added afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// Number of the shape.
    pub schema: u32,
    /// When it was begun.
    pub at: Timestamp,
    /// Who runs it.
    pub by: ProcKey,
    /// How it ended, if that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<HookEnd>,
}

impl Ran {
    /// One that begins now.
    pub fn new(at: Timestamp, by: ProcKey) -> Self {
        Self { schema: SCHEMA, at, by, end: None }
    }
}

/// How a hook ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookEnd {
    /// When.
    pub at: Timestamp,
    /// Its exit code, if it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// It was ended because its time was over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Why it could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// What is known of the run of a hook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Run {
    /// Nobody has begun it, and nobody will by himself.
    #[default]
    NotRun,
    /// The agent's parent will run it.
    Waiting,
    /// It was begun, and whoever runs it lives.
    Running(Ran),
    /// It was begun, and whoever ran it was killed: nobody knows how it ended.
    Lost(Ran),
    /// It has ended.
    Ended(Ran, HookEnd),
    /// Its receipt is there and cannot be read: nobody knows whether it was begun.
    Damaged(PathBuf, String),
}

/// What is known of the runs of the hooks of a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// Of the one that is run first.
    pub on_create: Run,
    /// Of the one that is run last.
    pub on_complete: Run,
}

impl Runs {
    /// Of this one.
    pub fn of(&self, name: HookName) -> &Run {
        match name {
            HookName::OnCreate => &self.on_create,
            HookName::OnComplete => &self.on_complete,
        }
    }
}

/// Whom to tell of a session, in the words of who launched it. It means nothing to us.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Callback {
    /// The key of a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The id of an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl Callback {
    /// Nobody.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The same, with another's words where it has none.
    pub fn or(self, other: Self) -> Self {
        Self { session: self.session.or(other.session), agent: self.agent.or(other.agent) }
    }
}
