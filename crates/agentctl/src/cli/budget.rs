//! `agentctl budget set|cancel|release|list`

use super::{
    args::{Budget, BudgetCommand, BudgetList, BudgetName},
    run::Outcome,
};
use crate::{
    daemon,
    error::Kind,
    ops::{self, Here},
    view,
};
use agentctl_core::wire::{self, Budgets, OneSession};

/// Sets, changes or shows budgets.
pub(super) fn run(here: &Here, args: &Budget) -> Outcome {
    match &args.command {
        BudgetCommand::Set(args) => {
            let budget = ops::budgets::set(here, &args.id, &args.most.order())?;
            unkept();
            done(budget, "set", args.json)
        }
        BudgetCommand::Cancel(args) => {
            done(ops::budgets::cancel(here, &args.id)?, "cancelled", args.json)
        }
        BudgetCommand::Release(args) => release(here, args),
        BudgetCommand::List(args) => list(here, args),
    }
}

fn list(here: &Here, args: &BudgetList) -> Outcome {
    let found = ops::budgets::list(here, args.all)?;
    match args.json {
        true => view::json(&found)?,
        false => {
            view::problems(&found.problems);
            view::budgets::table(&found, here.now())?;
            if found.budgets.iter().any(|budget| budget.cancelled_at.is_none()) {
                unkept();
            }
        }
    }
    Ok(if found.problems.is_empty() { 0 } else { Kind::Problems.code() })
}

fn release(here: &Here, args: &BudgetName) -> Outcome {
    let (session, ours) = ops::budgets::release(here, &args.id)?;
    if !ours {
        view::note("no budget had halted it: somebody else did");
    }
    match args.json {
        true => view::json(&OneSession { schema: wire::SCHEMA, session, problems: Vec::new() })?,
        false => view::budgets::released(&session)?,
    }
    Ok(0)
}

fn done(budget: wire::Budget, what: &str, json: bool) -> Outcome {
    match json {
        true => {
            let (schema, budgets) = (wire::SCHEMA, vec![budget]);
            view::json(&Budgets { schema, budgets, problems: Vec::new() })?;
        }
        false => view::budgets::done(&budget, what)?,
    }
    Ok(0)
}

/// Says that nobody keeps a budget, if that is so.
pub(super) fn unkept() {
    if !daemon::runs() {
        view::note("nobody keeps budgets while no daemon runs: `agentctl daemon start` starts one");
    }
}
