//! Several launches at once: which agents, with which models, on which branches.

mod file;
mod names;

pub use file::{Hooks, Matrix, Off};

use crate::{agent::Agent, launch::Permission};
use std::collections::BTreeMap;

/// More launches at once are taken for a mistake in a list.
pub const MOST: usize = 64;

/// One launch of several.
#[derive(Clone)]
pub struct Slot {
    /// Which agent.
    pub agent: &'static dyn Agent,
    /// Which model, in the agent's own words.
    pub model: Option<String>,
    /// The branch it works on, if one was named for it.
    pub branch: Option<String>,
    /// What that branch begins from.
    pub base: Option<String>,
    /// What it may do unasked.
    pub permission: Option<Permission>,
    /// Labels of its own.
    pub labels: BTreeMap<String, String>,
}

impl Slot {
    /// An agent, and maybe a model.
    pub fn new(agent: &'static dyn Agent, model: Option<String>) -> Self {
        let (branch, base, permission) = (None, None, None);
        Self { agent, model, branch, base, permission, labels: BTreeMap::new() }
    }
}

/// A short name for each, of letters, digits, dots and dashes, and no two alike: the agent's, and where
/// that is there twice what tells it from its kin.
pub fn names(slots: &[Slot]) -> Vec<String> {
    names::unique(slots)
}

/// The branch of a group's launch; its last part is the name.
pub fn branch(group: &str, name: &str) -> String {
    format!("try/{}/{name}", names::plain(group))
}
