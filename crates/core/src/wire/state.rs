//! States and their coarse summaries, by name.

use serde::Serialize;

/// A session's state by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum StateName {
    /// Alive, and it waits for a person.
    Waiting,
    /// Alive, and a turn runs.
    Working,
    /// Alive, and no turn runs.
    Idle,
    /// It cannot be told.
    Unknown,
    /// Ended; the last turn failed.
    Failed,
    /// Ended; the turn was left open: killed, crashed, out of memory.
    Died,
    /// Ended; interrupted on purpose.
    Stopped,
    /// Ended; the last turn completed.
    Done,
}

/// The coarse summary for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Working or waiting.
    Running,
    /// Alive, and no turn runs.
    Idle,
    /// Done or stopped.
    Stopped,
    /// Failed or died.
    Error,
    /// It cannot be told.
    Unknown,
}

impl StateName {
    /// Every state, in the order people see them.
    pub const ALL: [Self; 8] = [
        Self::Waiting,
        Self::Working,
        Self::Idle,
        Self::Unknown,
        Self::Failed,
        Self::Died,
        Self::Stopped,
        Self::Done,
    ];

    /// The name as written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Working => "working",
            Self::Idle => "idle",
            Self::Unknown => "unknown",
            Self::Failed => "failed",
            Self::Died => "died",
            Self::Stopped => "stopped",
            Self::Done => "done",
        }
    }

    /// The coarse summary.
    pub fn status(self) -> Status {
        match self {
            Self::Working | Self::Waiting => Status::Running,
            Self::Idle => Status::Idle,
            Self::Done | Self::Stopped => Status::Stopped,
            Self::Failed | Self::Died => Status::Error,
            Self::Unknown => Status::Unknown,
        }
    }
}

impl Status {
    /// Every summary.
    pub const ALL: [Self; 5] =
        [Self::Running, Self::Idle, Self::Stopped, Self::Error, Self::Unknown];

    /// The name as written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Idle => "idle",
            Self::Stopped => "stopped",
            Self::Error => "error",
            Self::Unknown => "unknown",
        }
    }
}
