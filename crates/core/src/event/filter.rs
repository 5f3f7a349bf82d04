//! Which events are wanted.

use crate::{
    fuse::Target,
    select::Wanted,
    wire::{Event, EventKind},
};
use std::path::PathBuf;

/// Which events to keep: of each kind of word one must fit, if there is any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    kinds: Vec<EventKind>,
    /// Names of agents.
    pub agents: Vec<String>,
    states: Vec<Wanted>,
    groups: Vec<String>,
    /// Sessions that make no progress, or those that do.
    stalled: Vec<bool>,
    /// Directories, with all below them.
    pub dirs: Vec<PathBuf>,
}

impl Filter {
    /// Adds words such as `type=session.ended,agent=codex`; an error says what is wrong with them.
    pub fn add(&mut self, words: &str) -> Result<(), String> {
        for word in words.split(',').filter(|word| !word.is_empty()) {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            if value.is_empty() {
                return Err(format!("{word:?} is not of the form name=value"));
            }
            match name {
                "type" => self.kinds.extend(kinds(value)?),
                "agent" | "adapter" => self.agents.push(value.to_owned()),
                "state" => {
                    let wanted = Wanted::state(value);
                    let words =
                        || format!("no such state: {value:?}; {}", Wanted::words().join(", "));
                    self.states.push(wanted.ok_or_else(words)?);
                }
                "group" => self.groups.push(value.to_owned()),
                "stalled" => {
                    let wanted = value.parse();
                    let wrong = |_| format!("stalled={value}: it is true or false");
                    self.stalled.push(wanted.map_err(wrong)?);
                }
                "cwd" => self.dirs.push(PathBuf::from(value)),
                _ => {
                    return Err(format!(
                        "cannot filter by {name:?}: type, agent, state, stalled, group or cwd"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whether an event is wanted. Gaps always are: they say that others may be missing.
    pub fn keeps(&self, event: &Event) -> bool {
        if matches!(event.kind, EventKind::Gap | EventKind::Cursor) {
            return true;
        }
        let (session, lock) = (event.session.as_deref(), event.lock.as_ref());
        let (burnt, place) = match event.fuse.as_ref().map(|fuse| &fuse.target) {
            Some(Target::Session { agent, .. }) => (Some(agent), None),
            Some(Target::Directory(dir)) => (None, Some(dir)),
            None => (None, None),
        };
        let agent = session.map(|session| &session.agent);
        let spent = event.budget.as_ref().map(|budget| &budget.agent);
        let agent = agent.or(spent).or(lock.and_then(|lock| lock.agent.as_ref())).or(burnt);
        let group = session.and_then(|session| session.group.as_ref());
        let stalled = session.map(|session| session.stall.is_some());
        let cwd = session.and_then(|session| session.cwd.as_ref());
        let dir = cwd.or(lock.map(|lock| &lock.directory)).or(place);
        let state = |wanted: &Wanted| match (wanted, event.after) {
            (Wanted::State(state), Some(after)) => *state == after,
            (Wanted::Status(status), Some(after)) => *status == after.status(),
            (Wanted::State(_) | Wanted::Status(_), None) => false,
        };
        let is_in = |dirs: &PathBuf| dir.is_some_and(|dir| dir.starts_with(dirs));
        (self.kinds.is_empty() || self.kinds.contains(&event.kind))
            && (self.agents.is_empty() || agent.is_some_and(|agent| self.agents.contains(agent)))
            && (self.states.is_empty() || self.states.iter().any(state))
            && (self.stalled.is_empty() || stalled.is_some_and(|is| self.stalled.contains(&is)))
            && (self.groups.is_empty() || group.is_some_and(|group| self.groups.contains(group)))
            && (self.dirs.is_empty() || self.dirs.iter().any(is_in))
    }
}

/// A kind by its name, or all of a family: `session` or `session.*`.
fn kinds(word: &str) -> Result<Vec<EventKind>, String> {
    let family = word.strip_suffix(".*").unwrap_or(word);
    let of = |kind: &EventKind| {
        let below = kind.name().strip_prefix(family).is_some_and(|rest| rest.starts_with('.'));
        kind.name() == word || below
    };
    let found: Vec<EventKind> = EventKind::ALL.into_iter().filter(of).collect();
    let names = EventKind::ALL.map(EventKind::name).join(", ");
    (!found.is_empty()).then_some(found).ok_or_else(|| format!("no such type: {word:?}; {names}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        derive::derive,
        evidence::Evidence,
        wire::{Around, Doing, Session, Stall, StateName},
    };
    use jiff::Timestamp;

    #[test]
    fn words_are_read() {
        let read = |words: &str| {
            let mut filter = Filter::default();
            filter.add(words).map(|()| filter)
        };
        let filter = read("type=session.ended,type=lock,agent=codex").unwrap();
        let kinds = [EventKind::Ended, EventKind::LockTaken, EventKind::LockReleased];
        assert_eq!((filter.kinds, filter.agents), (kinds.to_vec(), vec!["codex".to_owned()]));
        assert_eq!(read("type=session.*").unwrap().kinds.len(), 6);
        assert_eq!(read("stalled=true").unwrap().stalled, [true]);
        assert_eq!(read("").unwrap(), Filter::default());
        for wrong in
            ["type", "type=", "type=sess", "state=up", "pid=1", "stalled=1", "type=session.endedx"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    fn of(agent: &str) -> Session {
        let seen = Evidence::none(agent, Some("s".to_owned()));
        let verdict = derive(&seen);
        Session::new(seen, verdict, Around::default())
    }

    /// Which of these words keep an event: all of them are about what happened to it.
    fn kept<'a>(event: &Event, words: &[&'a str]) -> Vec<&'a str> {
        let keeps = |words: &&&str| {
            let mut filter = Filter::default();
            filter.add(words).expect("words that can be read");
            filter.keeps(event)
        };
        words.iter().filter(keeps).copied().collect()
    }

    #[test]
    fn each_kind_of_word_must_fit() {
        let happened = |kind| super::super::event(kind, String::new(), Timestamp::UNIX_EPOCH);
        let stall = Stall { since: Timestamp::UNIX_EPOCH, doing: Doing::Tool, after: None };
        let (cwd, group) = (Some("/work/a".into()), Some("g".to_owned()));
        let session = Session { cwd, group, stall: Some(stall), ..of("pi") };
        let event = Event {
            session: Some(Box::new(session)),
            after: Some(StateName::Died),
            ..happened(EventKind::Ended)
        };
        let fit = [
            "type=session",
            "type=session.ended",
            "agent=pi",
            "state=died",
            "state=error",
            "group=g",
            "stalled=true",
            "cwd=/work",
            "state=done,state=died,cwd=/other,cwd=/work/a",
        ];
        let others = [
            "type=lock",
            "agent=codex",
            "state=done",
            "state=running",
            "group=h",
            "stalled=false",
            "cwd=/wor",
        ];
        assert_eq!(kept(&event, &fit), fit);
        assert_eq!(kept(&event, &others), [""; 0]);
        // One kind that does not fit is enough.
        let all = fit.join(",");
        let spoiled = others.map(|other| {
            let kind = other.split('=').next().unwrap_or_default();
            let rest = fit.iter().filter(|word| !word.contains(kind));
            rest.copied().chain([other]).collect::<Vec<_>>().join(",")
        });
        let both = [all.as_str(), "adapter=pi"];
        assert_eq!(kept(&event, &both), both);
        assert_eq!(kept(&event, &spoiled.each_ref().map(String::as_str)), [""; 0]);
        // Gaps say that others may be missing.
        for kind in [EventKind::Gap, EventKind::Cursor] {
            assert_eq!(kept(&happened(kind), &others), others);
        }
        assert_eq!(
            kept(&happened(EventKind::Ended), &["state=died", "stalled=false", "cwd=/"]),
            [""; 0]
        );
    }
}
