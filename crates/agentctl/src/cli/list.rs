//! `agentctl list`

use super::{
    args::{List, Sort},
    run::{Outcome, ended},
};
use crate::{
    error::Kind,
    ops::{
        self, Here,
        list::{Ask, Words},
    },
    view::{self, table::Columns},
};
use agentctl_core::{observe::History, select::Order, wire::Sessions};

/// Lists sessions.
pub(super) fn run(here: &'static Here, args: List) -> Outcome {
    let words = Words {
        all: args.all,
        since: args.since,
        usage: args.usage,
        agents: args.agent,
        states: args.state,
        statuses: args.status,
        dirs: args.cwd,
        groups: args.group,
        stalled: args.stalled,
        order: Some(order(args.sort)),
        limit: args.limit,
    };
    let ask = Ask { brief: !args.json, ..words.ask(here)? };
    let columns = (!args.json).then_some(Columns { wide: args.wide, usage: args.usage });
    let end =
        move |ask: &Ask, found| ended(show(here, ask, found, columns.as_ref()), columns.is_none());
    Ok(ops::list::ending(here, ask, end))
}

/// In these columns, or as JSON.
fn show(here: &Here, ask: &Ask, found: Sessions, columns: Option<&Columns>) -> Outcome {
    let code = if found.problems.is_empty() { 0 } else { Kind::Problems.code() };
    match columns {
        None => view::json(&found)?,
        Some(columns) => {
            view::table::sessions(&found, columns, here.now())?;
            view::orphans(&found.orphans);
            view::problems(&found.problems);
            let nothing = found.sessions.is_empty() && found.problems.is_empty();
            if nothing && ask.history == History::Skip {
                match ask.is_plain() {
                    true => view::nothing_alive(&ops::list::places(here)),
                    false => view::nothing_matches(),
                }
            }
        }
    }
    std::mem::forget(found); // the program ends: it is not given back piece by piece
    Ok(code)
}

fn order(sort: Sort) -> Order {
    match sort {
        Sort::Attention => Order::Attention,
        Sort::Updated => Order::Updated,
        Sort::Started => Order::Started,
        Sort::State => Order::State,
        Sort::Agent => Order::Agent,
        Sort::Cwd => Order::Cwd,
    }
}
