//! What one process of ours witnessed and nobody else can know: a launch, an exit, a stop.
//!
//! A receipt says nothing of the state of a session. It names processes for good, so that it can
//! never be taken for one of another process, and it expires by itself.

mod hooks;

pub use hooks::{Callback, HookEnd, HookName, HookVariable, Hooks, Ran, Run, Runs};

use crate::{budget::Order, evidence::Role, ident::ProcKey};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

/// The variable by which a process of ours is known, and all that it starts.
pub const VARIABLE: &str = "AGENTCTL_LAUNCH_ID";
/// The number of these shapes.
pub const SCHEMA: u32 = 1;
/// How long a receipt is kept after its process was last known to be there.
const KEPT: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How long one is kept that never got a session.
const KEPT_NAMELESS: SignedDuration = SignedDuration::from_hours(24);

/// We started an agent, or asked its server for a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launched {
    /// Number of the shape.
    pub schema: u32,
    /// Our name of the launch.
    pub launch: String,
    /// Which agent.
    pub agent: String,
    /// Its session, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The process that was started; none where a server that is not ours runs the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcKey>,
    /// When.
    pub at: Timestamp,
    /// Where the output of that process is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
    /// The group it was launched in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Labels a person gave it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Launching with the same key again returns this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// When it is to be ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// How much it may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Order>,
    /// What it can be sent more prompts through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<PathBuf>,
    /// Where it keeps its sessions: whoever asks later may have another environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stores: Vec<PathBuf>,
    /// The branch that was checked out where it was launched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit that was checked out there: what it changed is what differs from that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The main worktree of the repository, where a worktree was made for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<PathBuf>,
    /// What is run for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<Hooks>,
    /// Whom its launcher wants told.
    #[serde(default, skip_serializing_if = "Callback::is_none")]
    pub callback: Callback,
    /// What became of its hooks.
    #[serde(skip)]
    pub runs: Runs,
    /// How it ended, if its parent saw that.
    #[serde(skip)]
    pub exit: Option<Exit>,
}

/// How a process ended, as its parent saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Number of the shape.
    pub schema: u32,
    /// Its exit code, if it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// When.
    pub at: Timestamp,
    /// Its deadline had come.
    #[serde(default)]
    pub overdue: bool,
}

/// We stopped a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// Number of the shape.
    pub schema: u32,
    /// Whose.
    pub agent: String,
    /// Which session it was stopped for.
    pub session: String,
    /// Which process.
    pub process: ProcKey,
    /// When.
    pub at: Timestamp,
}

impl Exit {
    /// The code a shell would show.
    pub fn shown(&self) -> Option<i32> {
        let killed = self.signal.filter(|signal| (1..128).contains(signal));
        self.code.or(killed.map(|signal| signal + 128))
    }
}

impl Launched {
    /// How the agent was started.
    pub fn role(&self) -> Role {
        if self.input.is_some() { Role::Piped } else { Role::Headless }
    }

    /// Nobody needs it any more. One of a process that lives never goes.
    pub fn is_stale(&self, now: Timestamp, alive: bool) -> bool {
        let kept = if self.session.is_some() { KEPT } else { KEPT_NAMELESS };
        let last = self.exit.map_or(self.at, |exit| exit.at.max(self.at));
        !alive && is_past(last, kept, now)
    }
}

impl Stopped {
    /// Its session was not launched again since: by the order in which the kernel began processes, which no clock changes, and
    /// by the clock across a restart. The process that was stopped need not be the one that was launched, which may be a
    /// script that starts the agent.
    pub fn is_since(&self, launch: &Launched) -> bool {
        match &launch.process {
            Some(process) if process.boot == self.process.boot => {
                process.start <= self.process.start
            }
            Some(_) | None => launch.at <= self.at,
        }
    }

    /// Nobody needs it any more.
    pub fn is_stale(&self, now: Timestamp) -> bool {
        is_past(self.at, KEPT, now)
    }
}

/// How old one is that is dated after now nobody can say, for a clock was set back: it stays until that moment has come.
/// Only so many are kept anyhow.
fn is_past(at: Timestamp, kept: SignedDuration, now: Timestamp) -> bool {
    now.duration_since(at) > kept
}
