//! What is measured: sessions, locks and fuses as they are, what processes use, how long agents take.

use super::{
    Here, fuses,
    list::{Ask, Timed, timed},
    locks, observe,
};
use agentctl_core::{
    agent::Depth,
    evidence::Tokens,
    host::Spent,
    observe::History,
    wire::{Lock, Problem, Session},
};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// How long agents may take: whoever asks gives up after ten seconds.
const LIMIT: Duration = Duration::from_secs(5);
/// Tokens are in the whole of a transcript, and so are counted no more often than this.
const COUNTED: Duration = Duration::from_secs(60);

/// What was measured.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// Those that are alive, or may be.
    pub(crate) sessions: Vec<Session>,
    /// What the process of each has used, in the same order.
    pub(crate) spent: Vec<Option<Spent>>,
    pub(crate) locks: Vec<Lock>,
    /// Fuses that have not fired.
    pub(crate) fuses: usize,
    pub(crate) times: Vec<Timed>,
    pub(crate) problems: Vec<Problem>,
}

type Usage = BTreeMap<(String, Option<String>), (Option<Tokens>, Option<f64>)>;

/// What is measured again and again.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    counted: Option<(Instant, Usage)>,
}

impl Gauges {
    /// Measures now.
    pub(crate) fn look(&mut self, here: &Here) -> Measured {
        let here = &here.again_within(LIMIT);
        let fresh = self.counted.as_ref().is_some_and(|(at, _)| at.elapsed() < COUNTED);
        let depth = if fresh { Depth::Glance } else { Depth::Whole };
        let (mut found, times) = timed(here, &Ask { depth, ..Ask::every(History::Skip) });
        let key = |session: &Session| (session.agent.clone(), session.id.clone());
        if fresh && let Some((_, usage)) = &self.counted {
            for session in &mut found.sessions {
                if let Some((tokens, cost)) = usage.get(&key(session)) {
                    (session.tokens, session.cost_usd) = (*tokens, *cost);
                }
            }
        } else {
            let usage = found.sessions.iter();
            let usage = usage.map(|one| (key(one), (one.tokens, one.cost_usd))).collect();
            self.counted = Some((Instant::now(), usage));
        }
        let spent = |session: &Session| here.host().spent(session.process.as_ref()?).ok();
        let spent = found.each().map(spent).collect();
        let mut problems = found.problems;
        problems.extend(observe::lost(here.host().lost()));
        let locked = locks::locks(here).map(|found| found.locks);
        let locks = locked.unwrap_or_else(|why| {
            problems.push(unread(why.message));
            Vec::new()
        });
        let fuses = fuses::list(here, false).map(|found| found.fuses.len()).unwrap_or_else(|why| {
            problems.push(unread(why.message));
            0
        });
        let sessions = found.sessions.into_iter().map(|session| *session).collect();
        Measured { sessions, spent, locks, fuses, times, problems }
    }
}

fn unread(message: String) -> Problem {
    Problem { agent: "agentctl".to_owned(), path: None, message }
}
