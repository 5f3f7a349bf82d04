//! What `budget` answers.

use super::Problem;
use crate::budget::{self, Crossing, Limit, OnBudget, Used};
use jiff::Timestamp;
use serde::{Serialize, Serializer};

/// The whole answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Budgets {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// The one that was set last first.
    pub budgets: Vec<Budget>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// How much a session may use.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Budget {
    /// Its name.
    pub id: String,
    /// Whose session.
    pub agent: String,
    /// Which.
    pub session_id: String,
    /// When it was set last.
    pub set_at: Timestamp,
    /// How much.
    pub limits: Amounts,
    /// How much it has used, as its record says now; absent in `list`, and what nobody can tell is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<Amounts>,
    /// What is done once it has used more.
    pub on_budget: OnBudget,
    /// What it has used more of than allowed, as it was seen, the first first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub crossed: Vec<Crossed>,
    /// When a person took it away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled_at: Option<Timestamp>,
}

/// How much of everything that can be limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Amounts {
    /// What it costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Tokens in and out; not what is read from the model's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Answers of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// For how long it writes nothing while it lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_seconds: Option<f64>,
}

/// A limit that was crossed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Crossed {
    /// Which.
    pub limit: Limit,
    /// How much is allowed: dollars, tokens, answers or seconds.
    #[serde(serialize_with = "number")]
    pub allowed: f64,
    /// How much was used when it was seen.
    #[serde(serialize_with = "number")]
    pub used: f64,
    /// When it was seen.
    pub at: Timestamp,
    /// What was to be done.
    pub action: OnBudget,
    /// What stood in the way of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A limit that was crossed, and whose.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Overrun {
    /// The budget.
    pub id: String,
    /// Whose session.
    pub agent: String,
    /// Which.
    pub session_id: String,
    /// What of it was crossed.
    pub crossed: Crossed,
}

impl Budget {
    /// As it stands, with what was used if that was read.
    pub fn new(budget: &budget::Budget, used: Option<&Used>) -> Self {
        let of = |limit| budget.limits.of(limit);
        let left = |used: &Used| Amounts::new(|limit| used.of(limit).map(|(used, _)| used));
        Self {
            id: budget.id.clone(),
            agent: budget.agent.clone(),
            session_id: budget.session.clone(),
            set_at: budget.set_at,
            limits: Amounts::new(of),
            used: used.map(left),
            on_budget: budget.action,
            crossed: budget.crossed.iter().map(Crossed::new).collect(),
            cancelled_at: budget.cancelled_at,
        }
    }
}

impl Amounts {
    fn new(of: impl Fn(Limit) -> Option<u64>) -> Self {
        Self {
            cost_usd: of(Limit::Cost).map(budget::dollars),
            tokens: of(Limit::Tokens),
            turns: of(Limit::Turns),
            idle_seconds: of(Limit::Idle).map(|time| shown(Limit::Idle, time)),
        }
    }
}

impl Crossed {
    /// As it was seen.
    pub fn new(seen: &budget::Crossed) -> Self {
        let Crossing { limit, allowed, used, .. } = seen.crossing;
        Self {
            limit,
            allowed: shown(limit, allowed),
            used: shown(limit, used),
            at: seen.at,
            action: seen.action,
            problem: seen.problem.clone(),
        }
    }
}

/// An amount in the unit that people use.
#[expect(clippy::cast_precision_loss, reason = "nobody counts so far")]
fn shown(limit: Limit, amount: u64) -> f64 {
    match limit {
        Limit::Cost => budget::dollars(amount),
        Limit::Tokens | Limit::Turns => amount as f64,
        Limit::Idle => amount as f64 / 1000.0,
    }
}

/// Without a fraction where there is none.
#[expect(clippy::cast_possible_truncation, reason = "it is a whole number")]
fn number<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    match value.fract() == 0.0 {
        true => to.serialize_i64(*value as i64),
        false => to.serialize_f64(*value),
    }
}
