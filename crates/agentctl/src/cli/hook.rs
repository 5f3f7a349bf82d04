//! `agentctl hook run ID`

use super::{
    args::{Hook, HookCommand},
    run::Outcome,
};
use crate::{
    error::Kind,
    ops::{self, Here},
    view,
};
use agentctl_core::{receipt::HookName, wire::HookOutcome};

/// Runs a hook; the exit code tells how it ended.
pub(super) fn run(here: &Here, args: &Hook) -> Outcome {
    let HookCommand::Run(args) = &args.command;
    let name = HookName::ALL.iter().find(|name| name.name() == args.name);
    let name = name.copied().expect("clap lets only known names pass");
    let done = ops::hook::run(here, &args.id, name, args.force)?;
    match args.json {
        true => view::json(&done)?,
        false => view::hooks::ran(&done.session, &done.hook)?,
    }
    Ok(match done.hook.outcome {
        HookOutcome::Succeeded => 0,
        HookOutcome::TimedOut => Kind::TimedOut.code(),
        HookOutcome::Waiting
        | HookOutcome::NotRun
        | HookOutcome::Running
        | HookOutcome::Failed
        | HookOutcome::Unknown => Kind::No.code(),
    })
}
