//! What the daemon's threads share.

use super::{hub::Hub, log::Log};
use crate::ops::{self, Here};
use agentctl_core::wire::{Daemon, Problem, SCHEMA};
use jiff::Timestamp;
use std::{
    collections::BTreeMap,
    env,
    path::PathBuf,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// So many troubles are kept for whoever asks.
const TROUBLES: usize = 20;
/// What did not happen again for so long is over.
const OVER: Duration = Duration::from_secs(600);

/// What this daemon is.
pub(super) struct Nature {
    pub(super) portable: bool,
    pub(super) socket: PathBuf,
    /// Where its lines go, if it runs away from whoever started it.
    pub(super) log_path: Option<PathBuf>,
}

/// What went wrong.
#[derive(Default)]
struct Troubles {
    /// Until the daemon ends.
    lasting: Vec<Problem>,
    /// Each with when it was last seen.
    passing: Vec<(Problem, Instant)>,
    /// What the watcher finds wrong as it looks.
    seen: Vec<Problem>,
}

impl Troubles {
    fn forget(&mut self) {
        self.passing.retain(|(_, last)| last.elapsed() < OVER);
        let old = self.passing.len().saturating_sub(TROUBLES);
        self.passing.drain(..old);
    }
}

/// What all threads have.
pub(super) struct Shared {
    pub(super) portable: bool,
    pub(super) since: Timestamp,
    /// It runs in the foreground of somebody who wants to be told that it lives: he starts it anew.
    pub(super) supervised: bool,
    pub(super) socket: PathBuf,
    pub(super) log: Log,
    pub(super) log_path: Option<PathBuf>,
    pub(super) hub: Hub,
    troubles: Mutex<Troubles>,
    /// When each thread that must not hang was last seen.
    pulses: Mutex<BTreeMap<&'static str, Instant>>,
    ends: (Mutex<bool>, Condvar),
    ending: AtomicBool,
}

impl Shared {
    pub(super) fn new(nature: Nature, log: Log) -> Self {
        let Nature { portable, socket, log_path } = nature;
        Self {
            portable,
            since: Timestamp::now(),
            supervised: log_path.is_none() && env::var_os("NOTIFY_SOCKET").is_some(),
            socket,
            log,
            log_path,
            hub: Hub::default(),
            troubles: Mutex::default(),
            pulses: Mutex::default(),
            ends: (Mutex::new(false), Condvar::new()),
            ending: AtomicBool::new(false),
        }
    }

    /// This machine at this moment.
    pub(super) fn here(&self, limit: Option<Duration>) -> Here {
        Here::new(self.portable, limit)
    }

    /// Something could not be read or done: told in the log, and for a while to whoever asks how it is.
    pub(super) fn trouble(&self, problem: Problem) {
        let mut troubles = locked(&self.troubles);
        troubles.forget();
        let known = troubles.passing.iter_mut().find(|(known, _)| *known == problem);
        match known {
            Some((_, last)) => *last = Instant::now(),
            None => {
                self.log.say(&line(&problem));
                troubles.passing.push((problem, Instant::now()));
            }
        }
    }

    /// The same for what stays as it is until the daemon ends.
    pub(super) fn lasting(&self, problem: Problem) {
        let mut troubles = locked(&self.troubles);
        if !troubles.lasting.contains(&problem) {
            self.log.say(&line(&problem));
            troubles.lasting.push(problem);
        }
    }

    /// All that the watcher finds wrong now; what it found before and does not any more is over.
    pub(super) fn seen(&self, problems: Vec<Problem>) {
        let mut troubles = locked(&self.troubles);
        for problem in problems.iter().filter(|problem| !troubles.seen.contains(problem)) {
            self.log.say(&line(problem));
        }
        troubles.seen = problems;
    }

    /// The same for what is about no agent.
    pub(super) fn own_trouble(&self, path: Option<PathBuf>, message: impl Into<String>) {
        self.trouble(own(path, message));
    }

    /// This thread goes on.
    pub(super) fn beat(&self, thread: &'static str) {
        locked(&self.pulses).insert(thread, Instant::now());
    }

    /// All threads that must not hang were seen within this time.
    pub(super) fn is_well(&self, within: Duration) -> bool {
        locked(&self.pulses).values().all(|last| last.elapsed() < within)
    }

    /// How it is.
    pub(super) fn told(&self) -> Daemon {
        let stores = ops::list::places(&self.here(None)).into_iter();
        Daemon {
            schema: SCHEMA,
            running: true,
            pid: Some(std::process::id()),
            version: Some(super::VERSION.to_owned()),
            protocol: Some(super::PROTOCOL),
            since: Some(self.since),
            socket: Some(self.socket.clone()),
            log: self.log_path.clone(),
            watches: stores.filter(|(_, _, there)| *there).map(|(_, path, _)| path).collect(),
            problems: self.problems(),
        }
    }

    fn problems(&self) -> Vec<Problem> {
        let mut troubles = locked(&self.troubles);
        troubles.forget();
        let passing = troubles.passing.iter().map(|(problem, _)| problem);
        let seen = troubles.seen.iter().take(TROUBLES);
        troubles.lasting.iter().chain(passing).chain(seen).cloned().collect()
    }

    /// It is to end.
    pub(super) fn end(&self) {
        self.ending.store(true, Ordering::Relaxed);
        *locked(&self.ends.0) = true;
        self.ends.1.notify_all();
    }

    /// Nothing new is begun.
    pub(super) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed)
    }

    /// Waits until it is to end, for so long; true is that it is.
    pub(super) fn ends_within(&self, time: Duration) -> bool {
        let ends = locked(&self.ends.0);
        let waited = self.ends.1.wait_timeout_while(ends, time, |ends| !*ends);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// What is about no agent.
pub(super) fn own(path: Option<PathBuf>, message: impl Into<String>) -> Problem {
    Problem { agent: "agentctl".to_owned(), path, message: message.into() }
}

fn line(problem: &Problem) -> String {
    let place = problem.path.as_ref().map(|path| format!(" {}:", path.display()));
    format!("problem: {}:{} {}", problem.agent, place.unwrap_or_default(), problem.message)
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passed_is_forgotten_and_what_lasts_is_not() {
        let Some(long_ago) = Instant::now().checked_sub(OVER) else { return };
        let mut troubles = Troubles {
            lasting: vec![own(None, "lasts")],
            passing: vec![(own(None, "old"), long_ago), (own(None, "new"), Instant::now())],
            seen: Vec::new(),
        };
        troubles.forget();
        let left: Vec<&str> =
            troubles.passing.iter().map(|(problem, _)| problem.message.as_str()).collect();
        assert_eq!((left, troubles.lasting.len()), (vec!["new"], 1));
    }
}
