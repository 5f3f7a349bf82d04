//! Figures for Prometheus, counted as long as the daemon runs.

use super::{
    run::begin,
    shared::{Shared, locked},
    watch::{Sink, Took},
};
use crate::{
    error::Error,
    metrics::{self, Counters},
    notify::{self, Target},
    ops::gauges::Gauges,
};
use std::{
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    sync::{Arc, Mutex},
};

/// Where figures are to be read, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Figures {
    /// Where.
    pub(crate) address: SocketAddr,
    /// By other machines, too.
    pub(crate) remote: bool,
}

/// What figures are made of, and for whom.
pub(super) struct Page {
    pub(super) listener: TcpListener,
    /// For other machines, too.
    pub(super) remote: bool,
    pub(super) state: PathBuf,
    pub(super) targets: Vec<Target>,
}

/// Serves it, and says how to count.
pub(super) fn open(shared: &Arc<Shared>, page: Page) -> Result<Sink, Error> {
    let Page { listener, remote, state, targets } = page;
    let counters = Arc::new(Mutex::new(Counters::default()));
    let (counted, gauges) = (Arc::clone(&counters), Mutex::new(Gauges::default()));
    begin("figures", shared, move |shared| {
        metrics::serve(&listener, remote, || {
            let waiting = notify::listed(&state, targets.clone(), Vec::new()).webhooks;
            metrics::page(&shared.here(None), &mut locked(&gauges), &waiting, Some(&counted))
        });
    })?;
    Ok(Box::new(move |events| {
        locked(&counters).count(events);
        Took::All
    }))
}
