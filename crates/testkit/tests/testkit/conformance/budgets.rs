//! What budgets count, in every captured record.

use super::stories::each;
use agentctl_core::{agent::Depth, agents, budget};
use std::collections::BTreeMap;

/// Whoever used tokens has answered, and the other way round: where the agent counts them at all.
#[test]
fn who_used_tokens_has_answered() {
    let mut counted: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    each(|agent, host, stub, _| {
        let Ok(record) = agent.read(host, stub, Depth::Whole) else { return };
        let turns = agent.turns(host, stub).expect("what can be read can be counted");
        let used = record.tokens.as_ref().map_or(0, budget::tokens);
        let (sum, all) = counted.entry(agent.card().name).or_default();
        (*sum, *all) = (*sum + turns, *all + u64::from(used > 0));
        assert!(used == 0 || turns > 0, "{} used {used} tokens", stub.path.display());
    });
    for agent in agents::ALL {
        let (turns, sessions) = counted[agent.card().name];
        assert!(turns >= sessions && sessions > 3, "{}: {counted:?}", agent.card().name);
    }
}

/// Only agents that are said to write down costs do, and all of those.
#[test]
fn costs_are_told_by_those_who_tell_them() {
    let mut told: BTreeMap<&str, bool> = BTreeMap::new();
    each(|agent, host, stub, _| {
        let Ok(record) = agent.read(host, stub, Depth::Whole) else { return };
        *told.entry(agent.card().name).or_default() |= record.cost_usd.is_some();
    });
    for agent in agents::ALL {
        assert_eq!(told[agent.card().name], agent.card().costs, "{}", agent.card().name);
    }
}
