//! Words of the commands that limit what a session may use.

use super::duration;
use crate::amounts::{cost, tokens, turns};
use agentctl_core::budget::{Limits, OnBudget, Order};
use clap::{Args, Subcommand, ValueEnum};
use std::time::Duration;

/// How much, and what then.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Budget")]
pub(in crate::cli) struct Most {
    /// What it may cost, in dollars: 2.50; for agents that write down what they cost
    #[arg(long, value_name = "USD", allow_hyphen_values = true, value_parser = cost)]
    pub(in crate::cli) max_cost: Option<u64>,
    /// How many tokens it may use, in and out: 200k, 1.5m; what is read from the model's cache is not counted
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = tokens)]
    pub(in crate::cli) max_tokens: Option<u64>,
    /// How often the model may answer: each answer counts, with the tools that it calls
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = turns)]
    pub(in crate::cli) max_turns: Option<u64>,
    /// How long it may live without writing anything down, whatever it waits for: 90s, 15m, 2h
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration)]
    pub(in crate::cli) idle_timeout: Option<Duration>,
    /// What is done once it has used more; `stop` where nobody says otherwise; each time is an event, too
    #[arg(long, value_enum, value_name = "ACTION")]
    pub(in crate::cli) on_budget: Option<Then>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum Then {
    /// Only record an event
    Warn,
    /// It is stopped, as `agentctl stop` does
    Stop,
    /// Its processes are halted where they are, until `agentctl budget release`
    Hold,
}

impl Most {
    /// What is asked for.
    pub(in crate::cli) fn order(&self) -> Order {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let limits = Limits {
            cost: self.max_cost,
            tokens: self.max_tokens,
            turns: self.max_turns,
            idle: self.idle_timeout.map(millis),
        };
        let action = self.on_budget.map(|then| match then {
            Then::Warn => OnBudget::Warn,
            Then::Stop => OnBudget::Stop,
            Then::Hold => OnBudget::Hold,
        });
        Order { limits, action }
    }
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Budget {
    #[command(subcommand)]
    pub(in crate::cli) command: BudgetCommand,
}

impl Budget {
    /// Whoever asked is a program.
    pub(in crate::cli) fn wants_json(&self) -> bool {
        match &self.command {
            BudgetCommand::Set(args) => args.json,
            BudgetCommand::Cancel(args) => args.json,
            BudgetCommand::Release(args) => args.json,
            BudgetCommand::List(args) => args.json,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum BudgetCommand {
    /// Limit what a session may use; limits that are not named stay as they are
    Set(BudgetSet),
    /// Take the budget of a session away; if that held it, it goes on
    Cancel(BudgetName),
    /// Let a session go on that was held; what it has used too much of does not hold it again
    Release(BudgetName),
    /// Show the budgets that are set, and what was used
    List(BudgetList),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct BudgetSet {
    /// Id or a prefix of it, or ID@DIR
    #[arg(value_name = "ID")]
    pub(in crate::cli) id: String,
    #[command(flatten)]
    pub(in crate::cli) most: Most,
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct BudgetName {
    /// Id or a prefix of it, or ID@DIR
    #[arg(value_name = "ID")]
    pub(in crate::cli) id: String,
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct BudgetList {
    /// Those too that were taken away, of the last 7 days
    #[arg(short, long)]
    pub(in crate::cli) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}
