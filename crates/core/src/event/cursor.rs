//! Where whoever was told stands: a text that needs nothing else to go on from.

use super::{
    Key, Look, Mark, Seen, event,
    fuses::Lit,
    gone::gone,
    hash,
    locks::Held,
    mark::Counts,
    telling::{Telling, Told},
};
use crate::{
    evidence::Need,
    wire::{Event, EventKind, LockKind, Session, StateName},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Begins every cursor of this shape.
const VERSION: &str = "c1.";
/// What was written this long ago is read by every look that follows: agents write a line down some
/// moments after the time that stands in it.
const SLACK: SignedDuration = SignedDuration::from_secs(60);

/// Why a text is no cursor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor of this version: {0}")]
pub struct BadCursor(String);

/// Where whoever was told stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Of sessions without a mark, all was told up to here, but for agents that are behind.
    pub floor: Timestamp,
    /// Agents that could not all be read, and up to where all of them was told.
    behind: BTreeMap<String, Timestamp>,
    /// What people asked for since then is news, until all of it was looked at.
    pub(super) news: Timestamp,
    /// Until when somebody looked.
    pub seen: Timestamp,
    /// Every session that was alive has a mark: one without was not.
    pub whole: bool,
    /// What was told of each session last.
    pub marks: BTreeMap<Key, Mark>,
    pub(super) locks: Vec<Held>,
    pub(super) fuses: Vec<Lit>,
    /// Ids of crossings that were told and are still on disk.
    pub(super) budgets: Vec<String>,
}

impl Cursor {
    /// From this moment, of which nothing else is known.
    pub fn since(at: Timestamp) -> Self {
        Self {
            floor: at,
            behind: BTreeMap::new(),
            news: at,
            seen: at,
            whole: false,
            marks: BTreeMap::new(),
            locks: Vec::new(),
            fuses: Vec::new(),
            budgets: Vec::new(),
        }
    }

    /// From what is seen now, as if all of it had been told.
    pub fn now(look: &Look) -> Self {
        let mut cursor = Self { whole: true, ..Self::since(look.at) };
        for seen in unique(look) {
            let mark = Mark::of(seen, look.at);
            if !mark.is_over() {
                cursor.marks.insert(seen.key.clone(), mark);
            }
        }
        cursor.rise(look.at, look);
        cursor.hold(look);
        cursor.fuses = look.fuses.iter().map(Lit::of).collect();
        cursor.overran(look);
        cursor
    }

    /// Nobody watched until now.
    pub fn gap(&mut self, to: Timestamp) -> Event {
        let from = self.seen;
        let to = to.max(from);
        self.seen = to;
        let id = hash::name(&[EventKind::Gap.name(), &from.to_string(), &to.to_string()]);
        let event = Event { from: Some(from), to: Some(to), ..event(EventKind::Gap, id, from) };
        Event { cursor: self.to_text(), ..event }
    }

    /// Nothing else happened until now.
    pub fn here(&self) -> Event {
        let cursor = self.to_text();
        let id = hash::name(&[EventKind::Cursor.name(), &cursor]);
        Event { cursor, ..event(EventKind::Cursor, id, self.seen) }
    }

    /// What happened since, oldest first; each event has the cursor to go on from after it.
    pub fn tell(&mut self, look: &Look) -> Vec<Event> {
        let mut told: Vec<(Key, Told)> = Vec::new();
        let mut after: Vec<(Key, Mark)> = Vec::new();
        let sessions = unique(look);
        for seen in sessions.iter().filter(|seen| seen.settled) {
            let telling = self.telling(seen, look);
            after.push((seen.key.clone(), telling.mark));
            told.extend(telling.told.into_iter().map(|one| (seen.key.clone(), one)));
        }
        for (key, mark) in &self.marks {
            if look.misses(key, mark) && !look.spared.contains(key) {
                let (ended, mark) = gone(key, mark, look);
                after.push((key.clone(), mark));
                told.extend(ended.into_iter().map(|one| (key.clone(), one)));
            }
        }
        told.sort_by(|(a, one), (b, other)| (one.event.at, a).cmp(&(other.event.at, b)));
        let mut events = Vec::new();
        let last: BTreeMap<Key, usize> =
            told.iter().enumerate().map(|(at, (key, _))| (key.clone(), at)).collect();
        let times: Vec<Timestamp> = told.iter().map(|(_, one)| one.event.at).collect();
        for (at, (key, Told { event, mark })) in told.into_iter().enumerate() {
            self.marks.insert(key, mark);
            if look.full && times.get(at + 1).is_some_and(|next| *next > event.at) {
                // All that was before has been told: what ended by then needs no mark any more.
                self.rise(event.at.min(recent(look)), look);
                self.forget(|key| last.get(key).is_some_and(|last| *last > at));
            }
            events.push(Event { cursor: self.to_text(), ..event });
        }
        self.marks.extend(after);
        self.seen = self.seen.max(look.at);
        events.extend(self.locked(look));
        events.extend(self.burnt(look));
        events.extend(self.spent(look));
        self.whole |= look.full;
        if look.full {
            self.rise(recent(look), look);
        }
        self.forget(|_| false);
        if let Some(last) = events.last_mut() {
            last.cursor = self.to_text();
        }
        events
    }

    fn telling<'a>(&self, seen: &'a Seen, look: &Look) -> Telling<'a> {
        let Seen { key, session, story, .. } = seen;
        if let Some(mark) = self.marks.get(key) {
            return Telling::new(key, session, mark.clone()).tell(seen, look, None);
        }
        let (floor, whole) = (self.floor_of(&key.agent), self.is_whole(&key.agent));
        let mut mark = Mark::nothing(floor, story.turn);
        mark.counts.working = u32::from(story.began);
        // Whoever is told only its first step goes on from there, not from the first line.
        mark.upto = story.start;
        let born = session.started_at.filter(|began| *began > floor);
        // What is in no record was not there: when it began is only known to the second.
        let unrecorded = whole && session.live && session.source.is_none();
        let born = born.or(session.started_at.filter(|_| unrecorded));
        if born.is_some() || whole {
            mark.live = Some(false);
        }
        let mut telling = Telling::new(key, session, mark);
        telling.unseen = true;
        telling.tell(seen, look, born)
    }

    /// The key of a session; `local` says that ids that people choose for its agent are unique only per
    /// directory. Where the directory is not known for once, it is the one that is marked.
    pub fn key_of(&self, session: &Session, local: bool) -> Key {
        let key = Key::of(session, local);
        let mut marked =
            self.marks.keys().filter(|one| (&one.agent, &one.id) == (&key.agent, &key.id));
        match (marked.next(), marked.next()) {
            (Some(only), None) if only.dir.is_none() || key.dir.is_none() => only.clone(),
            (Some(_) | None, _) => key,
        }
    }

    /// Up to where all was told of this agent's sessions without a mark.
    pub fn floor_of(&self, agent: &str) -> Timestamp {
        self.behind.get(agent).copied().unwrap_or(self.floor)
    }

    /// Every session of this agent that was alive has a mark.
    fn is_whole(&self, agent: &str) -> bool {
        self.whole && !self.behind.contains_key(agent)
    }

    /// Moves the floor; agents that could not be read stay where they are.
    fn rise(&mut self, to: Timestamp, look: &Look) {
        for agent in &look.unread {
            self.behind.entry(agent.clone()).or_insert(self.floor);
        }
        self.floor = self.floor.max(to);
        let floor = self.floor;
        self.behind.retain(|agent, own| {
            let unread = look.unread.contains(agent);
            *own = if unread { *own } else { to.max(*own) };
            unread || *own < floor
        });
    }

    /// Forgets what is over and lies below the floor.
    fn forget(&mut self, spared: impl Fn(&Key) -> bool) {
        let mut marks = std::mem::take(&mut self.marks);
        marks.retain(|key, mark| {
            spared(key) || !mark.is_over() || mark.at >= self.floor_of(&key.agent)
        });
        self.marks = marks;
    }

    /// As a text.
    pub fn to_text(&self) -> String {
        let marks = self.marks.iter().map(|(key, mark)| Row::of(key, mark)).collect();
        let locks = self.locks.iter().map(Held::to_row).collect();
        let written = Written {
            floor: nanos(self.floor),
            behind: self.behind.iter().map(|(agent, at)| (agent.clone(), nanos(*at))).collect(),
            news: Some(nanos(self.news)),
            seen: nanos(self.seen),
            whole: self.whole,
            marks,
            locks,
            fuses: self.fuses.iter().map(Lit::to_row).collect(),
            budgets: self.budgets.clone(),
        };
        let json = serde_json::to_vec(&written).expect("texts, numbers and lists of them");
        format!("{VERSION}{}", URL_SAFE_NO_PAD.encode(json))
    }

    /// From a text that [`Cursor::to_text`] made.
    pub fn from_text(text: &str) -> Result<Self, BadCursor> {
        let bad = |why: &dyn ToString| BadCursor(why.to_string());
        let body = text.strip_prefix(VERSION).ok_or_else(|| bad(&"it begins otherwise"))?;
        let json = URL_SAFE_NO_PAD.decode(body).map_err(|why| bad(&why))?;
        let written: Written = serde_json::from_slice(&json).map_err(|why| bad(&why))?;
        let mut marks = BTreeMap::new();
        for row in written.marks {
            let (key, mark) = row.read().ok_or_else(|| bad(&"a mark cannot be read"))?;
            marks.insert(key, mark);
        }
        let locks: Option<Vec<Held>> = written.locks.into_iter().map(Held::from_row).collect();
        let fuses: Option<Vec<Lit>> = written.fuses.into_iter().map(Lit::from_row).collect();
        let behind = written.behind.into_iter().map(|(agent, at)| Some((agent, time(at)?)));
        let behind: Option<BTreeMap<String, Timestamp>> = behind.collect();
        Ok(Self {
            floor: time(written.floor).ok_or_else(|| bad(&"no time"))?,
            behind: behind.ok_or_else(|| bad(&"no time"))?,
            news: time(written.news.unwrap_or(written.floor)).ok_or_else(|| bad(&"no time"))?,
            seen: time(written.seen).ok_or_else(|| bad(&"no time"))?,
            whole: written.whole,
            marks,
            locks: locks.ok_or_else(|| bad(&"a lock cannot be read"))?,
            fuses: fuses.ok_or_else(|| bad(&"a fuse cannot be read"))?,
            budgets: written.budgets,
        })
    }

    /// Whether a text is meant to be a cursor, of whatever version.
    pub fn is_meant(text: &str) -> bool {
        let version = text.strip_prefix('c').and_then(|rest| rest.split_once('.'));
        version.is_some_and(|(number, _)| number.parse::<u32>().is_ok())
    }
}

/// What was written before this moment has been read.
fn recent(look: &Look) -> Timestamp {
    look.at.saturating_sub(SLACK).unwrap_or(look.at)
}

/// Each session once, in the order of their keys, however they were found.
fn unique(look: &Look) -> Vec<&Seen> {
    let mut sessions: Vec<&Seen> = look.sessions.iter().collect();
    sessions.sort_by_key(|seen| (&seen.key, !seen.session.live, &seen.session.source));
    sessions.dedup_by_key(|seen| &seen.key);
    sessions
}

#[derive(Serialize, Deserialize)]
struct Written {
    #[serde(rename = "f")]
    floor: i64,
    #[serde(rename = "a", default, skip_serializing_if = "Vec::is_empty")]
    behind: Vec<(String, i64)>,
    #[serde(rename = "i", default)]
    news: Option<i64>,
    #[serde(rename = "s")]
    seen: i64,
    #[serde(rename = "w")]
    whole: bool,
    #[serde(rename = "m")]
    marks: Vec<Row>,
    #[serde(rename = "l")]
    locks: Vec<LockRow>,
    #[serde(rename = "u", default)]
    fuses: Vec<FuseRow>,
    #[serde(rename = "b", default, skip_serializing_if = "Vec::is_empty")]
    budgets: Vec<String>,
}

/// A lock: kind, directory, whose, since when, and its name among events.
pub(super) type LockRow = (bool, String, String, i64, String);

/// A fuse: its name, when it was put off last, and whether it is over.
pub(super) type FuseRow = (String, Option<i64>, bool);

/// A mark; short, since every event carries all of them.
#[derive(Serialize, Deserialize)]
struct Row(
    (String, String, Option<String>),
    (Option<String>, Option<Need>, Option<bool>),
    (Option<i64>, Option<i64>, i64),
    [u32; 4],
    u64,
    (u32, u32),
);

impl Row {
    fn of(key: &Key, mark: &Mark) -> Self {
        let Counts { working, waiting, idle, changed } = mark.counts;
        Self(
            (key.agent.clone(), key.id.clone(), key.dir.clone()),
            (mark.state.map(|state| state.name().to_owned()), mark.need, mark.live),
            (mark.turn.map(nanos), mark.again.map(nanos), nanos(mark.at)),
            [working, waiting, idle, changed],
            mark.upto,
            (mark.process, mark.shown),
        )
    }

    fn read(self) -> Option<(Key, Mark)> {
        let Self((agent, id, dir), (state, need, live), times, counts, upto, hashes) = self;
        let ((turn, again, at), (process, shown)) = (times, hashes);
        let [working, waiting, idle, changed] = counts;
        let named = |name: String| StateName::ALL.into_iter().find(|state| state.name() == name);
        let optional = |at: Option<i64>| at.map_or(Some(None), |at| time(at).map(Some));
        let mark = Mark {
            state: state.map_or(Some(None), |name| named(name).map(Some))?,
            need,
            live,
            process,
            turn: optional(turn)?,
            again: optional(again)?,
            counts: Counts { working, waiting, idle, changed },
            upto,
            at: time(at)?,
            shown,
        };
        Some((Key { agent, id, dir }, mark))
    }
}

impl Held {
    fn to_row(&self) -> LockRow {
        let manual = self.kind == LockKind::Manual;
        let Self { directory, whose, since, name, .. } = self;
        (manual, directory.clone(), whose.clone(), nanos(*since), name.clone())
    }

    fn from_row((manual, directory, whose, since, name): LockRow) -> Option<Self> {
        let kind = if manual { LockKind::Manual } else { LockKind::Session };
        Some(Self { kind, directory, whose, since: time(since)?, name })
    }
}

impl Lit {
    fn to_row(&self) -> FuseRow {
        (self.id.clone(), self.extended.map(nanos), self.over)
    }

    fn from_row((id, extended, over): FuseRow) -> Option<Self> {
        let extended = extended.map_or(Some(None), |at| time(at).map(Some))?;
        Some(Self { id, extended, over })
    }
}

/// Enough for any time from 1677 to 2262; others are moved there.
fn nanos(at: Timestamp) -> i64 {
    let nanos = at.as_nanosecond();
    i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX })
}

fn time(nanos: i64) -> Option<Timestamp> {
    Timestamp::from_nanosecond(nanos.into()).ok()
}
