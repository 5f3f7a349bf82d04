//! The shape of `expected.json`: what a person knows of a case from what was done to the agent.

use agentctl_core::{evidence::Need, proof::Rule};
use agentctl_testkit::fixture::{Eyes, Removal};
use serde::Deserialize;
use serde_json::Value;
use std::{fs, io, path::Path};

/// Everything a case must read as.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expected {
    /// Every session, and no other.
    pub(super) sessions: Vec<Known>,
    /// How many problems; any number where it is not said.
    pub(super) problems: Option<usize>,
    /// Things without which the case must not read so.
    pub(super) decisive: Vec<Removal>,
}

/// What is known of one session. What is not said is not compared, but for `live`, `archived`,
/// `waiting_for` and the pids, where nothing said means none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Known {
    /// Its id; none for a process that has named none.
    pub(super) id: Option<String>,
    pub(super) state: String,
    pub(super) live: bool,
    #[serde(default)]
    pub(super) waiting_for: Option<Need>,
    #[serde(default)]
    pub(super) archived: bool,
    /// Its one holder.
    pub(super) pid: Option<u32>,
    /// Its holders, where there are several.
    #[serde(default)]
    pub(super) pids: Vec<u32>,
    /// A part of why it is unknown.
    pub(super) reason: Option<String>,
    /// A part of how it ended.
    pub(super) outcome: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) model: Option<String>,
    /// How its title begins.
    pub(super) title: Option<String>,
    /// How its first prompt begins.
    pub(super) prompt: Option<String>,
    /// How its last message begins.
    pub(super) last: Option<String>,
    pub(super) started_at: Option<String>,
    pub(super) tokens: Option<Spent>,
    pub(super) cost_usd: Option<f64>,
    pub(super) parent: Option<String>,
    pub(super) forked_from: Option<String>,
    /// Rules that must have been used.
    #[serde(default)]
    pub(super) rules: Vec<Rule>,
    /// Fields that must not be there.
    #[serde(default)]
    pub(super) absent: Vec<String>,
}

/// Tokens that are known.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spent {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: Option<u64>,
}

impl Expected {
    /// What a host with these eyes must read: a session's `portable` replaces fields of it (`null`
    /// takes one away, and `null` for all of them the session), `portable_more` adds sessions, and
    /// `portable_problems` is how many problems it has.
    pub(super) fn read(case: &Path, eyes: Eyes) -> io::Result<Self> {
        let mut value: Value = serde_json::from_slice(&fs::read(case.join("expected.json"))?)?;
        let object = value.as_object_mut().ok_or(io::ErrorKind::InvalidData)?;
        let more = object.remove("portable_more");
        let problems = object.remove("portable_problems");
        if let (Eyes::Portable, Some(problems)) = (eyes, problems) {
            object.insert("problems".to_owned(), problems);
        }
        let sessions = object.get_mut("sessions").and_then(Value::as_array_mut);
        let sessions = sessions.ok_or(io::ErrorKind::InvalidData)?;
        sessions.retain(|one| eyes == Eyes::Full || one.get("portable") != Some(&Value::Null));
        for session in sessions.iter_mut().filter_map(Value::as_object_mut) {
            let Some(Value::Object(instead)) = session.remove("portable") else { continue };
            if eyes == Eyes::Portable {
                session.extend(instead);
            }
        }
        if let (Eyes::Portable, Some(Value::Array(more))) = (eyes, more) {
            sessions.extend(more);
        }
        serde_json::from_value(value)
            .map_err(|why| io::Error::other(format!("{}: {why}", case.display())))
    }
}
