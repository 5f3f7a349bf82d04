//! Budgets: how much a session may use, and what is done once it has used more.
//!
//! A budget never says how much was used: that is read from the agent's own record whenever it is asked.

use crate::evidence::Tokens;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The number of this shape.
pub const SCHEMA: u32 = 1;
/// How long what a person asked for is remembered once it is over, so that nobody misses it: fuses too.
pub const KEPT: SignedDuration = SignedDuration::from_hours(7 * 24);
/// So many crossings of each limit are kept.
const SEEN: usize = 16;
/// Costs are counted in these parts of a dollar, so that they can be compared.
const PARTS: f64 = 1_000_000.0;

/// How much a session may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// What it may cost, in millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
    /// Tokens in and out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Answers of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// For how many milliseconds it may write nothing while it lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<u64>,
}

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// What it costs, where the agent itself says so.
    Cost,
    /// Tokens in and out; not what is read from the model's cache.
    Tokens,
    /// Answers of the model.
    Turns,
    /// How long it writes nothing.
    Idle,
}

/// What is done once a limit is crossed. Each crossing is an event, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum OnBudget {
    /// Only an event is recorded.
    Warn,
    /// The session is stopped.
    Stop,
    /// Its processes are halted where they are, until somebody lets them go on.
    Hold,
}

/// What a person asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// How much.
    pub limits: Limits,
    /// What is done then; none is as before, or as usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<OnBudget>,
}

/// One budget, as it is on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Number of the shape.
    pub schema: u32,
    /// Its name: `b-` and a hash of the session.
    pub id: String,
    /// Whose session.
    pub agent: String,
    /// Which.
    pub session: String,
    /// When it was set last.
    pub set_at: Timestamp,
    /// How much it may use.
    pub limits: Limits,
    /// What is done once it has used more.
    pub action: OnBudget,
    /// When each limit was set: one that is set again may be crossed again.
    #[serde(default)]
    pub since: BTreeMap<Limit, Timestamp>,
    /// When a person last let it go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_at: Option<Timestamp>,
    /// What was crossed, the first first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crossed: Vec<Crossed>,
    /// When a person took it away: it stays for whoever is yet to be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_at: Option<Timestamp>,
}

/// More was used than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crossing {
    /// Of what.
    pub limit: Limit,
    /// How much is allowed: millionths of a dollar, tokens, answers or milliseconds.
    pub allowed: u64,
    /// How much was used when it was seen.
    pub used: u64,
    /// Since when that counts: when the limit was set, or since when the session writes nothing. From another
    /// moment on it is another crossing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// A crossing that was seen, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crossed {
    /// Which.
    pub crossing: Crossing,
    /// When it was seen.
    pub at: Timestamp,
    /// What was to be done.
    pub action: OnBudget,
    /// What stood in the way of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// How much a session has used, as far as its record tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Millionths of a dollar.
    pub cost: Option<u64>,
    /// Tokens in and out.
    pub tokens: Option<u64>,
    /// Answers of the model.
    pub turns: Option<u64>,
    /// Milliseconds since it wrote something, and when that was; only while it lives and is not halted.
    pub idle: Option<(u64, Timestamp)>,
}

impl Limit {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Cost, Self::Tokens, Self::Turns, Self::Idle];

    /// The name as written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cost => "cost",
            Self::Tokens => "tokens",
            Self::Turns => "turns",
            Self::Idle => "idle",
        }
    }
}

impl OnBudget {
    /// What is done where nobody says otherwise: whoever sets a limit means that it holds.
    pub const USUAL: Self = Self::Stop;

    /// As it is called on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Stop => "stop",
            Self::Hold => "hold",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Warn, Self::Stop, Self::Hold].into_iter().find(|one| one.name() == name)
    }
}

impl Limits {
    /// How much of this is allowed.
    pub fn of(&self, limit: Limit) -> Option<u64> {
        match limit {
            Limit::Cost => self.cost,
            Limit::Tokens => self.tokens,
            Limit::Turns => self.turns,
            Limit::Idle => self.idle,
        }
    }

    /// Nothing is limited.
    pub fn is_none(&self) -> bool {
        Limit::ALL.iter().all(|limit| self.of(*limit).is_none())
    }

    /// These, and the others where these say nothing.
    #[must_use]
    pub fn over(self, other: Self) -> Self {
        Self {
            cost: self.cost.or(other.cost),
            tokens: self.tokens.or(other.tokens),
            turns: self.turns.or(other.turns),
            idle: self.idle.or(other.idle),
        }
    }

    /// What was used more of than allowed. All that is allowed may be used: whoever ends with exactly
    /// that has kept it.
    pub fn crossed(&self, used: &Used) -> Vec<Crossing> {
        let crossing = |limit: Limit| {
            let (allowed, (used, since)) = (self.of(limit)?, used.of(limit)?);
            (used > allowed).then_some(Crossing { limit, allowed, used, since })
        };
        Limit::ALL.into_iter().filter_map(crossing).collect()
    }
}

impl Used {
    /// How much of this was used, and since when.
    pub fn of(&self, limit: Limit) -> Option<(u64, Option<Timestamp>)> {
        match limit {
            Limit::Cost => self.cost.map(|cost| (cost, None)),
            Limit::Tokens => self.tokens.map(|tokens| (tokens, None)),
            Limit::Turns => self.turns.map(|turns| (turns, None)),
            Limit::Idle => self.idle.map(|(time, since)| (time, Some(since))),
        }
    }
}

impl Crossing {
    /// It is the same one, however much was used since.
    pub fn is(&self, other: &Self) -> bool {
        (self.limit, self.allowed, self.since) == (other.limit, other.allowed, other.since)
    }
}

impl Budget {
    /// It counts.
    pub fn is_set(&self) -> bool {
        self.cancelled_at.is_none()
    }

    /// What was used more of than allowed.
    pub fn overrun(&self, used: &Used) -> Vec<Crossing> {
        let set = |limit| self.since.get(&limit).copied();
        let dated = |one: Crossing| Crossing { since: one.since.or(set(one.limit)), ..one };
        self.limits.crossed(used).into_iter().map(dated).collect()
    }

    /// From when on a silence of its session counts, which last wrote then: not from before it was asked for.
    pub fn silent_since(&self, written: Timestamp) -> Timestamp {
        let own = [self.since.get(&Limit::Idle).copied(), self.released_at];
        own.into_iter().flatten().fold(written, Timestamp::max)
    }

    /// As it is once more was asked for: limits that are named are set anew, others stay.
    #[must_use]
    pub fn with(mut self, order: &Order, at: Timestamp) -> Self {
        let Order { limits, action } = *order;
        if self.cancelled_at.take().is_some() {
            self.limits = Limits::default();
            self.since.clear();
        }
        let named = Limit::ALL.into_iter().filter(|limit| limits.of(*limit).is_some());
        self.since.extend(named.map(|limit| (limit, at)));
        self.limits = limits.over(self.limits);
        self.action = action.unwrap_or(self.action);
        self.set_at = at;
        self
    }

    /// Takes a crossing down as seen. The newest of each limit are enough: a session may fall silent again and
    /// again, and what is written down must stay short.
    pub fn saw(&mut self, crossed: Crossed) {
        let limit = crossed.crossing.limit;
        self.crossed.push(crossed);
        let own = |one: &&Crossed| one.crossing.limit == limit;
        if self.crossed.iter().filter(own).count() > SEEN
            && let Some(oldest) = self.crossed.iter().position(|one| one.crossing.limit == limit)
        {
            self.crossed.remove(oldest);
        }
    }

    /// What was done about this crossing, if it was seen before.
    pub fn known(&self, crossing: &Crossing) -> Option<&Crossed> {
        self.crossed.iter().find(|one| one.crossing.is(crossing))
    }

    /// It has halted its session, and nobody has let that go on since: what else is halted is not ours to wake.
    pub fn holds(&self) -> bool {
        let since = |one: &Crossed| self.released_at.is_none_or(|at| at < one.at);
        let halted = |one: &&Crossed| one.action == OnBudget::Hold && one.problem.is_none();
        self.crossed.iter().filter(halted).any(since)
    }

    /// What it has used up by its present limits: only a person gives it more. A silence uses nothing up.
    pub fn spent(&self) -> Option<&Crossed> {
        let counts = |one: &&Crossed| {
            let Crossing { limit, since, .. } = one.crossing;
            let binding = matches!(self.action, OnBudget::Stop | OnBudget::Hold);
            binding && limit != Limit::Idle && self.since.get(&limit).copied() == since
        };
        self.crossed.iter().rev().find(counts).filter(|_| self.is_set())
    }

    /// When something last became of it.
    pub fn touched(&self) -> Timestamp {
        let crossed = self.crossed.iter().map(|one| one.at);
        let since = [self.cancelled_at, self.released_at].into_iter().flatten();
        crossed.chain(since).chain([self.set_at]).max().unwrap_or(self.set_at)
    }

    /// Nobody needs it any more, though its session may come back.
    pub fn is_stale(&self, now: Timestamp) -> bool {
        now.duration_since(self.touched()).abs() > KEPT
    }
}

/// Tokens that were worked through: what the model's cache already had is read again with every answer,
/// and is not counted.
pub fn tokens(tokens: &Tokens) -> u64 {
    tokens.input.saturating_add(tokens.output).saturating_add(tokens.cache_write)
}

/// A cost in the parts that are compared; none where it is no amount.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is checked before")]
pub fn parts(dollars: f64) -> Option<u64> {
    let parts = (dollars * PARTS).round();
    (parts.is_finite() && (0.0..=9e15).contains(&parts)).then_some(parts as u64)
}

/// The same back in dollars.
#[expect(clippy::cast_precision_loss, reason = "no bill is so long")]
pub fn dollars(parts: u64) -> f64 {
    parts as f64 / PARTS
}

#[cfg(test)]
mod tests;
