//! The page of one moment.

use super::{
    Counters,
    text::{Seen, text},
};
use crate::ops::{Here, gauges::Gauges};
use agentctl_core::wire::Webhook;
use std::sync::{Mutex, PoisonError};

/// Measures, which may take a while, then looks at what was counted, and says it as text.
pub(crate) fn page(
    here: &Here,
    gauges: &mut Gauges,
    webhooks: &[Webhook],
    counters: Option<&Mutex<Counters>>,
) -> String {
    let measured = gauges.look(here);
    let times: Vec<_> = measured.times.iter().map(|timed| (timed.agent, timed.time)).collect();
    let problems: Vec<String> =
        measured.problems.iter().map(|problem| problem.agent.clone()).collect();
    let counters = counters.map(|counters| counters.lock().unwrap_or_else(PoisonError::into_inner));
    text(&Seen {
        sessions: &measured.sessions,
        spent: &measured.spent,
        locks: &measured.locks,
        fuses: measured.fuses,
        times: &times,
        problems: &problems,
        webhooks,
        counters: counters.as_deref(),
    })
}
