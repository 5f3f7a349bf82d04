//! What live processes say when asked, and the sessions that a held session spawned.

use super::{Candidate, Live, Survey};
use crate::{
    agent::{About, Claim, Server, Trail},
    evidence::{Ground, Reading, Role, Suspect, Turn},
    ident::ProcKey,
    proof::Source,
    push::Push,
};
use std::path::Path;

impl Survey<'_> {
    /// Asks the processes that may serve this store what they run.
    pub(super) fn asked(&mut self, store: &Path) {
        for at in 0..self.live.len() {
            let process = &self.live[at];
            if !process.may_serve(store) {
                continue;
            }
            let (key, serves) = (process.key.clone(), process.serves());
            let server = Server { process: &key, since: process.since, serves };
            match self.agent.serves(self.host, store, &server) {
                Ok(None) => {}
                Ok(Some(claims)) => {
                    // A terminal also shows a session that does not run; a server only runs them.
                    self.live[at].told |= serves;
                    self.live[at].answers |= serves;
                    for claim in claims {
                        self.follow(store, claim);
                    }
                }
                Err(why) => {
                    self.live[at].silent = Some(why.to_string());
                    self.problem(None, format!("{key} does not say what it runs: {why}"));
                }
            }
        }
    }

    /// Live processes that may serve, and how each tells of changes unasked, if it does. Of those that
    /// are `known` nothing is asked.
    pub fn tellers(&self, known: impl Fn(&ProcKey) -> bool) -> Vec<Teller> {
        let mut tellers: Vec<Teller> = Vec::new();
        for process in &self.live {
            let stores: Vec<_> = self.stores.iter().filter(|at| process.may_serve(at)).collect();
            if stores.is_empty() || tellers.iter().any(|one| one.process == process.key) {
                continue;
            }
            let serves = process.serves();
            let server = Server { process: &process.key, since: process.since, serves };
            let push = match known(&process.key) {
                true => None,
                false => {
                    stores.iter().find_map(|store| self.agent.pushes(self.host, store, &server))
                }
            };
            tellers.push(Teller { process: process.key.clone(), serves, push });
        }
        tellers
    }

    /// A process that holds a session holds those it spawned since the process began, and theirs.
    pub(super) fn spawned(&mut self) {
        let mut at = 0;
        while let Some(parent) = self.candidates.get(at) {
            at += 1;
            let Some(id) = parent.id.clone().filter(|_| parent.is_held()) else { continue };
            let (store, holders) = (parent.store.clone(), parent.holders.clone());
            let spawned = match self.agent.spawned(self.host, &store, &id) {
                Ok(spawned) => spawned,
                Err(_) => {
                    // Whatever was written since they began may be one that they spawned. Who reads that says why
                    // nothing can be read.
                    let is_theirs = |one: &&Live| holders.iter().any(|held| held.key == one.key);
                    self.strangers.extend(self.live.iter().filter(is_theirs).cloned());
                    continue;
                }
            };
            for (stub, source) in spawned {
                for holder in holders.iter().filter(|holder| holder.since <= stub.updated) {
                    let trail = Trail::Known(holder.key.clone());
                    let (session, about) = (stub.id.clone(), About::default());
                    // No surer than what joined its parent with the process.
                    let source = match &holder.trail {
                        inferred @ Source::Inference { .. } => inferred.clone(),
                        _ => source.clone(),
                    };
                    self.follow(&store, Claim { session, trail, source, about });
                }
            }
        }
    }

    /// A server of this store told every session that it runs.
    pub(super) fn is_answered(&self, store: &Path) -> bool {
        self.live.iter().any(|process| process.answers && process.uses(store))
    }

    /// Servers under which an open turn began, and which know nothing of it: it begins or ends at this
    /// moment, and what was asked and what was read are not of the same one. Where other processes
    /// run sessions too, it may be theirs.
    pub(super) fn between_answers<'s>(
        &'s self,
        candidate: &'s Candidate,
        record: &Reading,
    ) -> impl Iterator<Item = &'s Live> {
        let began = match record {
            Reading::Read(record) => match record.turn {
                Turn::Open { alive, .. } if !self.agent.card().infers => Some(alive),
                Turn::Open { .. } | Turn::None | Turn::Ended { .. } => None,
            },
            Reading::Absent | Reading::Failed { .. } => None,
        };
        let own = move |process: &&Live| {
            let began = began.is_some_and(|began| process.may_hold(&candidate.store, began));
            process.answers && began
        };
        self.live.iter().filter(own)
    }
}

/// A live process that may tell of changes unasked.
pub struct Teller {
    /// Which.
    pub process: ProcKey,
    /// It is a server, and will listen if it does not yet.
    pub serves: bool,
    /// How it tells, if it does and was not known before.
    pub push: Option<Push>,
}

impl Live {
    /// It may answer for this store.
    fn may_serve(&self, store: &Path) -> bool {
        match self.role {
            Some(Role::Server | Role::Interactive) => self.judged && self.uses(store),
            Some(Role::Headless | Role::Piped | Role::Background) | None => false,
        }
    }

    pub(super) fn suspected_for(&self, ground: Ground) -> Suspect {
        Suspect { key: self.key.clone(), since: self.since, silent: self.silent.clone(), ground }
    }
}
