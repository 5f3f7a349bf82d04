//! Budgets that people set: a file for each session that has one.

use super::store::{self, Found, Intent};
use agentctl_core::budget::{Budget, SCHEMA};
use jiff::Timestamp;
use std::{
    io,
    path::{Path, PathBuf},
};
use uuid::Uuid;

pub(crate) use super::store::add;

impl Intent for Budget {
    const WORD: &'static str = "budget";
    const FOLDER: &'static str = "budgets";
    const SCHEMA: u32 = SCHEMA;

    fn named(&self) -> (u32, &str) {
        (self.schema, &self.id)
    }

    fn is_stale(&self, now: Timestamp) -> bool {
        Self::is_stale(self, now)
    }
}

/// A budget that nobody else changes meanwhile.
pub(crate) type Held = store::Held<Budget>;

/// The name of a session's budget: there is only one, and ids of sessions may hold anything.
pub(crate) fn name(agent: &str, session: &str) -> String {
    let whole = format!("{agent}\0{session}");
    let hash = Uuid::new_v5(&Uuid::NAMESPACE_OID, whole.as_bytes()).simple().to_string();
    format!("b-{}", &hash[..12])
}

/// Where the files are.
pub(crate) fn folder(state: &Path) -> PathBuf {
    store::folder::<Budget>(state)
}

/// The budget of a session, if it has one.
pub(crate) fn of(state: &Path, agent: &str, session: &str) -> Result<Option<Budget>, String> {
    store::get(state, &name(agent, session))
}

/// All budgets, the one that was set last first.
pub(crate) fn all(state: &Path) -> io::Result<Found<Budget>> {
    let mut found = store::all::<Budget>(state)?;
    found.all.sort_by_key(|budget| std::cmp::Reverse(budget.set_at));
    Ok(found)
}

/// Files that nobody needs any more: those of live sessions stay, unless a person took the budget away.
pub(crate) fn left(state: &Path, now: Timestamp, lives: impl Fn(&Budget) -> bool) -> Vec<PathBuf> {
    store::left(state, now, |budget: &Budget| {
        budget.is_stale(now) && (!budget.is_set() || !lives(budget))
    })
}

/// Removes one of those, unless it is in use or was changed since.
pub(crate) fn remove(state: &Path, path: &Path, now: Timestamp) -> io::Result<()> {
    store::remove::<Budget>(state, path, now)
}
