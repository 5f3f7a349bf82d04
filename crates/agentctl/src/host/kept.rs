//! Records that were read before, kept so that a file which did not change need not be read again.
//!
//! Only what a reader made of one file's bytes is here, never what state a session is in; the whole folder
//! may be deleted at any moment. See `docs/decisions/0011-record-cache.md`.

mod shard;

use crate::{places, read, write};
use agentctl_core::{
    agent::Depth,
    evidence::Record,
    host::{Before, Counting, Looked, Original, Stat},
};
use jiff::{SignedDuration, Timestamp};
use shard::{Fresh, MOST, Shard};
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
/// More than this waits for no other record of its file: all of a long history would be held twice.
const HELD: usize = 128 << 10;
/// Of a stamp: device and number, by which a file is known.
const IDENTITY: usize = 16;
/// The length of a text that there is none of.
const NO_TEXT: u32 = u32::MAX;
/// Nobody writes one file for so long.
const LEFT: SignedDuration = SignedDuration::from_hours(1);

/// The records of earlier commands, and of this one.
#[derive(Debug)]
pub(super) struct Kept {
    /// Before any file was looked at.
    began: Timestamp,
    dir: Option<PathBuf>,
    shards: [OnceLock<Shard>; SHARDS + 1],
    waiting: [Mutex<Waiting>; SHARDS + 1],
    may_write: OnceLock<bool>,
}

/// What waits to be written, and how much that is.
#[derive(Debug, Default)]
struct Waiting {
    fresh: Vec<Fresh>,
    size: usize,
}

impl Kept {
    /// Nothing is read yet.
    pub(super) fn new() -> Self {
        Self::at(places::cache().map(|dir| dir.join(FOLDER)), Timestamp::now())
    }

    fn at(dir: Option<PathBuf>, began: Timestamp) -> Self {
        let shards = [const { OnceLock::new() }; SHARDS + 1];
        let waiting = std::array::from_fn(|_| Mutex::default());
        Self { began, dir, shards, waiting, may_write: OnceLock::new() }
    }

    /// What was read from this before.
    pub(super) fn recall(&self, original: &Original<'_>) -> Option<Record> {
        let name = name(original)?;
        let shard = self.shard(place_of(original, &name))?;
        in_room(|room| whole(shard.record(&name, &stamp(original), room)?))
    }

    /// Keeps what was read from this.
    pub(super) fn keep(&self, original: &Original<'_>, record: &Record) {
        let mut all = original.beside.iter().flatten().chain([&original.stat]);
        let Some(name) = name(original).filter(|_| all.all(|stat| self.is_settled(stat))) else {
            return;
        };
        if let Some(record) = in_parts(record) {
            let at = place_of(original, &name);
            self.add(at, Fresh { name, stamp: stamp(original), record });
        }
    }

    /// What was counted of this file before. One that changed and did not grow was written anew.
    pub(super) fn counted(&self, counting: &Counting<'_>) -> Option<Before> {
        let name = count_name(counting)?;
        let shard = self.shard(place(&name))?;
        in_room(|room| {
            let (stamp, kept) = shard.newest(&name, room)?;
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
        self.add(place(&name), Fresh { name, stamp, record: count.to_vec() });
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
            self.add(LIVE, Fresh { name, stamp: content(&stat), record: Vec::new() });
        }
    }

    /// No second content can bear the same dates. A clock that was set back shows files of the future: they are
    /// read each time.
    fn is_settled(&self, stat: &Stat) -> bool {
        let settled = self.began.saturating_sub(RACY).unwrap_or(Timestamp::MIN);
        stat.touched.max(stat.modified) < settled
    }

    fn add(&self, at: usize, fresh: Fresh) {
        let mut waiting = self.waiting(at);
        waiting.size += fresh.record.len();
        waiting.fresh.push(fresh);
        if waiting.size > HELD {
            self.write(at, std::mem::take(&mut *waiting));
        }
    }

    /// Writes down what is new. What cannot be written is read again the next time.
    pub(super) fn put_down(&self) {
        for at in 0..=LIVE {
            let waiting = std::mem::take(&mut *self.waiting(at));
            self.write(at, waiting);
        }
    }

    fn waiting(&self, at: usize) -> MutexGuard<'_, Waiting> {
        self.waiting[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Beside what is there now, which others may have written since we looked.
    fn write(&self, at: usize, waiting: Waiting) {
        if waiting.fresh.is_empty() || !*self.may_write.get_or_init(|| self.make_room()) {
            return;
        }
        if let Some(path) = self.path(at) {
            let there = Shard::open(&path).unwrap_or_default();
            let most = if at == LIVE { LIVE_MOST } else { MOST };
            let _ = there.with(waiting.fresh, most).write(&path); // it is read again the next time
        }
    }

    fn make_room(&self) -> bool {
        let Some(dir) = &self.dir else { return false };
        let made = write::make_dir(dir).is_ok();
        if made {
            sweep(dir, self.began);
        }
        made
    }

    fn shard(&self, at: usize) -> Option<&Shard> {
        let path = self.path(at)?;
        Some(self.shards[at].get_or_init(|| Shard::open(&path).unwrap_or_default()))
    }

    fn path(&self, at: usize) -> Option<PathBuf> {
        let dir = self.dir.as_ref()?;
        Some(if at == LIVE { dir.join("live") } else { dir.join(format!("{at:02x}")) })
    }
}

/// Does this with room that the thread has used before: ten thousand entries are read one after the other.
fn in_room<T>(read: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    thread_local! {
        static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    ROOM.with_borrow_mut(read)
}

/// A record as it is kept. Its two long texts stand before the rest as they are: they are most of it, and are
/// passed over quicker than they are read. As text its cost may come back as the number next to it.
fn in_parts(record: &Record) -> Option<Vec<u8>> {
    let texts = [&record.prompt, &record.last];
    let size = texts.into_iter().flatten().map(String::len).sum::<usize>();
    let mut kept = Vec::with_capacity(size + 512);
    kept.extend(record.cost_usd.unwrap_or(f64::NAN).to_le_bytes());
    for text in texts {
        let length = text.as_ref().map_or(Some(NO_TEXT), |text| u32::try_from(text.len()).ok())?;
        kept.extend(length.to_le_bytes());
        kept.extend(text.as_deref().unwrap_or_default().as_bytes());
    }
    let rest = Record { prompt: None, last: None, ..record.clone() };
    serde_json::to_writer(&mut kept, &rest).ok()?;
    Some(kept)
}

/// The same, put together again.
fn whole(kept: &[u8]) -> Option<Record> {
    let (cost, rest) = kept.split_first_chunk()?;
    let (prompt, rest) = text_in(rest)?;
    let (last, rest) = text_in(rest)?;
    let cost_usd = Some(f64::from_le_bytes(*cost)).filter(|cost| !cost.is_nan());
    let record: Record = serde_json::from_slice(rest).ok()?;
    Some(Record { prompt, last, cost_usd, ..record })
}

/// A text behind its length, and what follows it.
fn text_in(kept: &[u8]) -> Option<(Option<String>, &[u8])> {
    let (length, rest) = kept.split_first_chunk()?;
    match u32::from_le_bytes(*length) {
        NO_TEXT => Some((None, rest)),
        length => {
            let (text, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            Some((Some(str::from_utf8(text).ok()?.to_owned()), rest))
        }
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

/// Whose record this is, and how much of it: many sessions may stand in one file. None where it would not come back as it was: paths are written
/// as text.
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
    let mut stamp = Vec::with_capacity(96);
    for stat in [Some(of.stat)].iter().chain(&of.beside) {
        match stat {
            Some(stat) => stamp.extend(content(stat)),
            None => stamp.push(b'-'),
        }
    }
    stamp.extend(of.stub.updated.as_nanosecond().to_le_bytes());
    stamp.extend(of.stub.title.as_ref().map_or(&b"-"[..], |_| b"+"));
    stamp.extend(of.stub.title.as_deref().unwrap_or_default().as_bytes());
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

/// The same for its file, and whether that tells one content from another.
fn count_stamp(of: &Counting<'_>, settled: bool) -> Vec<u8> {
    let mut stamp = content(&of.stat);
    stamp.push(u8::from(settled));
    stamp
}

/// What tells one file from another comes first, then its length.
fn content(stat: &Stat) -> Vec<u8> {
    let numbers = [stat.identity.0, stat.identity.1, stat.size].map(u64::to_le_bytes);
    let moments = [stat.modified, stat.touched].map(|at| at.as_nanosecond().to_le_bytes());
    [numbers.concat(), moments.concat()].concat()
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
