//! What `events` answers: one line for each thing that happened.

use super::{Fuse, Lock, Overrun, Session, StateName};
use jiff::Timestamp;
use serde::Serialize;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum EventKind {
    /// A session began, or was taken up again after it had ended.
    #[serde(rename = "session.started")]
    Started,
    /// A turn runs.
    #[serde(rename = "session.working")]
    Working,
    /// It waits for a person.
    #[serde(rename = "session.waiting")]
    Waiting,
    /// Its turn ended, and it is still loaded.
    #[serde(rename = "session.idle")]
    Idle,
    /// No process has it loaded any more.
    #[serde(rename = "session.ended")]
    Ended,
    /// Something else of it changed: its title, model, branch, directory, or what is known of it.
    #[serde(rename = "session.changed")]
    Changed,
    /// A directory was locked, by a session that works in it or by a person.
    #[serde(rename = "lock.taken")]
    LockTaken,
    /// A directory is no longer locked by that session or person.
    #[serde(rename = "lock.released")]
    LockReleased,
    /// A person set a fuse.
    #[serde(rename = "fuse.set")]
    FuseSet,
    /// A person put a fuse off.
    #[serde(rename = "fuse.extended")]
    FuseExtended,
    /// A person took a fuse away before its time.
    #[serde(rename = "fuse.cancelled")]
    FuseCancelled,
    /// The time of a fuse came, and what it is for was done, or tried.
    #[serde(rename = "fuse.fired")]
    FuseFired,
    /// A session used more than its budget allows, and what is to be done then was done, or tried.
    #[serde(rename = "budget.crossed")]
    BudgetCrossed,
    /// Nobody watched for a while: what came and went meanwhile without a trace is not told.
    #[serde(rename = "gap")]
    Gap,
    /// Nothing more happened so far: where to go on from. Only as the last line of `--once`.
    #[serde(rename = "cursor")]
    Cursor,
}

impl EventKind {
    /// Every kind.
    pub const ALL: [Self; 15] = [
        Self::Started,
        Self::Working,
        Self::Waiting,
        Self::Idle,
        Self::Ended,
        Self::Changed,
        Self::LockTaken,
        Self::LockReleased,
        Self::FuseSet,
        Self::FuseExtended,
        Self::FuseCancelled,
        Self::FuseFired,
        Self::BudgetCrossed,
        Self::Gap,
        Self::Cursor,
    ];

    /// The name as written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Started => "session.started",
            Self::Working => "session.working",
            Self::Waiting => "session.waiting",
            Self::Idle => "session.idle",
            Self::Ended => "session.ended",
            Self::Changed => "session.changed",
            Self::LockTaken => "lock.taken",
            Self::LockReleased => "lock.released",
            Self::FuseSet => "fuse.set",
            Self::FuseExtended => "fuse.extended",
            Self::FuseCancelled => "fuse.cancelled",
            Self::FuseFired => "fuse.fired",
            Self::BudgetCrossed => "budget.crossed",
            Self::Gap => "gap",
            Self::Cursor => "cursor",
        }
    }
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Event {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: EventKind,
    /// A hash of the facts: whoever tells the same thing again tells it under the same id.
    pub id: String,
    /// When it happened, as far as a record or a receipt says; else when it was seen. An end that
    /// nobody saw is told at the last line of the record.
    pub at: Timestamp,
    /// Where to go on from after this line, with `--since`.
    pub cursor: String,
    /// The state before, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<StateName>,
    /// The state that this led to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<StateName>,
    /// The session as it was when this was told, which may be later than `at`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Box<Session>>,
    /// The lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<Lock>,
    /// The fuse, as it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fuse: Option<Fuse>,
    /// What was crossed of a budget, and whose it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Overrun>,
    /// Of a gap: since when nobody watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// Of a gap: until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
}
