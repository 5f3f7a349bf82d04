//! Every agent the program knows: one folder and one line each.

use crate::agent::Agent;

/// The registry, in the order people see it.
pub static ALL: &[&dyn Agent] = &[];

/// The agent of this name.
pub fn named(name: &str) -> Option<&'static dyn Agent> {
    ALL.iter().copied().find(|agent| agent.card().name == name)
}
