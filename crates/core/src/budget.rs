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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    fn order(limits: Limits) -> Order {
        Order { limits, action: None }
    }

    fn budget(limits: Limits, action: OnBudget, crossed: &[Crossing]) -> Budget {
        let seen = |crossing: &Crossing| Crossed {
            crossing: *crossing,
            at: at(10),
            action,
            problem: None,
        };
        Budget {
            schema: SCHEMA,
            id: "b-1".to_owned(),
            agent: "pi".to_owned(),
            session: "s".to_owned(),
            set_at: at(1),
            limits,
            action,
            since: BTreeMap::from([(Limit::Tokens, at(1))]),
            released_at: None,
            crossed: crossed.iter().map(seen).collect(),
            cancelled_at: None,
        }
    }

    #[test]
    fn all_that_is_allowed_may_be_used() {
        let limits = Limits { cost: Some(100), tokens: Some(10), turns: Some(3), idle: Some(50) };
        let crossed = |used: Used| -> Vec<&'static str> {
            limits.crossed(&used).iter().map(|one| one.limit.name()).collect()
        };
        let kept =
            Used { cost: Some(100), tokens: Some(10), turns: Some(3), idle: Some((50, at(0))) };
        assert_eq!(crossed(kept), [""; 0]);
        assert_eq!(crossed(Used { tokens: Some(11), ..kept }), ["tokens"]);
        assert_eq!(crossed(Used { cost: Some(101), turns: Some(9), ..kept }), ["cost", "turns"]);
        assert_eq!(crossed(Used { idle: Some((51, at(0))), ..kept }), ["idle"]);
        assert_eq!(crossed(Used::default()), [""; 0], "what nobody can tell crosses nothing");
    }

    #[test]
    fn a_crossing_is_the_same_until_more_is_allowed_or_another_silence_begins() {
        let one = Crossing { limit: Limit::Tokens, allowed: 10, used: 11, since: None };
        assert!(one.is(&Crossing { used: 900, ..one }));
        assert!(!one.is(&Crossing { allowed: 20, ..one }));
        let idle = Crossing { limit: Limit::Idle, since: Some(at(5)), ..one };
        assert!(idle.is(&Crossing { used: 99, ..idle }));
        assert!(!idle.is(&Crossing { since: Some(at(6)), ..idle }));
    }

    #[test]
    fn only_what_binds_is_spent() {
        let limits = Limits { tokens: Some(10), idle: Some(10), ..Limits::default() };
        let one = Crossing { limit: Limit::Tokens, allowed: 10, used: 11, since: Some(at(1)) };
        let with = |action, crossing| budget(limits, action, &[crossing]);
        let spent = |action, crossing| with(action, crossing).spent().is_some();
        assert!(spent(OnBudget::Stop, one) && spent(OnBudget::Hold, one));
        assert!(!spent(OnBudget::Warn, one));
        assert!(!spent(OnBudget::Stop, Crossing { limit: Limit::Idle, ..one }));
        let more = Limits { tokens: Some(20), ..Limits::default() };
        let raised = with(OnBudget::Stop, one).with(&order(more), at(15));
        assert!(raised.spent().is_none(), "a person has given it more");
        assert_eq!(raised.limits, more.over(limits));
        let cancelled =
            Budget { cancelled_at: Some(at(20)), ..budget(limits, OnBudget::Stop, &[one]) };
        assert!(cancelled.spent().is_none() && !cancelled.is_set());
        let week = 7 * 24 * 3600;
        assert_eq!([20 + week, 21 + week].map(|now| cancelled.is_stale(at(now))), [false, true]);
    }

    #[test]
    fn however_often_it_is_silent_its_file_stays_short() {
        let mut one = budget(Limits::default(), OnBudget::Warn, &[]);
        let crossed = |limit, second| Crossed {
            crossing: Crossing { limit, allowed: 1, used: 2, since: Some(at(second)) },
            at: at(second),
            action: OnBudget::Warn,
            problem: None,
        };
        one.saw(crossed(Limit::Tokens, 1));
        (0..100).for_each(|second| one.saw(crossed(Limit::Idle, second)));
        let times: Vec<Timestamp> = one.crossed.iter().map(|one| one.at).collect();
        let idle = (84..100).map(at);
        assert_eq!(times, [at(1)].into_iter().chain(idle).collect::<Vec<_>>());
    }

    #[test]
    fn only_what_it_halted_itself_is_held_by_it() {
        let limits = Limits { tokens: Some(10), ..Limits::default() };
        let one = Crossing { limit: Limit::Tokens, allowed: 10, used: 11, since: Some(at(1)) };
        let held = budget(limits, OnBudget::Hold, &[one]); // at 10
        assert!(held.holds());
        assert!(!budget(limits, OnBudget::Hold, &[]).holds());
        assert!(!budget(limits, OnBudget::Warn, &[one]).holds());
        let released = |second| Budget { released_at: Some(at(second)), ..held.clone() };
        assert_eq!([9, 10, 11].map(|second| released(second).holds()), [true, false, false]);
        let mut failed = held;
        failed.crossed[0].problem = Some("no".to_owned());
        assert!(!failed.holds());
    }

    #[test]
    fn a_limit_that_is_set_again_may_be_crossed_again() {
        let limits = Limits { tokens: Some(10), ..Limits::default() };
        let used = Used { tokens: Some(11), idle: Some((9, at(3))), ..Used::default() };
        let mut first = budget(limits, OnBudget::Warn, &[]);
        let [crossing] = first.overrun(&used)[..] else { panic!("one limit is crossed") };
        let crossed = Crossed { crossing, at: at(2), action: OnBudget::Warn, problem: None };
        first.crossed.push(crossed);
        assert!(first.known(&first.overrun(&used)[0]).is_some());
        let turns = Limits { turns: Some(1), ..Limits::default() };
        let other = first.clone().with(&order(turns), at(5));
        assert!(other.known(&other.overrun(&used)[0]).is_some(), "nobody spoke of tokens");
        let again = first.clone().with(&order(limits), at(5));
        assert!(again.known(&again.overrun(&used)[0]).is_none());
        let cancelled = Budget { cancelled_at: Some(at(4)), ..first.clone() };
        assert_eq!(cancelled.with(&order(turns), at(5)).limits, turns);
        let idle = first.with(&order(Limits { idle: Some(1), ..limits }), at(7));
        assert_eq!([3, 9].map(|written| idle.silent_since(at(written))), [at(7), at(9)]);
    }

    #[test]
    fn what_a_cache_had_is_not_counted_and_costs_are_amounts() {
        let counts = Tokens { input: 1, output: 2, cache_read: 1000, cache_write: 4 };
        assert_eq!(tokens(&counts), 7);
        assert_eq!(tokens(&Tokens { input: u64::MAX, ..counts }), u64::MAX);
        assert_eq!([2.5, 0.0].map(parts), [Some(2_500_000), Some(0)]);
        assert_eq!([-1.0, f64::NAN, f64::INFINITY, 1e30].map(parts), [None; 4]);
    }

    proptest! {
        /// Whatever was used, a limit is crossed if and only if more was used than it allows, and using more
        /// never takes a crossing back.
        #[test]
        fn using_more_never_takes_a_crossing_back(
            limits in any::<[Option<u32>; 4]>(), used in any::<[Option<u32>; 4]>(), more in any::<[u32; 4]>()
        ) {
            let [cost, tokens, turns, idle] = limits.map(|one| one.map(u64::from));
            let limits = Limits { cost, tokens, turns, idle };
            let of = |[cost, tokens, turns, idle]: [Option<u64>; 4]| {
                Used { cost, tokens, turns, idle: idle.map(|time| (time, at(0))) }
            };
            let first = of(used.map(|one| one.map(u64::from)));
            let mut later = used.map(|one| one.map(u64::from));
            for (one, more) in later.iter_mut().zip(more) {
                *one = one.map(|one| one + u64::from(more));
            }
            let (before, after) = (limits.crossed(&first), limits.crossed(&of(later)));
            for limit in Limit::ALL {
                let crossed = before.iter().any(|one| one.limit == limit);
                let (allowed, used) = (limits.of(limit), first.of(limit).map(|(used, _)| used));
                prop_assert_eq!(crossed, allowed.zip(used).is_some_and(|(a, u)| u > a));
            }
            prop_assert!(before.iter().all(|one| after.iter().any(|other| one.is(other))));
        }
    }
}
