//! What was told of a session last: enough to tell what came since, and nothing that is told as a state.

use super::{Seen, hash};
use crate::{
    evidence::Need,
    ident::ProcKey,
    wire::{Session, StateName},
};
use jiff::Timestamp;
use std::path::Path;

/// Begins the name of a process that has named no session.
const PROCESS: &str = "pid:";

/// Which session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Whose.
    pub agent: String,
    /// Its id, or the process that has named none.
    pub id: String,
    /// Where, if ids of that agent are unique only there and this one is not unique by itself.
    pub dir: Option<String>,
}

impl Key {
    /// The key of a session; `local` says that ids that people choose for its agent are unique only per
    /// directory.
    pub fn of(session: &Session, local: bool) -> Self {
        let place = |path: &Path| path.to_string_lossy().into_owned();
        let chosen = local && session.id.as_deref().is_some_and(|id| !is_uuid(id));
        let unnamed = || session.process.as_ref().map(process).unwrap_or_default();
        Self {
            agent: session.agent.clone(),
            id: session.id.clone().unwrap_or_else(unnamed),
            dir: session.cwd.as_deref().filter(|_| chosen).map(place),
        }
    }

    /// It is a process that had named no session.
    pub fn is_unnamed(&self) -> bool {
        self.id.starts_with(PROCESS)
    }

    /// It is this process.
    pub(super) fn is_process(&self, key: &ProcKey) -> bool {
        self.id == process(key)
    }
}

/// Nobody chose it, and it is the only one of its kind.
fn is_uuid(id: &str) -> bool {
    let parts: Vec<&str> = id.split('-').collect();
    let sizes = parts.iter().map(|part| part.len());
    let hex = |part: &&str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    sizes.eq([8, 4, 4, 4, 12]) && parts.iter().all(hex)
}

fn process(key: &ProcKey) -> String {
    format!("{PROCESS}{}:{}:{}", key.pid, key.start, key.boot)
}

/// How much was told since the last turn ended: the same facts are then counted the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Turns that began.
    pub working: u32,
    /// Questions.
    pub waiting: u32,
    /// Turns that came to rest.
    pub idle: u32,
    /// Other changes.
    pub changed: u32,
}

/// What was told of one session last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The state; `None` where nobody knew it.
    pub state: Option<StateName>,
    /// What it waited for.
    pub need: Option<Need>,
    /// A process had it loaded; `None` where nobody knew.
    pub live: Option<bool>,
    /// A hash of the process that had it loaded; 0 where that is not known.
    pub process: u32,
    /// When the last turn ended that is known to have.
    pub turn: Option<Timestamp>,
    /// When it was taken up again the last time, if it ever was.
    pub again: Option<Timestamp>,
    /// What was told since.
    pub counts: Counts,
    /// How far its record was read.
    pub upto: u64,
    /// Of what moment this is.
    pub at: Timestamp,
    /// A hash of what else is shown of it.
    pub shown: u32,
}

impl Mark {
    /// Of a session that nothing was told of before, and nothing was known.
    pub(super) fn nothing(at: Timestamp, turn: Option<Timestamp>) -> Self {
        Self {
            state: None,
            need: None,
            live: None,
            process: 0,
            turn,
            again: None,
            counts: Counts::default(),
            upto: 0,
            at,
            shown: 0,
        }
    }

    /// Of a session as it is, as if all had been told.
    pub(super) fn of(seen: &Seen, at: Timestamp) -> Self {
        let session = &seen.session;
        let runs = matches!(session.state, StateName::Working | StateName::Waiting);
        Self {
            state: Some(session.state),
            need: session.waiting_for,
            live: Some(session.live),
            counts: Counts { working: u32::from(runs), ..Counts::default() },
            upto: seen.story.upto,
            process: session.process.as_ref().map_or(0, holder),
            shown: shown(session),
            ..Self::nothing(at, seen.story.turn)
        }
    }

    /// Another process has it loaded than was told, and that one no longer.
    pub(super) fn is_handed_over(&self, session: &Session) -> bool {
        let mut holders = session.process.iter().chain(&session.processes);
        let other = self.process != 0 && !holders.any(|process| holder(process) == self.process);
        other && self.live == Some(true) && session.live
    }

    /// This process had it loaded.
    pub fn is_held_by(&self, key: &ProcKey) -> bool {
        self.process == holder(key)
    }

    /// It is over, as far as was told: if nothing more comes it can be forgotten.
    pub fn is_over(&self) -> bool {
        self.live != Some(true) && self.state != Some(StateName::Unknown)
    }
}

/// A process, as a mark remembers it.
pub(super) fn holder(key: &ProcKey) -> u32 {
    hash::number(&[&process(key)]).max(1)
}

/// What of a session makes `session.changed` where nothing else happened.
pub(super) fn shown(session: &Session) -> u32 {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let cwd = session.cwd.as_deref().map(|cwd| cwd.to_string_lossy().into_owned());
    hash::number(&[
        &text(&session.title),
        &text(&session.model),
        &text(&session.branch),
        &text(&session.group),
        &text(&session.launch_id),
        &cwd.unwrap_or_default(),
        if session.halted {
            "halted"
        } else if session.stall.is_some() {
            "stalled"
        } else {
            ""
        },
    ])
}
