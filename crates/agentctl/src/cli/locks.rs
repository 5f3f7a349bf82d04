//! `agentctl locks`, `agentctl lock DIR` and `agentctl unlock DIR`

use super::{
    args::{Lock, Locks, Unlock},
    run::Outcome,
};
use crate::{
    error::Kind,
    ops::{self, Here},
    view,
};
use agentctl_core::wire;

/// Shows what is locked.
pub(super) fn run(here: &Here, args: &Locks) -> Outcome {
    let found = ops::locks::locks(here)?;
    match args.json {
        true => view::json(&found)?,
        false => {
            view::problems(&found.problems);
            view::locks::table(&found, here.now())?;
        }
    }
    Ok(if found.problems.is_empty() { 0 } else { Kind::Problems.code() })
}

/// Locks a directory.
pub(super) fn lock(here: &Here, args: Lock) -> Outcome {
    let lock = ops::locks::lock(here, &args.dir, Some(args.by.unwrap_or_else(user)), args.reason)?;
    show(vec![lock], "locked", args.json)
}

/// Who runs this, in words: a service may have no name.
fn user() -> String {
    let named = ["USER", "LOGNAME"].into_iter().filter_map(|name| std::env::var(name).ok());
    let mut named = named.filter(|name| !name.trim().is_empty());
    named.next().unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()))
}

/// Opens a directory.
pub(super) fn unlock(here: &Here, args: &Unlock) -> Outcome {
    let locks = ops::locks::unlock(here, &args.dir)?;
    show(locks, "unlocked", args.json)
}

fn show(locks: Vec<wire::Lock>, done: &str, json: bool) -> Outcome {
    match json {
        true => {
            view::json(&wire::Locks { schema: wire::SCHEMA, locks, problems: Vec::new() })?;
        }
        false => view::locks::done(&locks, done)?,
    }
    Ok(0)
}
