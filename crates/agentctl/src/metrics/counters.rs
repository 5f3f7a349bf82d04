//! What is counted as it happens.

use agentctl_core::wire::{Event, EventKind, StateName};
use prometheus_client::metrics::histogram::Histogram;
use std::collections::{BTreeSet, VecDeque};

/// How long sessions take, in seconds: the bounds of agentctl 1.x.
const BOUNDS: [f64; 6] = [60.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0];
/// Events that may come again after a crash are known by these.
const REMEMBERED: usize = 4096;

/// What was counted since this process began.
#[derive(Debug)]
pub(crate) struct Counters {
    pub(super) completed: u64,
    pub(super) failed: u64,
    pub(super) stopped: u64,
    pub(super) fuses: u64,
    pub(super) durations: Histogram,
    known: BTreeSet<String>,
    order: VecDeque<String>,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            completed: 0,
            failed: 0,
            stopped: 0,
            fuses: 0,
            durations: Histogram::new(BOUNDS),
            known: BTreeSet::new(),
            order: VecDeque::new(),
        }
    }
}

impl Counters {
    /// Counts each event once, however often it is told.
    pub(crate) fn count(&mut self, events: &[Event]) {
        for event in events {
            if self.is_new(&event.id) {
                self.one(event);
            }
        }
    }

    fn one(&mut self, event: &Event) {
        if event.kind == EventKind::FuseFired {
            self.fuses += 1;
        }
        if event.kind != EventKind::Ended {
            return;
        }
        match event.after {
            Some(StateName::Done) => self.completed += 1,
            Some(StateName::Failed | StateName::Died) => self.failed += 1,
            Some(StateName::Stopped) => self.stopped += 1,
            // How it ended cannot be told: it counts as no end.
            Some(
                StateName::Waiting | StateName::Working | StateName::Idle | StateName::Unknown,
            )
            | None => return,
        }
        let session = event.session.as_deref();
        let ended = session.and_then(|session| session.ended_at).unwrap_or(event.at);
        if let Some(began) = session.and_then(|session| session.started_at) {
            self.durations.observe(ended.duration_since(began).as_secs_f64().max(0.0));
        }
    }

    fn is_new(&mut self, id: &str) -> bool {
        if !self.known.insert(id.to_owned()) {
            return false;
        }
        self.order.push_back(id.to_owned());
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}
