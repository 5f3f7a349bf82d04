//! `agentctl metrics`

use super::{config, run::Outcome};
use crate::{
    metrics::{self, Counters},
    notify,
    ops::{self, Here, events::Ask, gauges::Gauges},
    places, view,
};
use agentctl_core::event::Filter;
use clap::Args;
use std::{
    net::SocketAddr,
    sync::{Mutex, PoisonError},
    thread,
};

/// Without --addr it prints the figures of this moment, as the textfile collector of node_exporter takes
/// them. With it, it serves them until it is ended, and counts what happens meanwhile.
#[derive(Debug, Args)]
pub(super) struct Metrics {
    /// Serve them at http://ADDRESS/metrics, such as 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS")]
    addr: Option<SocketAddr>,
    /// Allow addresses other machines can reach
    #[arg(long, requires = "addr")]
    remote: bool,
}

/// Shows figures, or serves them.
pub(super) fn run(here: &Here, args: &Metrics) -> Outcome {
    let (state, (targets, problems)) =
        (places::known_state()?, notify::targets(&config::read(None)?));
    // What waits for them; what is wrong with them is told by those who tell them.
    let webhooks = || notify::listed(&state, targets.clone(), problems.clone()).webhooks;
    let Some(address) = args.addr else {
        let page = metrics::page(here, &mut Gauges::default(), &webhooks(), None);
        view::raw(page.as_bytes())?;
        return Ok(0);
    };
    let listener = metrics::bind(address, args.remote)?;
    let bound = listener.local_addr().unwrap_or(address);
    let (gauges, counters) = (Mutex::new(Gauges::default()), Mutex::new(Counters::default()));
    thread::scope(|scope| {
        scope.spawn(|| count(here, &counters));
        view::note(&format!("figures are at http://{bound}/metrics"));
        metrics::serve(&listener, args.remote, || {
            let mut gauges = gauges.lock().unwrap_or_else(PoisonError::into_inner);
            metrics::page(here, &mut gauges, &webhooks(), Some(&counters))
        });
    });
    Ok(0)
}

/// Counts what happens, as long as the program runs.
fn count(here: &Here, counters: &Mutex<Counters>) {
    let ask = Ask { since: None, once: false, filter: Filter::default() };
    let told = ops::events::events(here, ask, |batch| {
        counters.lock().unwrap_or_else(PoisonError::into_inner).count(&batch.events);
        Ok(())
    });
    if let Err(why) = told {
        view::report(&why, false);
    }
}
