//! Budgets, as people read them.

use super::{
    columns::{Table, screen},
    words,
};
use agentctl_core::{
    budget::Limit,
    text::one_line,
    wire::{Amounts, Budget, Budgets, Crossed, Overrun, Session},
};
use jiff::Timestamp;
use std::io::{self, Write};

/// One line for each budget; nothing at all where there are none.
pub(crate) fn table(found: &Budgets, now: Timestamp) -> io::Result<()> {
    if found.budgets.is_empty() {
        return Ok(());
    }
    let called = found.budgets.iter().map(|one| (&*one.agent, Some(&*one.session_id), None));
    let names = words::calls(&called.collect::<Vec<_>>());
    let row = |(budget, name): (&Budget, String)| {
        let then = match (&budget.cancelled_at, budget.crossed.last()) {
            (Some(at), _) => format!("cancelled {}", words::ago(*at, now)),
            (None, Some(last)) => format!("{} {}", crossed(last), words::ago(last.at, now)),
            (None, None) => "-".to_owned(),
        };
        let does = budget.on_budget.name().to_owned();
        vec![name, one_line(&budget.agent), used(budget), does, then]
    };
    let table = Table {
        heads: vec!["ID", "AGENT", "USED", "THEN", "CROSSED"],
        rows: found.budgets.iter().zip(names).map(row).collect(),
        elastic: &["USED", "CROSSED"],
        spare: &["AGENT"],
    };
    table.print(screen(), |_, _, cell| cell)
}

/// What was set or cancelled.
pub(crate) fn done(budget: &Budget, what: &str) -> io::Result<()> {
    let id = one_line(&budget.session_id);
    let (does, used) = (budget.on_budget.name(), used(budget));
    writeln!(io::stdout().lock(), "{id}  budget {what}: {does} at {used}")
}

/// What goes on again.
pub(crate) fn released(session: &Session) -> io::Result<()> {
    let (name, state) = (words::name(session), words::state(session));
    writeln!(io::stdout().lock(), "{name}  goes on: {state}")
}

/// How much of each limit was used.
pub(super) fn used(budget: &Budget) -> String {
    let of = |amounts: &Amounts, limit: Limit| amount(amounts, limit);
    let parts = Limit::ALL.into_iter().filter_map(|limit| {
        let allowed = of(&budget.limits, limit)?;
        let name = limit.name();
        Some(match budget.used.as_ref() {
            Some(used) => {
                let unknown = if limit == Limit::Idle { "-" } else { "unknown" };
                let used = of(used, limit).unwrap_or_else(|| unknown.to_owned());
                format!("{name} {used} of {allowed}")
            }
            None => format!("{name} {allowed}"),
        })
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// What was crossed last, if anything was and counts.
pub(super) fn warning(session: &Session) -> Option<String> {
    let budget = session.budget.as_ref()?;
    budget.crossed.last().map(|last| format!("budget: {}", crossed(last)))
}

/// What was crossed of whose, in a line.
pub(super) fn told(over: &Overrun) -> String {
    let (agent, id) = (one_line(&over.agent), one_line(&over.session_id));
    format!("{id}  {agent}  {}, {}", crossed(&over.crossed), over.crossed.action.name())
}

/// What was crossed, in a few words.
pub(super) fn crossed(one: &Crossed) -> String {
    let (used, allowed) = (number(one.limit, one.used), number(one.limit, one.allowed));
    let but = one.problem.as_ref().map(|why| format!(", but {}", one_line(why)));
    format!("{} {used} of {allowed}{}", one.limit.name(), but.unwrap_or_default())
}

#[expect(clippy::cast_precision_loss, reason = "nobody counts so far")]
fn amount(amounts: &Amounts, limit: Limit) -> Option<String> {
    let amount = match limit {
        Limit::Cost => amounts.cost_usd,
        Limit::Tokens => amounts.tokens.map(|count| count as f64),
        Limit::Turns => amounts.turns.map(|count| count as f64),
        Limit::Idle => amounts.idle_seconds,
    };
    amount.map(|amount| number(limit, amount))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a count")]
fn number(limit: Limit, amount: f64) -> String {
    match limit {
        Limit::Cost => format!("${amount:.2}"),
        Limit::Tokens | Limit::Turns => words::count(amount as u64),
        Limit::Idle if amount < 10.0 => format!("{amount:.1}s"),
        Limit::Idle => words::span(amount as i64),
    }
}
