//! The servers that are listened to between looks. What they tell only says whom to look at.

use crate::host::{Listening, Watch};
use agentctl_core::{ident::ProcKey, observe::Teller, push::Push};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

/// However much servers tell, an agent is not looked at more often than this because of it.
const PAUSE: Duration = Duration::from_millis(150);
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
    /// When each agent was looked at last, or is next, because of what a server told.
    due: BTreeMap<&'static str, Instant>,
}

struct Ear {
    agent: &'static str,
    line: Option<Listening>,
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

    /// Forgets who is gone, of agents that were `looked` at, and says when to look for a line again.
    pub(super) fn seen(
        &mut self,
        tellers: Vec<(&'static str, Teller)>,
        looked: &[String],
    ) -> Vec<(&'static str, Instant)> {
        let lives = |key: &ProcKey| tellers.iter().any(|(_, teller)| teller.process == *key);
        self.all.retain(|key, ear| lives(key) || !looked.iter().any(|agent| agent == ear.agent));
        let now = Instant::now();
        let mut soon = Vec::new();
        for (agent, Teller { process, serves, push }) in tellers {
            let fresh = || Ear::new(agent, now);
            let ear = self.all.entry(process).or_insert_with(fresh);
            if ear.line.is_some() || ear.again > now {
                continue;
            }
            match push {
                Some(push) => {
                    ear.again = now + REST; // somebody is about to listen
                    self.found.push(push);
                }
                None => {
                    ear.fails(now);
                    soon.extend(
                        Some((agent, ear.again)).filter(|_| serves && ear.failures <= STARTS),
                    );
                }
            }
        }
        soon
    }

    /// Begins to listen to those that were found since.
    pub(super) fn listen(&mut self, watch: &Watch) {
        for push in std::mem::take(&mut self.found) {
            if let Some(ear) = self.all.get_mut(&push.process) {
                (ear.heard, ear.begun) = (false, Instant::now());
                ear.line = watch.server(push).ok(); // else it is tried again
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
        Some((ear.agent, due))
    }

    /// A line is over: whose it was, and when to look. One that told something before may have been cut
    /// by what must be seen at once.
    pub(super) fn hushed(&mut self, key: &ProcKey) -> Option<(&'static str, Instant)> {
        let ear = self.all.get_mut(key)?;
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
    fn new(agent: &'static str, now: Instant) -> Self {
        Self { agent, line: None, heard: false, begun: now, failures: 0, again: now }
    }

    fn fails(&mut self, now: Instant) {
        let rest = REST.saturating_mul(1 << self.failures.min(16)).min(LONGEST);
        self.failures += 1;
        self.again = now + rest;
    }
}
