//! Fuses that were set, put off, taken away and fired.
//!
//! A fuse stays on disk for days after its end, so that each of these is told whoever missed it. Ids hold its name
//! and its times: one that is fired twice, because somebody was killed in between, fires under one id.

use super::{Cursor, Look, event, hash};
use crate::{
    fuse::Fuse,
    wire::{self, Event, EventKind},
};
use jiff::Timestamp;

/// What was told of a fuse last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lit {
    pub(super) id: String,
    /// When it was put off last.
    pub(super) extended: Option<Timestamp>,
    /// It fired, or was cancelled.
    pub(super) over: bool,
}

impl Lit {
    /// All of it was told.
    pub(super) fn of(fuse: &Fuse) -> Self {
        Self { id: fuse.id.clone(), extended: fuse.extended_at, over: !fuse.is_set() }
    }
}

impl Cursor {
    /// What became of fuses since.
    pub(super) fn burnt(&mut self, look: &Look) -> Vec<Event> {
        let mut fuses: Vec<&Fuse> = look.fuses.iter().collect();
        fuses.sort_by(|one, other| one.id.cmp(&other.id));
        fuses.dedup_by(|one, other| one.id == other.id);
        let mut events = Vec::new();
        for fuse in fuses {
            let at = self.fuses.iter().position(|lit| lit.id == fuse.id).unwrap_or_else(|| {
                self.fuses.push(Lit { id: fuse.id.clone(), extended: None, over: false });
                let told = self.is_new(fuse.set_at).then_some((EventKind::FuseSet, fuse.set_at));
                events.extend(told.map(|told| self.fuse_event(told, fuse, look)));
                self.fuses.len() - 1
            });
            if let Some(when) =
                fuse.extended_at.filter(|at_all| self.fuses[at].extended != Some(*at_all))
            {
                self.fuses[at].extended = Some(when);
                let told = self.is_new(when).then_some((EventKind::FuseExtended, when));
                events.extend(told.map(|told| self.fuse_event(told, fuse, look)));
            }
            let fired = fuse.fired.as_ref().map(|fired| (EventKind::FuseFired, fired.at));
            let over = fired.or(fuse.cancelled_at.map(|at| (EventKind::FuseCancelled, at)));
            if let Some(told) = over.filter(|_| !self.fuses[at].over) {
                self.fuses[at].over = true;
                events.extend(self.is_new(told.1).then(|| self.fuse_event(told, fuse, look)));
            }
        }
        // One that is set may be broken for a moment; what is over is swept one day.
        self.fuses.retain(|lit| !lit.over || look.fuses.iter().any(|fuse| fuse.id == lit.id));
        events
    }

    /// It cannot have been told before.
    fn is_new(&self, at: Timestamp) -> bool {
        self.whole || at > self.news
    }

    fn fuse_event(&self, (kind, at): (EventKind, Timestamp), fuse: &Fuse, look: &Look) -> Event {
        // The first deadline is not kept once it was put off.
        let time = if kind == EventKind::FuseSet { fuse.set_at } else { fuse.deadline };
        let id = hash::name(&[kind.name(), &fuse.id, &time.to_string()]);
        let fuse = Some(wire::Fuse::new(fuse, look.at));
        Event { fuse, cursor: self.to_text(), ..event(kind, id, at) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuse::{Action, Fired, SCHEMA, Target};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn fuse(id: &str) -> Fuse {
        Fuse {
            schema: SCHEMA,
            id: id.to_owned(),
            target: Target::Directory("/work".into()),
            set_at: at(10),
            deadline: at(100),
            extended_at: None,
            action: Action::Event,
            limit: None,
            label: None,
            fired: None,
            cancelled_at: None,
        }
    }

    fn look(second: i64, fuses: &[Fuse]) -> Look {
        Look { full: true, fuses: fuses.to_vec(), ..Look::nothing(at(second)) }
    }

    fn told(events: &[Event]) -> Vec<(&'static str, String)> {
        events.iter().map(|event| (event.kind.name(), event.id.clone())).collect()
    }

    fn kinds(events: &[Event]) -> Vec<&'static str> {
        events.iter().map(|event| event.kind.name()).collect()
    }

    /// Whoever looks at every step, and whoever looks once at the end from any line on, tell the same.
    #[test]
    fn each_step_is_told_once_whoever_looks_and_when() {
        let set = fuse("f-1");
        let off = Fuse { deadline: at(200), extended_at: Some(at(50)), ..set.clone() };
        let fired = Fuse { fired: Some(Fired { at: at(201), problem: None }), ..off.clone() };
        let begin = Cursor::now(&look(5, &[]));
        let (mut cursor, mut all) = (begin.clone(), Vec::new());
        for (second, fuse) in [(11, &set), (51, &off), (202, &fired), (203, &fired)] {
            all.extend(cursor.tell(&look(second, std::slice::from_ref(fuse))));
        }
        assert_eq!(kinds(&all), ["fuse.set", "fuse.extended", "fuse.fired"]);
        let later = begin.clone().tell(&look(300, std::slice::from_ref(&fired)));
        assert_eq!(told(&later), told(&all));
        for (line, event) in all.iter().enumerate() {
            let mut rest = Cursor::from_text(&event.cursor).unwrap();
            let rest = rest.tell(&look(300, std::slice::from_ref(&fired)));
            assert_eq!(told(&rest), told(&all[line + 1..]));
        }
    }

    /// A file that cannot be read for a while is not taken for cancelled, and is told again by nobody.
    #[test]
    fn what_is_broken_is_not_cancelled() {
        let mut cursor = Cursor::now(&look(5, &[fuse("f-1")]));
        assert_eq!(cursor.tell(&look(20, &[])), []);
        assert_eq!(cursor.tell(&look(21, &[fuse("f-1")])), []);
        let cancelled = Fuse { cancelled_at: Some(at(22)), ..fuse("f-1") };
        let events = cursor.tell(&look(23, &[cancelled]));
        assert_eq!((kinds(&events), events[0].at), (vec!["fuse.cancelled"], at(22)));
        assert_eq!(cursor.tell(&look(24, &[])), []);
        assert!(cursor.fuses.is_empty(), "it is swept, and forgotten");
    }

    /// From a time on, only what came since is told.
    #[test]
    fn what_was_before_is_not_told() {
        let old = Fuse { fired: Some(Fired { at: at(30), problem: None }), ..fuse("f-1") };
        let new = Fuse { set_at: at(60), ..fuse("f-2") };
        assert_eq!(
            kinds(&Cursor::since(at(20)).tell(&look(70, &[old.clone(), new.clone()]))),
            ["fuse.fired", "fuse.set"]
        );
        assert_eq!(kinds(&Cursor::since(at(30)).tell(&look(70, &[old, new]))), ["fuse.set"]);
    }
}
