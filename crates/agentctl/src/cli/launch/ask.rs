//! What a launch is asked for: what the flags say, and what is configured where they say nothing.

use super::super::args::What;
use crate::{
    amounts,
    config::{Config, Key},
    ops::launch::{Ask, Errands, Place},
    view,
};
use agentctl_core::{
    agent::Agent,
    agents,
    budget::{Limits, OnBudget, Order},
    launch::Permission,
    receipt::Callback,
};
use std::{collections::BTreeMap, path::PathBuf};

/// An ask without a prompt and a place.
pub(super) fn ask(what: &What, agent: &'static dyn Agent, config: &Config) -> Ask {
    let text = |key| config.text(key).map(str::to_owned);
    let permission = what.permission.as_deref().or(config.text(Key::Permission));
    let mut labels: BTreeMap<_, _> = config.pairs(Key::Labels).into_iter().collect();
    labels.extend(what.label.iter().cloned());
    Ask {
        agent,
        prompt: String::new(),
        cwd: PathBuf::new(),
        model: None,
        name: what.name.clone(),
        labels,
        group: what.group.clone().or_else(|| text(Key::Group)),
        force: what.force,
        timeout: what.timeout.or_else(|| config.time(Key::Timeout)),
        budget: budget(what, agent, config),
        env: environment(what, agent, config),
        permission: permission.and_then(Permission::named).unwrap_or_default(),
        system: None,
        key: None,
        steerable: what.steerable || config.is_on(Key::Steerable) && !what.wait,
        more: what.more.clone(),
        errands: errands(what, agent, config),
        callback: Callback {
            session: what.hooks.callback_session.clone(),
            agent: what.hooks.callback_agent.clone(),
        },
        place: Place::Given,
        earlier: None,
    }
}

/// Limits that are given, and where they say nothing those that are configured. What is configured is for all
/// agents: what cannot be kept for one is not heeded there.
fn budget(what: &What, agent: &dyn Agent, config: &Config) -> Option<Order> {
    let given = what.most.order();
    let mut set = configured(config);
    if given.limits.cost.is_none() && set.limits.cost.is_some() && !agent.card().costs {
        set.limits.cost = None;
        unheeded(Key::MaxCost, agent, "it writes down no cost");
    }
    let limits = given.limits.over(set.limits);
    if limits.is_none() {
        return None;
    }
    let held = given.action.is_none() && set.action == Some(OnBudget::Hold);
    if held && agent.hosted().is_some() {
        set.action = None;
        unheeded(Key::OnBudget, agent, "its server runs its sessions");
    }
    Some(Order { limits, action: given.action.or(set.action) })
}

fn configured(config: &Config) -> Order {
    let amount = |key, read: fn(&str) -> Result<u64, String>| read(config.text(key)?).ok();
    let idle = config.time(Key::IdleTimeout).map(|time| time.as_millis());
    let limits = Limits {
        cost: amount(Key::MaxCost, amounts::cost),
        tokens: amount(Key::MaxTokens, amounts::tokens),
        turns: amount(Key::MaxTurns, amounts::turns),
        idle: idle.and_then(|time| u64::try_from(time).ok()),
    };
    Order { limits, action: config.text(Key::OnBudget).and_then(OnBudget::named) }
}

/// The agent that is meant where none is named.
pub(super) fn usual(config: &Config) -> &'static dyn Agent {
    let usual = config.text(Key::Agent).and_then(agents::named);
    usual.expect("the config lets only known names pass")
}

/// The model that is configured, which is one of the usual agent's.
pub(super) fn usual_model(config: &Config, agent: &dyn Agent) -> Option<String> {
    let is_usual = usual(config).card().name == agent.card().name;
    config.text(Key::Model).filter(|_| is_usual).map(str::to_owned)
}

/// Variables that are configured, and over them those that are given. A server has its own.
fn environment(what: &What, agent: &dyn Agent, config: &Config) -> Vec<(String, String)> {
    let mut set = config.pairs(Key::Env);
    if agent.hosted().is_some() && !set.is_empty() {
        set.clear();
        unheeded(Key::Env, agent, "its server has variables of its own");
    }
    set.retain(|(name, _)| !what.env.iter().any(|(given, _)| given == name));
    set.extend(what.env.iter().cloned());
    set
}

fn errands(what: &What, agent: &dyn Agent, config: &Config) -> Errands {
    let set = |given: &Option<String>, key| {
        let command = given.clone().or_else(|| config.text(key).map(str::to_owned));
        command.filter(|command| !command.trim().is_empty())
    };
    let mut on_complete = set(&what.hooks.on_complete, Key::OnComplete);
    // Who asks for it here is told that it cannot be; what is configured is for others.
    if agent.hosted().is_some() && what.hooks.on_complete.is_none() && on_complete.is_some() {
        on_complete = None;
        unheeded(Key::OnComplete, agent, "its sessions end in its own server");
    }
    Errands {
        on_create: set(&what.hooks.on_create, Key::OnCreate),
        on_complete,
        limit: config.time(Key::HookTimeout).unwrap_or_default(),
    }
}

fn unheeded(key: Key, agent: &dyn Agent, why: &str) {
    let title = agent.card().title;
    view::warning(&format!("{} is not heeded for {title}: {why}", key.name()));
}
