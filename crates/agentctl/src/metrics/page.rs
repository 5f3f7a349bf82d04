//! The page of one moment.

use super::{
    Counters,
    text::{Seen, text},
};
use crate::ops::{Here, gauges::Gauges};
use agentctl_core::wire::Webhook;

/// Measures, and says it as text.
pub(crate) fn page(
    here: &Here,
    gauges: &mut Gauges,
    webhooks: &[Webhook],
    counters: Option<&Counters>,
) -> String {
    let measured = gauges.look(here);
    let times: Vec<_> = measured.times.iter().map(|timed| (timed.agent, timed.time)).collect();
    let problems: Vec<String> =
        measured.problems.iter().map(|problem| problem.agent.clone()).collect();
    text(&Seen {
        sessions: &measured.sessions,
        spent: &measured.spent,
        locks: &measured.locks,
        fuses: measured.fuses,
        times: &times,
        problems: &problems,
        webhooks,
        counters,
    })
}
