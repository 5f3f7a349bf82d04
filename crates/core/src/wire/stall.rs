//! A live session that makes no progress, and what it does instead, as far as facts show.

use super::{Session, StateName};
use crate::{
    evidence::{Pending, Turn},
    proof::Rule,
};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

/// Whoever says nothing for longer makes no progress.
const QUIET: SignedDuration = SignedDuration::from_mins(5);

/// Since when nothing came of a turn, and what is known of why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stall {
    /// When it last wrote something down.
    pub since: Timestamp,
    /// What it does.
    pub doing: Doing,
    /// What its last try failed with, in the agent's own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What a session does that makes no progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    /// It waits for a tool, whose process runs.
    Tool,
    /// It may be trying again after a failure.
    Retrying,
    /// Nothing shows what it does.
    Quiet,
}

impl Doing {
    /// As people say it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Tool => "in a tool",
            Self::Retrying => "retrying",
            Self::Quiet => "quiet",
        }
    }
}

impl Session {
    /// Why nothing comes of it whatever its state, for people: a signal halted it, or it makes no progress.
    pub fn stuck(&self) -> Option<String> {
        let stalled = |stall: &Stall| {
            let since = stall.since.strftime("%Y-%m-%d %H:%M:%SZ");
            format!("stalled: {} since {since}", stall.doing.words())
        };
        match self.halted {
            true => Some("halted".to_owned()),
            false => self.stall.as_ref().map(stalled),
        }
    }
}

/// What stalls a session at that time, if its turn is open and nothing came of it for long.
pub(super) fn of(session: &Session, turn: &Turn, now: Timestamp) -> Option<Stall> {
    if session.halted {
        return None; // it was told to do nothing
    }
    let since = session.updated_at.filter(|at| now.duration_since(*at) >= QUIET)?;
    let after = match turn {
        Turn::Open { pending: Pending::Retry(why), .. } => Some(why.clone()),
        Turn::Open { .. } | Turn::Ended { .. } | Turn::None => None,
    };
    let runs = session.live && session.state == StateName::Working;
    let tool = session.because.iter().any(|because| because.rule == Rule::ToolRunning);
    let doing = match (&after, tool) {
        (Some(_), _) if session.live => Doing::Retrying,
        (None, true) if runs => Doing::Tool,
        (None, false) if runs => Doing::Quiet,
        (Some(_), _) | (None, _) => return None,
    };
    Some(Stall { since, doing, after })
}

impl Session {
    /// When its turn will have come to nothing for long, if nothing comes until then.
    pub fn stalls_at(&self) -> Option<Timestamp> {
        let runs = self.live && !self.halted && self.state == StateName::Working;
        let since = self.updated_at.filter(|_| runs && self.stall.is_none())?;
        since.checked_add(QUIET).ok()
    }
}
