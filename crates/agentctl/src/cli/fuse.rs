//! `agentctl fuse set|extend|cancel|list`

use super::{
    args::{Fuse, FuseCommand, FuseList, FuseSet, OnExpire},
    run::Outcome,
};
use crate::{
    config, daemon,
    error::{Error, Kind},
    ops::{
        self, Here,
        fuses::{Changed, Wanted},
    },
    view,
};
use agentctl_core::{
    fuse::Action,
    wire::{self, Fuses},
};
use std::path::Path;

/// Sets, changes or shows fuses.
pub(super) fn run(here: &Here, args: Fuse) -> Outcome {
    match args.command {
        FuseCommand::Set(args) => set(here, args),
        FuseCommand::Extend(args) => {
            done(here, ops::fuses::extend(here, &args.name, args.ttl)?, "put off", args.json)
        }
        FuseCommand::Cancel(args) => {
            done(here, ops::fuses::cancel(here, &args.name)?, "cancelled", args.json)
        }
        FuseCommand::List(args) => list(here, &args),
    }
}

/// Shows fuses.
pub(super) fn list(here: &Here, args: &FuseList) -> Outcome {
    let found = ops::fuses::list(here, args.all)?;
    match args.json {
        true => view::json(&found)?,
        false => {
            view::problems(&found.problems);
            view::fuses::table(&found, here.now())?;
            if found.fuses.iter().any(|fuse| fuse.overdue) {
                view::note("nobody fires what is overdue: `agentctl daemon start` does");
            }
        }
    }
    Ok(if found.problems.is_empty() { 0 } else { Kind::Problems.code() })
}

fn set(here: &Here, args: FuseSet) -> Outcome {
    let action = match (args.on_expire, args.script) {
        (OnExpire::Script, Some(command)) => Action::Script(command),
        (OnExpire::Script, None) => {
            return Err(Error::new(Kind::Usage, "--on-expire script has no script")
                .hint("--script 'COMMAND' names it"));
        }
        (_, Some(_)) => {
            return Err(Error::new(Kind::Usage, "--script is for --on-expire script"));
        }
        (OnExpire::Event, None) => Action::Event,
        (OnExpire::Webhook, None) => Action::Webhook,
        (OnExpire::Stop, None) => Action::Stop,
    };
    let told = matches!(action, Action::Webhook).then(webhooks);
    let (limit, label) = (args.script_timeout, args.label);
    let wanted = Wanted { target: &args.target, ttl: args.ttl, action, limit, label };
    let set = vec![ops::fuses::set(here, &wanted)?];
    if !daemon::runs() {
        view::note("nobody fires it while no daemon runs: `agentctl daemon start` starts one");
    }
    if told == Some(0) {
        view::note(
            "no webhook is configured: nobody would be told; `agentctl webhook list` shows them",
        );
    }
    done(here, (set, Vec::new()), "set", args.json)
}

/// How many webhooks the daemon tells: it reads the configuration from the root.
fn webhooks() -> usize {
    config::read(Some(Path::new("/"))).map_or(0, |config| config.webhooks().0.len())
}

fn done(here: &Here, (fuses, problems): Changed, what: &str, json: bool) -> Outcome {
    let code = if problems.is_empty() { 0 } else { Kind::Problems.code() };
    match json {
        true => view::json(&Fuses { schema: wire::SCHEMA, fuses, problems })?,
        false => {
            view::problems(&problems);
            view::fuses::done(&fuses, what, here.now())?;
        }
    }
    Ok(code)
}
