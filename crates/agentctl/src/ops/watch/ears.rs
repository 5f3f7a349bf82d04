//! The servers that are listened to between looks. What they tell only says whom to look at.

use crate::host::{Listening, Watch};
use agentctl_core::{ident::ProcKey, observe::Teller, push::Push};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

/// However much servers tell, an agent is not looked at more often than this because of it.
const PAUSE: Duration = Duration::from_millis(150);
/// When it is looked at once more: a server may say what it is about to do.
const AFTER: Duration = Duration::from_millis(300);
/// How long a process is left alone on which nobody could listen; every further time twice as long.
const REST: Duration = Duration::from_secs(2);
/// So long at most.
const LONGEST: Duration = Duration::from_secs(600);
/// A line that stood for so long has not failed when it ends.
const STOOD: Duration = Duration::from_secs(60);
/// So many times a server that does not listen yet is looked at for that alone.
const STARTS: u32 = 4;

/// All lines, and the processes that have none.
#[derive(Default)]
pub(super) struct Ears {
    all: BTreeMap<ProcKey, Ear>,
    /// Lines that begin once somebody waits for what they tell.
    found: Vec<Push>,
    /// How many lines were begun: each has the number of those before it.
    lines: u64,
    /// When each agent was looked at last, or is next, because of what a server told.
    due: BTreeMap<&'static str, Instant>,
    /// When each is looked at once more.
    after: BTreeMap<&'static str, Instant>,
}

struct Ear {
    agent: &'static str,
    /// It is a server, and may only have to begin to listen.
    serves: bool,
    /// It was found to tell of changes.
    tells: bool,
    line: Option<Listening>,
    /// The number of its newest line.
    number: u64,
    /// Something came since its line was begun.
    heard: bool,
    begun: Instant,
    failures: u32,
    /// When it may be tried again, if there is no line.
    again: Instant,
}

impl Ears {
    /// Processes of which nobody need ask how to listen to them: somebody does, or could not just now.
    pub(super) fn known(&self) -> BTreeSet<ProcKey> {
        let now = Instant::now();
        let rests = |ear: &Ear| ear.line.is_some() || ear.again > now;
        self.all.iter().filter(|(_, ear)| rests(ear)).map(|(key, _)| key.clone()).collect()
    }

    /// Forgets who is gone, of agents that were `looked` at, and says when to look again.
    pub(super) fn seen(
        &mut self,
        tellers: Vec<(&'static str, Teller)>,
        looked: &[String],
    ) -> Vec<(&'static str, Instant)> {
        let lives = |key: &ProcKey| tellers.iter().any(|(_, teller)| teller.process == *key);
        self.all.retain(|key, ear| lives(key) || !looked.iter().any(|agent| agent == ear.agent));
        let now = Instant::now();
        for (agent, Teller { process, serves, push }) in tellers {
            let ear = self.all.entry(process).or_insert_with(|| Ear::new(agent, serves, now));
            if ear.line.is_some() || ear.again > now {
                continue;
            }
            match push {
                Some(push) => {
                    (ear.tells, ear.again) = (true, now + REST); // somebody is about to listen
                    self.found.push(push);
                }
                None => ear.fails(now),
            }
        }
        self.after.retain(|_, due| *due > now);
        let waits = self.all.values().filter(|ear| ear.line.is_none() && ear.is_awaited());
        let waits = waits.map(|ear| (ear.agent, ear.again));
        waits.chain(self.after.iter().map(|(agent, due)| (*agent, *due))).collect()
    }

    /// Begins to listen to those that were found since.
    pub(super) fn listen(&mut self, watch: &Watch) {
        for push in std::mem::take(&mut self.found) {
            if let Some(ear) = self.all.get_mut(&push.process) {
                (ear.heard, ear.begun, ear.number) = (false, Instant::now(), self.lines);
                self.lines += 1;
                ear.line = watch.server(push, ear.number).ok(); // else it is tried again
            }
        }
    }

    /// A process told that something changed: whose it is, and when to look.
    pub(super) fn pushed(&mut self, key: &ProcKey) -> Option<(&'static str, Instant)> {
        let ear = self.all.get_mut(key)?;
        ear.heard = true;
        let now = Instant::now();
        let due = match self.due.get(ear.agent) {
            Some(next) if *next > now => *next,
            Some(last) => now.max(*last + PAUSE),
            None => now,
        };
        self.due.insert(ear.agent, due);
        self.after.insert(ear.agent, due + AFTER);
        Some((ear.agent, due))
    }

    /// A line is over: whose it was, and when to look. One that told something before may have been cut by
    /// what must be seen at once. One that was hung up says so late, and there may be another by then.
    pub(super) fn hushed(&mut self, key: &ProcKey, line: u64) -> Option<(&'static str, Instant)> {
        let ear = self.all.get_mut(key).filter(|ear| ear.number == line)?;
        ear.line = None;
        let now = Instant::now();
        if ear.heard && now.duration_since(ear.begun) > STOOD {
            ear.failures = 0;
        }
        ear.fails(now);
        Some((ear.agent, if ear.heard { now } else { ear.again }))
    }
}

impl Ear {
    fn new(agent: &'static str, serves: bool, now: Instant) -> Self {
        let (tells, line, number, heard, failures) = (false, None, u64::MAX, false, 0);
        Self { agent, serves, tells, line, number, heard, begun: now, failures, again: now }
    }

    /// It is worth a look only for the sake of a line.
    fn is_awaited(&self) -> bool {
        self.tells || self.serves && self.failures <= STARTS
    }

    fn fails(&mut self, now: Instant) {
        let rest = REST.saturating_mul(1 << self.failures.min(16)).min(LONGEST);
        self.failures += 1;
        self.again = now + rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32) -> ProcKey {
        ProcKey { pid, start: 1, boot: "boot".to_owned() }
    }

    fn seen(ears: &mut Ears, serves: bool) -> Vec<(&'static str, Instant)> {
        let teller = Teller { process: process(1), serves, push: None };
        ears.seen(vec![("agent", teller)], &["agent".to_owned()])
    }

    #[test]
    fn however_much_is_told_looks_are_few() {
        let mut ears = Ears::default();
        seen(&mut ears, false);
        let began = Instant::now();
        let mut due: Vec<Instant> =
            (0..10_000).filter_map(|_| Some(ears.pushed(&process(1))?.1)).collect();
        assert_eq!(due.len(), 10_000);
        assert!(due[0] < began + PAUSE, "the first is looked into at once");
        due.dedup();
        assert!(due.windows(2).all(|two| two[1] >= two[0] + PAUSE), "{due:?}");
        assert_eq!(ears.pushed(&process(2)), None);
    }

    #[test]
    fn the_end_of_another_line_ends_none() {
        let mut ears = Ears::default();
        seen(&mut ears, false);
        ears.all.get_mut(&process(1)).expect("it was seen").number = 7;
        assert_eq!(ears.hushed(&process(1), 6), None);
        assert!(ears.hushed(&process(1), 7).is_some());
    }

    #[test]
    fn a_server_that_does_not_listen_is_soon_left_alone() {
        let mut ears = Ears::default();
        assert_eq!(seen(&mut ears, false), [], "a terminal need not listen");
        let mut ears = Ears::default();
        let began = Instant::now();
        let again = seen(&mut ears, true);
        assert!(again.iter().all(|(_, at)| *at >= began + REST) && again.len() == 1, "{again:?}");
        assert_eq!(seen(&mut ears, true), again, "it rests");
        for failures in 2..100 {
            let ear = ears.all.get_mut(&process(1)).expect("it was seen");
            ear.again = Instant::now();
            let awaited = seen(&mut ears, true).len();
            assert_eq!(awaited, usize::from(failures <= STARTS), "{failures}");
        }
        let rest = ears.all[&process(1)].again.duration_since(Instant::now());
        assert!(rest <= LONGEST, "{rest:?}");
        assert_eq!(ears.seen(Vec::new(), &["agent".to_owned()]), []);
        assert!(ears.all.is_empty(), "it is gone");
    }
}
