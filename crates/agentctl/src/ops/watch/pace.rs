//! When everything is looked at though nothing was told to have changed.

use crate::ops::Here;
use agentctl_core::{agents, host::Process};
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

/// However quiet it is, it is asked this often whether something came that tells nobody.
pub(super) const SCAN: Duration = Duration::from_secs(15);
/// And everything is looked at this often.
const WHOLE: Duration = Duration::from_mins(5);

/// A process that may be an agent's, as the kernel names it.
type One = (u32, u64, String);

/// When everything is looked at next.
pub(super) struct Pace {
    /// When it is asked what came.
    pub(super) scan: Instant,
    whole: Instant,
    /// Processes that may be agents', as they were when that was asked last.
    crowd: Option<BTreeSet<One>>,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self { scan: now + SCAN, whole: now + WHOLE, crowd: None }
    }

    /// Asks what came, if that is due. `sure`: all that is written is told, and nobody is at work.
    /// Reading the stores would wake us again, once for each file: they are left alone then.
    pub(super) fn is_due(&mut self, here: &Here, sure: bool) -> bool {
        let now = Instant::now();
        if now < self.scan {
            return false;
        }
        self.scan = now + SCAN;
        let crowd = crowd(here);
        let same = crowd.is_some() && crowd == self.crowd;
        self.crowd = crowd;
        !(sure && same) || self.whole <= now
    }

    /// Everything was looked at.
    pub(super) fn looked(&mut self, now: Instant) {
        (self.scan, self.whole) = (now + SCAN, now + WHOLE);
    }
}

/// `None` where nobody can tell.
fn crowd(here: &Here) -> Option<BTreeSet<One>> {
    let here = here.again();
    let table = here.host().table().ok()?;
    let may_be = |process: &&Process| {
        !process.zombie && agents::ALL.iter().any(|agent| agent.may_be(&process.comm))
    };
    let one = |process: &Process| (process.pid, process.start, process.comm.clone());
    Some(table.processes.iter().filter(may_be).map(one).collect())
}
