//! This machine, as the faces hold it: they hand it on to `ops` and never look inside.

use crate::host::{Machine, Patience};
use agentctl_core::host::Host;
use jiff::Timestamp;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// How long servers may keep us waiting where no deadline is set.
const PATIENCE: Duration = Duration::from_secs(5);

/// This machine, seen once: every answer of one command is about the same moment.
pub(crate) struct Here {
    /// Shared with whoever looks too slowly: that one is left behind, and may still look.
    host: Arc<dyn Host + Send>,
    portable: bool,
    limit: Option<Limit>,
}

#[derive(Clone, Copy)]
struct Limit {
    until: Instant,
    whole: Duration,
}

impl Here {
    /// With the kernel's own interface, or with portable calls only. `limit` is how long all agents
    /// together may take; silent servers, however many, are given up early enough to still say what their
    /// stores say.
    pub(crate) fn new(portable: bool, limit: Option<Duration>) -> Self {
        let now = Instant::now();
        let patience =
            limit.map_or(Patience::Each(PATIENCE), |limit| Patience::Until(now + limit / 2));
        let host: Arc<dyn Host + Send> = match portable {
            true => Arc::new(Machine::portable(patience)),
            false => Arc::new(Machine::native(patience)),
        };
        let limit = limit.map(|whole| Limit { until: now + whole, whole });
        Self { host, portable, limit }
    }

    /// This machine at this moment, however long ago it was first seen.
    pub(super) fn again(&self) -> Self {
        Self::new(self.portable, None)
    }

    /// The same, for no longer than this.
    pub(super) fn again_within(&self, limit: Duration) -> Self {
        Self::new(self.portable, Some(limit))
    }

    /// The wall clock.
    pub(crate) fn now(&self) -> Timestamp {
        self.host.now()
    }

    pub(super) fn host(&self) -> &dyn Host {
        &*self.host
    }

    /// The same for a thread that may be left behind.
    pub(super) fn shared(&self) -> Arc<dyn Host + Send> {
        Arc::clone(&self.host)
    }

    /// How much longer agents may take; `None` is as long as they want.
    pub(super) fn left(&self) -> Option<Duration> {
        self.limit.map(|limit| limit.until.saturating_duration_since(Instant::now()))
    }

    /// How long they were given.
    pub(super) fn limit(&self) -> Duration {
        self.limit.map_or(Duration::MAX, |limit| limit.whole)
    }
}
