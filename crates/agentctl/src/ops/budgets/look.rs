//! How much sessions have used, read from their records at the moment of asking.

use crate::{
    intents::budgets,
    ops::{Here, observe},
    places,
};
use agentctl_core::{
    agent::{Agent, Depth, Stub},
    budget::{self, Budget, Used},
    host::Host,
    observe::{Candidate, History, Survey},
    proof::Rule,
    wire::{self, Session},
};
use jiff::Timestamp;
use std::sync::Arc;

/// How much to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Much {
    /// All that can be told.
    All,
    /// What is limited, and no more.
    Limited,
}

/// A budget, and its session as it is now.
pub(super) struct Seen {
    pub(super) budget: Budget,
    /// None where no agent knows it any more, or its agent did not answer.
    pub(super) session: Option<Session>,
    pub(super) used: Used,
}

/// Looks at the sessions of these budgets, in their order.
pub(super) fn look(here: &Here, budgets: Vec<Budget>, much: Much) -> Vec<Seen> {
    let mut names: Vec<String> = budgets.iter().map(|one| one.agent.clone()).collect();
    names.sort();
    names.dedup();
    if names.is_empty() {
        return Vec::new();
    }
    let all = Arc::new(budgets.clone());
    let answers =
        observe::each(here, observe::BRISK, &observe::chosen(&names), move |agent, host, env| {
            let own: Vec<&Budget> =
                all.iter().filter(|one| one.agent == agent.card().name).collect();
            let mut survey = Survey::new(agent, host, env, History::Skip);
            for budget in &own {
                if !survey.candidates.iter().any(|one| one.id.as_ref() == Some(&budget.session)) {
                    survey.also(&budget.session);
                }
            }
            let seen = |budget: &&Budget| (budget.id.clone(), one(&survey, host, budget, much));
            own.iter().map(seen).collect::<Vec<_>>()
        });
    here.host().put_down();
    let mut found: Vec<_> = answers.found.into_iter().flatten().collect();
    let seen = |budget: Budget| {
        let own = found.iter().position(|(id, _)| *id == budget.id).map(|at| found.remove(at).1);
        let (session, used) = own.unwrap_or_default();
        Seen { budget, session, used }
    };
    budgets.into_iter().map(seen).collect()
}

fn one(
    survey: &Survey<'_>,
    host: &dyn Host,
    budget: &Budget,
    much: Much,
) -> (Option<Session>, Used) {
    let of = |one: &&Candidate| one.id.as_ref() == Some(&budget.session);
    let own = survey.candidates.iter().filter(of);
    // Ids may be unique only per directory: the one that lives is the one that uses something.
    let Some(candidate) = own.max_by_key(|one| one.is_held()) else { return Default::default() };
    let limits = &budget.limits;
    let counts = limits.tokens.is_some() || limits.cost.is_some();
    let depth = if counts || much == Much::All { Depth::Whole } else { Depth::Glance };
    let (session, _) = survey.session(candidate, depth);
    let stub = candidate.stub.as_ref().filter(|_| limits.turns.is_some() || much == Much::All);
    let used = used(budget, &session, (survey.agent, host, stub));
    (Some(session), used)
}

fn used(
    budget: &Budget,
    session: &Session,
    (agent, host, stub): (&dyn Agent, &dyn Host, Option<&Stub>),
) -> Used {
    let counts = session.live && !session.halted;
    let written = session.updated_at.max(began(session)).filter(|_| counts);
    let idle = written.map(|written| {
        let since = budget.silent_since(written);
        let time = host.now().duration_since(since).as_millis();
        (u64::try_from(time).unwrap_or_default(), since)
    });
    Used {
        cost: session.cost_usd.and_then(budget::parts).filter(|_| agent.card().costs),
        tokens: session.tokens.as_ref().map(budget::tokens),
        turns: stub.and_then(|stub| agent.turns(host, stub).ok()),
        idle,
    }
}

/// When the process began that has it: one that goes on with an old session has been silent for a moment.
fn began(session: &Session) -> Option<Timestamp> {
    let alive = session.because.iter().filter(|because| because.rule == Rule::HolderAlive);
    alive.filter_map(|because| because.at).max()
}

/// Adds to sessions what people allow them; with what one has used, where that is asked for.
pub(crate) fn attach<'s>(
    here: &Here,
    sessions: impl IntoIterator<Item = &'s mut Session>,
    used: bool,
) {
    // Below what never was a directory nothing was ever asked for.
    let state = places::state().filter(|state| state.symlink_metadata().is_ok());
    let Some(found) = state.and_then(|state| budgets::all(&state).ok()) else { return };
    let mut set: Vec<Budget> = found.all;
    set.retain(Budget::is_set);
    for session in sessions {
        let Some(id) = &session.id else { continue };
        let own = set.iter().find(|one| one.agent == session.agent && one.session == *id);
        let Some(budget) = own.cloned() else { continue };
        session.budget = Some(Box::new(match used {
            false => wire::Budget::new(&budget, None),
            true => {
                let seen = look(here, vec![budget], Much::All).pop().expect("it is looked at");
                wire::Budget::new(&seen.budget, Some(&seen.used))
            }
        }));
    }
}
