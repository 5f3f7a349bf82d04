//! What is run for a launch: once its session is there by whoever launched it, at its end by the shim.

use super::Ask;
use crate::{
    host::one,
    ops::{Here, status::status},
    shim::Errand,
};
use agentctl_core::{
    agent::Depth,
    receipt::{HookName, Hooks, Launched},
    wire::{PlannedHook, Session},
};
use std::{path::Path, time::Duration};

/// Commands that are to be run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Errands {
    /// Once the session is there.
    pub(crate) on_create: Option<String>,
    /// Once its agent has ended.
    pub(crate) on_complete: Option<String>,
    /// How long each may take.
    pub(crate) limit: Duration,
}

impl Errands {
    /// As the receipt of a launch holds them.
    pub(super) fn of(&self, ask: &Ask) -> Option<Hooks> {
        let Self { on_create, on_complete, limit } = self.clone();
        let any = on_create.is_some() || on_complete.is_some();
        let (cwd, model) = (ask.cwd.clone(), ask.model.clone());
        any.then_some(Hooks { on_create, on_complete, cwd, model, limit })
    }

    /// As they are shown before anything is started.
    pub(super) fn planned(&self) -> Vec<PlannedHook> {
        let both =
            [(HookName::OnCreate, &self.on_create), (HookName::OnComplete, &self.on_complete)];
        let one = |(name, command): (HookName, &Option<String>)| {
            Some(PlannedHook { name, command: command.clone()? })
        };
        both.into_iter().filter_map(one).collect()
    }
}

/// Runs what is to be run once a session is there. Whatever comes of it, the session is there: its hooks
/// say what became of them.
pub(super) fn created(here: &Here, session: Session, receipt: &Path) -> Session {
    let Some(launch) = one::<Launched>(receipt) else { return session };
    let hooks = launch.hooks.as_ref().filter(|hooks| hooks.on_create.is_some());
    let Some(hooks) = hooks else { return session };
    let (name, state) = (HookName::OnCreate, session.state);
    // Without a receipt it is not run, and that is what is seen below.
    let _ = Errand { name, launch: &launch, hooks, receipt, state }.run();
    let id = session.id.clone().unwrap_or_default();
    let seen = status(&here.again(), &id, Depth::Glance);
    let own = seen.map(|found| found.session).ok();
    own.filter(|seen| seen.launch_id == session.launch_id).unwrap_or(session)
}
