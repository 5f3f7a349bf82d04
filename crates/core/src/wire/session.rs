//! One session, as programs see it.

use super::{Budget, Hook, Stall, StateName, Status, hooks, stall};
use crate::{
    derive::{self, State, Verdict},
    evidence::{Evidence, Holder, Need, Reading, Record, Role, Tokens, Turn},
    ident::ProcKey,
    proof::{Fact, Rule, Source},
    receipt::{Callback, Exit, Launched},
};
use jiff::Timestamp;
use serde::{Serialize, Serializer};
use std::{collections::BTreeMap, path::PathBuf};

/// One thing a state follows from, and how to check it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Because<'f> {
    /// The fact in words.
    fact: &'f str,
    /// The rule that used it.
    rule: Rule,
    /// Where it was seen.
    source: &'f Source,
    /// The moment it speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    /// A shell command that looks at the source: it exits 0 while that shows what was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<String>,
}

impl<'f> From<&'f Fact> for Because<'f> {
    fn from(Fact { fact, rule, source, at }: &'f Fact) -> Self {
        Self { fact, rule: *rule, source, at: *at, check: source.check() }
    }
}

/// Checks are longer than what they follow from: none is made before it is told.
fn checked<S: Serializer>(facts: &[Fact], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(facts.iter().map(Because::from))
}

/// One session.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Session {
    /// The agent's own id; absent while a live process has named none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Which agent.
    pub agent: String,
    /// Which agent, under the name scripts for agentctl 1.x know.
    pub adapter: String,
    /// What it is doing, or how it ended.
    pub state: StateName,
    /// The coarse summary of `state`.
    pub status: Status,
    /// A live process has it loaded.
    pub live: bool,
    /// Why the state is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<Need>,
    /// How its last turn ended, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Exit code of its process, where somebody saw it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Pid of the process that has it loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The process that has it loaded, named for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcKey>,
    /// All processes that have it loaded, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcKey>,
    /// What kind of process has it loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Role>,
    /// The process serves other sessions too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// A signal halted the process (SIGSTOP, Ctrl-Z): whatever its state, it does nothing until it goes on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub halted: bool,
    /// This machine.
    pub host: String,
    /// Where it works.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::text::path_if_any")]
    pub cwd: Option<PathBuf>,
    /// Git branch it was on last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Model of its newest turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The name it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// First prompt, cut to a readable length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Last thing the agent said, cut to a readable length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When its newest line was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// When its last turn ended, or was last seen, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Tokens so far; in `list` only with `--usage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// What it cost, where the agent itself says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The group it was launched in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Labels a person gave it.
    pub labels: BTreeMap<String, String>,
    /// Session that spawned this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Session this one was copied from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
    /// Put away by the user.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// Our launch, if we launched it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch_id: Option<String>,
    /// What its process wrote, if we launched it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::text::path_if_any")]
    pub log: Option<PathBuf>,
    /// When its process is to be ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// That moment has passed, and it is still alive: nobody is there to end it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub overdue: bool,
    /// How much it may use, where a person said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Box<Budget>>,
    /// It makes no progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall: Option<Stall>,
    /// Commands that are run for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
    /// Whom its launcher wants told of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callback: Option<Callback>,
    /// Version of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The agent's own file that records it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::text::path_if_any")]
    pub source: Option<PathBuf>,
    /// What the state follows from.
    #[serde(serialize_with = "checked")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Because<'static>>"))]
    pub because: Vec<Fact>,
}

/// What stands around the evidence of a session.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// This machine.
    pub host: String,
    /// The record's file.
    pub source: Option<PathBuf>,
    /// When that file last changed.
    pub written: Option<Timestamp>,
    /// Where the process works, if there is no record.
    pub cwd: Option<PathBuf>,
    /// What the process calls itself, if there is no record.
    pub title: Option<String>,
    /// When the process registered, if there is no record.
    pub started: Option<Timestamp>,
    /// Our launch of it.
    pub launch: Option<Launched>,
    /// The moment of asking.
    pub now: Timestamp,
}

impl Session {
    /// The session as programs see it.
    pub fn new(seen: Evidence, verdict: Verdict, around: Around) -> Self {
        let Evidence { agent, id, record, holders, .. } = seen;
        let (state, reason, waiting_for) = named(&verdict.state);
        let outcome = outcome(&verdict.state);
        let record = known(record);
        let (launch, now) = (around.launch, around.now);
        let first = holders.first();
        let begun = record.started.or(around.started).or(first.map(derive::began));
        let updated = record.updated.or(around.written);
        let ended_at = outcome.as_ref().and(ended(&record.turn, updated));
        let mut session = Self {
            id,
            adapter: agent.clone(),
            agent,
            state,
            status: state.status(),
            live: verdict.live,
            reason,
            waiting_for,
            outcome,
            exit_code: None,
            pid: first.map(|holder| holder.key.pid),
            process: first.map(|holder| holder.key.clone()),
            kind: first.and_then(|holder| holder.role),
            shared: holders.iter().any(|holder| holder.shared),
            halted: holders.iter().any(|holder| holder.halted),
            processes: several(holders),
            host: around.host,
            cwd: record.cwd.or(around.cwd),
            branch: record.branch,
            model: record.model,
            title: record.title.or(around.title),
            prompt: record.prompt,
            last: record.last,
            started_at: begun,
            updated_at: updated.or(begun),
            ended_at,
            tokens: record.tokens,
            cost_usd: record.cost_usd,
            group: None,
            labels: BTreeMap::new(),
            parent: record.parent,
            forked_from: record.forked_from,
            archived: record.archived,
            launch_id: None,
            log: None,
            deadline: None,
            overdue: false,
            budget: None,
            stall: None,
            hooks: Vec::new(),
            callback: None,
            version: record.version,
            source: around.source,
            because: verdict.because,
        };
        session.stall = stall::of(&session, &record.turn, now);
        match launch {
            Some(launch) => session.launched(launch, now),
            None => session,
        }
    }

    /// With what only we know of it.
    fn launched(self, launch: Launched, now: Timestamp) -> Self {
        let exit = launch.exit.filter(|exit| self.ended_with(exit));
        let overdue = exit.is_some_and(|exit| exit.overdue) && self.state == StateName::Stopped;
        Self {
            exit_code: exit.and_then(|exit| exit.shown()),
            hooks: hooks::of(&launch),
            callback: Some(launch.callback).filter(|callback| !callback.is_none()),
            ended_at: self.ended_at.map(|at| exit.map_or(at, |exit| exit.at)),
            outcome: match exit.and_then(|exit| exit.code) {
                _ if overdue => Some("timed out".to_owned()),
                // It was not killed: that much is known of it.
                Some(code) if self.state == StateName::Died => {
                    Some(format!("exited with code {code} in the middle of a turn"))
                }
                Some(_) | None => self.outcome,
            },
            branch: self.branch.or(launch.branch),
            group: launch.group,
            labels: launch.labels,
            overdue: self.live && launch.deadline.is_some_and(|deadline| deadline < now),
            deadline: launch.deadline,
            log: launch.log,
            launch_id: Some(launch.launch),
            ..self
        }
    }

    /// Nothing was written since that exit: who resumed it and ended since had another.
    fn ended_with(&self, exit: &Exit) -> bool {
        !self.live && self.updated_at.is_none_or(|updated| updated <= exit.at)
    }
}

/// What the record says, if there is one.
fn known(record: Reading) -> Record {
    match record {
        Reading::Read(record) => *record,
        Reading::Absent | Reading::Failed { .. } => Record::of(Turn::None),
    }
}

/// All processes, where there are several.
fn several(holders: Vec<Holder>) -> Vec<ProcKey> {
    match holders.len() {
        0 | 1 => Vec::new(),
        _ => holders.into_iter().map(|holder| holder.key).collect(),
    }
}

fn ended(turn: &Turn, updated: Option<Timestamp>) -> Option<Timestamp> {
    match turn {
        Turn::Ended { at, .. } => Some(*at),
        Turn::Open { .. } | Turn::None => updated,
    }
}

fn named(state: &State) -> (StateName, Option<String>, Option<Need>) {
    match state {
        State::Working => (StateName::Working, None, None),
        State::Waiting(need) => (StateName::Waiting, None, Some(*need)),
        State::Idle(_) => (StateName::Idle, None, None),
        State::Done => (StateName::Done, None, None),
        State::Failed(_) => (StateName::Failed, None, None),
        State::Stopped => (StateName::Stopped, None, None),
        State::Died => (StateName::Died, None, None),
        State::Unknown(why) => (StateName::Unknown, Some(why.clone()), None),
    }
}

fn outcome(state: &State) -> Option<String> {
    match state {
        State::Working | State::Waiting(_) | State::Idle(_) | State::Unknown(_) => None,
        State::Done => Some("completed".into()),
        State::Failed(why) => Some(why.clone()),
        State::Stopped => Some("interrupted".into()),
        State::Died => Some("killed or crashed".into()),
    }
}
