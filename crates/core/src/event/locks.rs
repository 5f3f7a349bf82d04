//! Locks that came and went.

use super::{Cursor, Key, Look, Mark, event, hash};
use crate::wire::{Event, EventKind, Lock, LockKind};
use jiff::Timestamp;
use std::path::PathBuf;

/// A lock that was told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) kind: LockKind,
    pub(super) directory: String,
    /// Agent and session, or the person.
    pub(super) whose: String,
    pub(super) since: Timestamp,
    /// What both of its events are named after.
    pub(super) name: String,
}

impl Cursor {
    /// Takes all that is locked as told.
    pub(super) fn hold(&mut self, look: &Look) {
        let held: Vec<Held> = self.now_held(look).into_iter().map(|(held, _)| held).collect();
        self.locks.extend(held);
    }

    /// Each lock once. A process that has named no session will lock under another name in a moment.
    fn now_held<'a>(&self, look: &'a Look) -> Vec<(Held, &'a Lock)> {
        let named = |lock: &&Lock| lock.kind == LockKind::Manual || lock.session_id.is_some();
        let locks = look.locks.iter().filter(named);
        let mut now: Vec<(Held, &Lock)> = locks.map(|lock| (self.held(lock), lock)).collect();
        now.sort_by(|(a, _), (b, _)| (&a.directory, &a.whose).cmp(&(&b.directory, &b.whose)));
        now.dedup_by(|(a, _), (b, _)| a.is(b));
        now
    }

    /// What was locked and opened since.
    pub(super) fn locked(&mut self, look: &Look) -> Vec<Event> {
        let mut now = self.now_held(look);
        now.retain(|(held, _)| !is_unsettled(held, look));
        let mut events = Vec::new();
        for held in self.locks.clone() {
            let stays = now.iter().any(|(other, _)| other.is(&held));
            if !stays && !is_unsettled(&held, look) && self.is_released(&held, look) {
                self.locks.retain(|other| *other != held);
                events.push(self.lock_event(EventKind::LockReleased, look.at, &held, None));
            }
        }
        for (held, lock) in now {
            if self.locks.iter().any(|known| known.is(&held)) {
                continue;
            }
            self.locks.push(held.clone());
            let new = held.kind == LockKind::Manual && held.since > self.news;
            if !self.whole && !new {
                continue; // it may have been there before
            }
            let at = if held.kind == LockKind::Manual { held.since } else { look.at };
            events.push(self.lock_event(EventKind::LockTaken, at, &held, Some(lock)));
        }
        events
    }

    /// It is known to be over, and not only unseen: its session is elsewhere or has ended.
    fn is_released(&self, held: &Held, look: &Look) -> bool {
        if held.kind == LockKind::Manual {
            return look.people;
        }
        let own = |key: &&Key| held.is_by(key);
        let mut found = look.sessions.iter().filter(|seen| own(&&seen.key)).peekable();
        if found.peek().is_some() {
            return found.all(|seen| !seen.session.live || seen.session.cwd.is_some());
        }
        let lives = |(key, mark): (&Key, &Mark)| own(&key) && !mark.is_over();
        look.agents.iter().any(|agent| held.is_of(agent)) && !self.marks.iter().any(lives)
    }

    fn held(&self, lock: &Lock) -> Held {
        let directory = lock.directory.to_string_lossy().into_owned();
        let session = lock.session_id.clone().unwrap_or_default();
        let whose = match (lock.kind, &lock.agent) {
            (LockKind::Session, Some(agent)) => format!("{agent}/{session}"),
            (LockKind::Session, None) => session.clone(),
            (LockKind::Manual, _) => lock.by.clone().unwrap_or_default(),
        };
        let of =
            |(agent, id): (&String, &String)| Some(agent) == lock.agent.as_ref() && *id == session;
        let mark = self.marks.iter().find(|(key, _)| of((&key.agent, &key.id)));
        // A session may come back to a directory, and then locks it anew.
        let run = mark.map(|(_, mark)| mark.again);
        let since = match lock.kind {
            LockKind::Manual => lock.since.to_string(),
            LockKind::Session => format!("{run:?}"),
        };
        let name = hash::name(&[&directory, &whose, &since]);
        Held { kind: lock.kind, directory, whose, since: lock.since, name }
    }

    fn lock_event(
        &self,
        kind: EventKind,
        at: Timestamp,
        held: &Held,
        lock: Option<&Lock>,
    ) -> Event {
        let id = hash::name(&[kind.name(), &held.name]);
        let lock = lock.cloned().unwrap_or_else(|| held.lock());
        Event { lock: Some(lock), cursor: self.to_text(), ..event(kind, id, at) }
    }
}

impl Held {
    fn is(&self, other: &Self) -> bool {
        let same = (self.kind, &self.directory, &self.whose);
        let renewed = self.kind == LockKind::Manual && self.since != other.since;
        same == (other.kind, &other.directory, &other.whose) && !renewed
    }

    fn is_by(&self, key: &Key) -> bool {
        self.kind == LockKind::Session && format!("{}/{}", key.agent, key.id) == self.whose
    }

    fn is_of(&self, agent: &str) -> bool {
        self.whose.strip_prefix(agent).is_some_and(|rest| rest.starts_with('/'))
    }

    /// As it was, as far as its mark tells.
    fn lock(&self) -> Lock {
        let session = self.whose.split_once('/').filter(|_| self.kind == LockKind::Session);
        Lock {
            directory: PathBuf::from(&self.directory),
            kind: self.kind,
            session_id: session.map(|(_, id)| id.to_owned()),
            agent: session.map(|(agent, _)| agent.to_owned()),
            pid: None,
            by: (self.kind == LockKind::Manual).then(|| self.whose.clone()),
            reason: None,
            since: self.since,
        }
    }
}

/// Its session is told of later, and the lock with it.
fn is_unsettled(held: &Held, look: &Look) -> bool {
    look.sessions.iter().any(|seen| !seen.settled && held.is_by(&seen.key))
        || look.spared.iter().any(|key| held.is_by(key))
}
