//! Fuses: what a person wants done at a time, unless it is put off or cancelled.

use crate::budget::KEPT;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The number of this shape.
pub const SCHEMA: u32 = 1;

/// One fuse, as it is on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fuse {
    /// Number of the shape.
    pub schema: u32,
    /// Its name: `f-` and six digits.
    pub id: String,
    /// What it is about.
    pub target: Target,
    /// When it was set.
    pub set_at: Timestamp,
    /// When it fires: on the wall clock, so that neither a restart nor a step of the clock moves it.
    pub deadline: Timestamp,
    /// When it was put off last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended_at: Option<Timestamp>,
    /// What is done then.
    pub action: Action,
    /// How many seconds a script may take, if not as many as usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// A word for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// It has fired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fired: Option<Fired>,
    /// When a person took it away: it stays for whoever is yet to be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_at: Option<Timestamp>,
}

/// What a fuse is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A directory, with all that works in it.
    Directory(PathBuf),
    /// One session.
    Session {
        /// Whose.
        agent: String,
        /// Which.
        id: String,
    },
}

/// What is done when a fuse fires. Each firing is an event, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Only an event is recorded.
    Event,
    /// Every webhook is told.
    Webhook,
    /// The session is stopped, or all that work in the directory.
    Stop,
    /// This is run by a shell, in the directory.
    Script(String),
}

/// How a fuse fired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fired {
    /// When.
    pub at: Timestamp,
    /// What stood in the way of what was to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Fuse {
    /// It has neither fired nor been cancelled.
    pub fn is_set(&self) -> bool {
        self.fired.is_none() && self.cancelled_at.is_none()
    }

    /// It is to be fired now.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.is_set() && self.deadline <= now
    }

    /// Nobody needs it any more.
    pub fn is_stale(&self, now: Timestamp) -> bool {
        let over = self.fired.as_ref().map(|fired| fired.at).or(self.cancelled_at);
        over.is_some_and(|at| now.duration_since(at).abs() > KEPT)
    }
}

impl Action {
    /// As it is called on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Webhook => "webhook",
            Self::Stop => "stop",
            Self::Script(_) => "script",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fuse(deadline: i64) -> Fuse {
        let at = |second| Timestamp::from_second(second).expect("a time");
        Fuse {
            schema: SCHEMA,
            id: "f-00aa11".to_owned(),
            target: Target::Directory("/work".into()),
            set_at: at(0),
            deadline: at(deadline),
            extended_at: None,
            action: Action::Stop,
            limit: None,
            label: None,
            fired: None,
            cancelled_at: None,
        }
    }

    #[test]
    fn it_fires_at_its_time_and_once() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        let lit = fuse(100);
        assert_eq!([99, 100, 100_000].map(|now| lit.is_due(at(now))), [false, true, true]);
        let fired = Fuse { fired: Some(Fired { at: at(101), problem: None }), ..lit };
        assert!(!fired.is_due(at(102)));
        let week = 7 * 24 * 3600;
        assert_eq!(
            [101, 101 + week, 102 + week].map(|now| fired.is_stale(at(now))),
            [false, false, true]
        );
        let cancelled = Fuse { cancelled_at: Some(at(50)), ..fuse(100) };
        assert!(!cancelled.is_due(at(101)) && cancelled.is_stale(at(51 + week)));
        assert!(!fuse(100).is_stale(at(10 * week)), "one that has not fired stays");
    }

    #[test]
    fn actions_are_called_as_on_the_command_line() {
        let actions = [Action::Event, Action::Webhook, Action::Stop, Action::Script("true".into())];
        let names = ["event", "webhook", "stop", "script"];
        assert_eq!(actions.each_ref().map(Action::name), names);
    }
}
