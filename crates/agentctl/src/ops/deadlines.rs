//! Deadlines of launches that nobody is left to keep: the agent's parent does so, unless it was killed.

use super::Here;
use crate::{
    host::{Death, How, end},
    places,
    shim::{Stage, stopped},
};
use agentctl_core::{agents, ident::ProcKey, receipt::Launched};
use jiff::Timestamp;
use std::{fs, time::Duration};

/// How long an agent has to heed a signal before the next.
const GRACE: Duration = Duration::from_secs(5);

/// A launch with a deadline, whose process lives and whose parent is gone.
pub(crate) struct Kept {
    /// When it is to be ended.
    pub(crate) deadline: Timestamp,
    /// Which.
    pub(crate) launch: Launched,
}

/// All of them, the first to end first.
pub(crate) fn all(here: &Here) -> Vec<Kept> {
    let open = here.host().launches().iter().filter(|launch| launch.exit.is_none());
    let kept = open.filter_map(|launch| {
        let (deadline, process) = (launch.deadline?, launch.process.as_ref()?);
        let left = !here.host().is_over(process) && !has_parent(here, process);
        left.then(|| Kept { deadline, launch: launch.clone() })
    });
    let mut kept: Vec<Kept> = kept.collect();
    kept.sort_by_key(|one| one.deadline);
    kept
}

/// The parent that keeps its deadline is there. Who cannot be read may be it.
fn has_parent(here: &Here, process: &ProcKey) -> bool {
    let host = here.host();
    let Ok(table) = host.table() else { return true };
    let Some(parent) = table.of(process).and_then(|own| table.process(own.parent)) else {
        return false;
    };
    let [shim, stay] = Stage::Stay.words();
    match host.argv(&table.key(parent)) {
        Ok(argv) => {
            argv.get(1).is_some_and(|word| word == shim)
                && argv[2..].iter().any(|word| word == stay)
        }
        Err(_) => host.is_mine(&table.key(parent)) != Ok(false),
    }
}

/// Ends one as its parent would have; an error says what stood in the way.
pub(crate) fn enforce(launch: &Launched) -> Result<(), String> {
    let (Some(process), Some(agent)) = (&launch.process, agents::named(&launch.agent)) else {
        return Err("nobody knows its process".to_owned());
    };
    let written = || {
        let session = launch.session.as_ref()?;
        stopped(&places::state()?, (&launch.agent, session), process).ok()
    };
    let receipt = written(); // before, so that its end is never taken for a crash
    let survived = |why: String| {
        receipt.as_ref().map(fs::remove_file); // however it ends one day, it was not by us
        Err(why)
    };
    match end(process, agent.ends_by(Some(launch.role())), GRACE) {
        Ok(deaths) => match deaths.into_iter().next() {
            Some(Death { how: How::Survived(why), .. }) => survived(why),
            Some(_) | None => {
                written(); // it may have written until it ended
                Ok(())
            }
        },
        Err(why) => survived(why.to_string()),
    }
}
