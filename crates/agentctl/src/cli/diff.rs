//! `agentctl diff ID` and `agentctl compare GROUP`

use super::{
    args::{Compare, Diff},
    run::Outcome,
};
use crate::{
    error::Kind,
    ops::{
        self, Here,
        diff::{Binary, Extent},
    },
    view,
};
use agentctl_core::wire::{Difference, SCHEMA};

/// Shows what a session changed.
pub(super) fn run(here: &Here, args: &Diff) -> Outcome {
    // What is not for eyes may be for `git apply`.
    let binary = if view::diff::is_for_eyes() { Binary::Named } else { Binary::Whole };
    let extent = if args.stat { Extent::Counts } else { Extent::Patch(binary) };
    let changed = ops::diff::diff(here, &args.id, extent)?;
    if args.json {
        let patch = changed.patch.map(|patch| String::from_utf8_lossy(&patch).into_owned());
        let (id, changes) = (changed.id, changed.changes);
        view::json(&Difference { schema: SCHEMA, id, changes, patch })?;
        return Ok(0);
    }
    view::diff::since(&changed.changes);
    match &changed.patch {
        Some(patch) => view::diff::patch(patch)?,
        None => view::diff::stat(&changed.changes)?,
    }
    Ok(0)
}

/// Compares the sessions of a group.
pub(super) fn compare(here: &Here, args: &Compare) -> Outcome {
    let found = ops::compare::compare(here, &args.group)?;
    match args.json {
        true => view::json(&found)?,
        false => {
            view::compare::table(&found)?;
            view::problems(&found.problems);
        }
    }
    Ok(if found.problems.is_empty() { 0 } else { Kind::Problems.code() })
}
