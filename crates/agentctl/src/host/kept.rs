//! Records that were read before, kept so that a file which did not change need not be read again.
//!
//! Only what a reader made of one file's bytes is here, never what state a session is in; the whole folder
//! may be deleted at any moment. See `docs/decisions/0011-record-cache.md`.

mod draft;
mod names;
mod record;
mod shard;

use crate::{places, read, write};
use agentctl_core::{
    agent::Depth,
    evidence::Record,
    host::{Before, Counting, Looked, Original, Stat},
};
pub(super) use names::Names;

use draft::{Draft, Fresh};
use jiff::{SignedDuration, Timestamp};
use rustix::process::{Resource, getrlimit};
use shard::{Found, MOST, Shard};
use std::{
    cell::RefCell,
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

/// Below the directory of caches.
const FOLDER: &str = "records";
/// Few enough to be opened all, many enough that one session that changed has little written anew.
const SHARDS: usize = 32;
/// Behind them: what every list asks for, together in one short file.
const LIVE: usize = SHARDS;
/// As long as that may grow: a hundred live sessions. It is written whole.
const LIVE_MOST: usize = 256 << 10;
/// A file that was touched so shortly before the look may be written to again under the same date: file systems
/// date by clocks that stand still for a while, some for two seconds.
const RACY: SignedDuration = SignedDuration::from_secs(3);
/// Of a stamp: device and number, by which a file is known.
const IDENTITY: usize = 16;
/// With fewer descriptors nothing is kept: two for each file, and as many again for all else that is open.
const DESCRIPTORS: u64 = 4 * (SHARDS as u64 + 1);
/// Nobody writes one file for so long.
const LEFT: SignedDuration = SignedDuration::from_hours(1);

/// The records of earlier commands, and of this one.
#[derive(Debug)]
pub(super) struct Kept {
    /// Before any file was looked at.
    began: Timestamp,
    dir: Option<PathBuf>,
    live: Shelf,
    /// Made for whoever asks for history: a glance need not have room for it.
    past: OnceLock<Box<[Shelf; SHARDS]>>,
    may_write: OnceLock<bool>,
}

/// One file of records: as it was found, and as it is to be.
#[derive(Debug, Default)]
struct Shelf {
    shard: OnceLock<Shard>,
    draft: Mutex<Option<Draft>>,
}

impl Kept {
    /// Nothing is read yet.
    pub(super) fn new() -> Self {
        let dir = places::cache().filter(|_| has_descriptors());
        Self::at(dir.map(|dir| dir.join(FOLDER)), Timestamp::now())
    }

    pub(super) fn at(dir: Option<PathBuf>, began: Timestamp) -> Self {
        let (past, may_write) = (OnceLock::new(), OnceLock::new());
        Self { began, dir, live: Shelf::default(), past, may_write }
    }

    /// What was read from this before.
    pub(super) fn recall(&self, original: &Original<'_>) -> Option<Record> {
        let name = name(original)?;
        let shard = self.shard(place_of(original, &name))?;
        let (path, brief) = (&original.stub.path, original.brief);
        in_room(|room| {
            let found = shard.record(&name, &stamp(original), room)?;
            let (place, record) = (found.place, record::record(found.record, path, brief)?);
            let last = match brief {
                true => None,
                false => last_in(shard.rest(&place, room)?)?,
            };
            Some(Record { last, ..record })
        })
    }

    /// Keeps what was read from this.
    pub(super) fn keep(&self, original: &Original<'_>, record: &Record) {
        let mut all = original.beside.iter().flatten().chain([&original.stat]);
        let Some(name) = name(original).filter(|_| all.all(|stat| self.is_settled(stat))) else {
            return;
        };
        if let Some(bytes) = record::bytes(record, &original.stub.path) {
            let (at, stamp, rest) = (place_of(original, &name), stamp(original), rest_of(record));
            self.add(at, &Fresh { name: &name, stamp: &stamp, record: &bytes, rest: &rest });
        }
    }

    /// What was counted of this file before. One that changed and did not grow was written anew.
    pub(super) fn counted(&self, counting: &Counting<'_>) -> Option<Before> {
        let name = count_name(counting)?;
        let shard = self.shard(place(&name))?;
        in_room(|room| {
            let Found { stamp, record: kept, .. } = shard.newest(&name, room)?;
            let own = count_stamp(counting, true);
            let same = stamp == own;
            let young = stamp == count_stamp(counting, false); // its dates alone do not tell that nothing changed
            let length = stamp.strip_prefix(&own[..IDENTITY])?.first_chunk()?;
            let grew = u64::from_le_bytes(*length) < counting.stat.size;
            (same || young || grew).then(|| Before { same, kept: kept.to_vec() })
        })
    }

    /// Keeps what was counted of it, even if it was touched a moment ago: whoever goes on with that looks at what
    /// is there, not at dates.
    pub(super) fn keep_count(&self, counting: &Counting<'_>, count: &[u8]) {
        let Some(name) = count_name(counting) else { return };
        let stamp = count_stamp(counting, self.is_settled(&counting.stat));
        self.add(place(&name), &Fresh { name: &name, stamp: &stamp, record: count, rest: &[] });
    }

    /// Nothing was found in this before.
    pub(super) fn knows_none(&self, (agent, path, stat): Looked<'_>) -> bool {
        let known = none_name(agent, path).and_then(|name| {
            let shard = self.shard(LIVE)?;
            in_room(|room| shard.record(&name, &content(&stat), room).map(|_| ()))
        });
        known.is_some()
    }

    /// Keeps that nothing was.
    pub(super) fn keep_none(&self, (agent, path, stat): Looked<'_>) {
        if let Some(name) = none_name(agent, path).filter(|_| self.is_settled(&stat)) {
            let stamp = content(&stat);
            self.add(LIVE, &Fresh { name: &name, stamp: &stamp, record: &[], rest: &[] });
        }
    }

    /// The names in a folder that has not changed since they were read.
    pub(super) fn names(&self, dir: &Path, stat: &Stat) -> Option<Names> {
        let (name, shard) = (names_name(dir)?, self.shard(LIVE)?);
        in_room(|room| Some(Names::of(shard.record(&name, &content(stat), room)?.record)))
    }

    /// Keeps them.
    pub(super) fn keep_names(&self, dir: &Path, stat: &Stat, names: &Names) {
        let names = names.bytes().filter(|_| self.is_settled(stat));
        if let (Some(name), Some(record)) = (names_name(dir), names) {
            let stamp = content(stat);
            self.add(LIVE, &Fresh { name: &name, stamp: &stamp, record, rest: &[] });
        }
    }

    /// No second content can bear the same dates. A clock that was set back shows files of the future: they are
    /// read each time.
    fn is_settled(&self, stat: &Stat) -> bool {
        let settled = self.began.saturating_sub(RACY).unwrap_or(Timestamp::MIN);
        stat.touched.max(stat.modified) < settled
    }

    /// What cannot be written is read again the next time.
    fn add(&self, at: usize, fresh: &Fresh<'_>) {
        if !*self.may_write.get_or_init(|| self.make_room()) {
            return;
        }
        let mut draft = self.draft(at);
        if draft.is_none() {
            let most = if at == LIVE { LIVE_MOST } else { MOST };
            *draft = self.path(at).and_then(|path| Draft::begin(&path, most).ok());
        }
        if draft.as_mut().is_some_and(|draft| draft.add(fresh).is_err()) {
            *draft = None;
        }
    }

    /// Puts down what is new, beside what is there now: others may have written since we looked.
    pub(super) fn put_down(&self) {
        let first = if self.past.get().is_some() { 0 } else { LIVE };
        for at in first..=LIVE {
            if let (Some(draft), Some(path)) = (self.draft(at).take(), self.path(at)) {
                let _ = draft.end(&path); // it is read again the next time
            }
        }
    }

    fn draft(&self, at: usize) -> MutexGuard<'_, Option<Draft>> {
        self.shelf(at).draft.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shelf(&self, at: usize) -> &Shelf {
        if at == LIVE {
            return &self.live;
        }
        &self.past.get_or_init(|| Box::new(std::array::from_fn(|_| Shelf::default())))[at]
    }

    fn make_room(&self) -> bool {
        let Some(dir) = &self.dir else { return false };
        write::outlive_limits();
        let made = write::make_dir(dir).is_ok();
        if made {
            sweep(dir, self.began);
        }
        made
    }

    fn shard(&self, at: usize) -> Option<&Shard> {
        self.dir.as_ref()?;
        let open = || self.path(at).and_then(|path| Shard::open(&path).ok()).unwrap_or_default();
        Some(self.shelf(at).shard.get_or_init(open))
    }

    fn path(&self, at: usize) -> Option<PathBuf> {
        let dir = self.dir.as_ref()?;
        Some(if at == LIVE { dir.join("live") } else { dir.join(format!("{at:02x}")) })
    }
}

/// All kept files and their drafts may be open at once: where few can be, they are for the agents' own.
fn has_descriptors() -> bool {
    getrlimit(Resource::Nofile).current.is_none_or(|most| most >= DESCRIPTORS)
}

/// Does this with room that the thread has used before: ten thousand entries are read one after the other.
fn in_room<T>(read: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    thread_local! {
        static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    ROOM.with_borrow_mut(read)
}

/// What stands behind a record: its last words, which no table shows.
fn rest_of(record: &Record) -> Vec<u8> {
    let text = |last: &String| [b"+", last.as_bytes()].concat();
    record.last.as_ref().map(text).unwrap_or_default()
}

/// The same, read again.
fn last_in(rest: &[u8]) -> Option<Option<String>> {
    match rest {
        [] => Some(None),
        [b'+', text @ ..] => Some(Some(str::from_utf8(text).ok()?.to_owned())),
        _ => None,
    }
}

/// Removes what was left by whoever was killed while they wrote.
fn sweep(dir: &Path, now: Timestamp) {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_draft = |path: &PathBuf| path.extension().is_some_and(|kind| kind == write::DRAFT);
    for draft in entries.filter(is_draft).filter(|path| read::is_left(path, now, LEFT)) {
        let _ = fs::remove_file(draft); // somebody else was quicker
    }
}

/// Whose record this is, and how much of it: many sessions may stand in one file. None for a path that is no text, as others may look
/// the same.
fn name(of: &Original<'_>) -> Option<Vec<u8>> {
    let path = of.stub.path.to_str()?;
    let depth = match of.depth {
        Depth::Glance => "glance",
        Depth::Whole => "whole",
    };
    Some([of.agent, depth, path, &of.stub.id].join("\0").into_bytes())
}

/// All that tells one content of a file from another, and what else a reader was given.
fn stamp(of: &Original<'_>) -> Vec<u8> {
    let mut stamp = content(&of.stat);
    for stat in &of.beside {
        match stat {
            Some(stat) => put_content(&mut stamp, stat),
            None => stamp.push(b'-'),
        }
    }
    put_moment(&mut stamp, of.stub.updated);
    stamp.push(if of.stub.title.is_some() { b'+' } else { b'-' });
    stamp.extend_from_slice(of.stub.title.as_deref().unwrap_or_default().as_bytes());
    stamp
}

/// Whose count this is.
fn count_name(of: &Counting<'_>) -> Option<Vec<u8>> {
    Some([of.agent, "count", of.path.to_str()?].join("\0").into_bytes())
}

/// Where nothing was found.
fn none_name(agent: &str, path: &Path) -> Option<Vec<u8>> {
    Some([agent, "none", path.to_str()?].join("\0").into_bytes())
}

/// Which folder's names.
fn names_name(dir: &Path) -> Option<Vec<u8>> {
    Some(["names", dir.to_str()?].join("\0").into_bytes())
}

/// The same for its file, and whether that tells one content from another.
fn count_stamp(of: &Counting<'_>, settled: bool) -> Vec<u8> {
    let mut stamp = content(&of.stat);
    stamp.push(u8::from(settled));
    stamp
}

fn content(stat: &Stat) -> Vec<u8> {
    let mut content = Vec::with_capacity(128);
    put_content(&mut content, stat);
    content
}

/// What tells one file from another comes first, then its length.
fn put_content(to: &mut Vec<u8>, stat: &Stat) {
    for number in [stat.identity.0, stat.identity.1, stat.size] {
        to.extend_from_slice(&number.to_le_bytes());
    }
    [stat.modified, stat.touched].into_iter().for_each(|at| put_moment(to, at));
}

fn put_moment(to: &mut Vec<u8>, at: Timestamp) {
    to.extend_from_slice(&at.as_second().to_le_bytes());
    to.extend_from_slice(&at.subsec_nanosecond().to_le_bytes());
}

fn place_of(original: &Original<'_>, name: &[u8]) -> usize {
    if original.live { LIVE } else { place(name) }
}

fn place(name: &[u8]) -> usize {
    (shard::sum(name) % SHARDS as u64) as usize
}

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;
