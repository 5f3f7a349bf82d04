//! Records that were read before, kept so that a file which did not change need not be read again.
//!
//! Only what a reader made of one file's bytes is here, never what state a session is in; the whole folder
//! may be deleted at any moment. See `docs/decisions/0011-record-cache.md`.

mod shard;

use crate::{places, read, write};
use agentctl_core::{agent::Depth, evidence::Record, host::Original};
use jiff::{SignedDuration, Timestamp};
use shard::{Fresh, Shard};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

/// Below the directory of caches.
const FOLDER: &str = "records";
/// Few enough to be opened all, many enough that one session that changed has little written anew.
const SHARDS: usize = 32;
/// A file that was touched so shortly before the look may be written to again under the same date: file systems
/// date by clocks that stand still for a while, some for two seconds.
const RACY: SignedDuration = SignedDuration::from_secs(3);
/// More than this waits for no other record of its file: all of a long history would be held twice.
const HELD: usize = 128 << 10;
/// Nobody writes one file for so long.
const LEFT: SignedDuration = SignedDuration::from_hours(1);

/// The records of earlier commands, and of this one.
#[derive(Debug)]
pub(super) struct Kept {
    /// Before any file was looked at.
    began: Timestamp,
    dir: Option<PathBuf>,
    shards: [OnceLock<Shard>; SHARDS],
    waiting: [Mutex<Waiting>; SHARDS],
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
        let (shards, waiting) = Default::default();
        Self { began, dir, shards, waiting, may_write: OnceLock::new() }
    }

    /// What was read from this before.
    pub(super) fn recall(&self, original: &Original<'_>) -> Option<Record> {
        let name = name(original)?;
        let shard = self.shard(place(&name))?;
        let record = shard.record(&name, &stamp(original))?;
        serde_json::from_slice(&record).ok()
    }

    /// Keeps what was read from this.
    pub(super) fn keep(&self, original: &Original<'_>, record: &Record) {
        let stat = &original.stat;
        let settled = self.began.saturating_sub(RACY).unwrap_or(Timestamp::MIN);
        // A clock that was set back shows files of the future: they are read each time.
        if stat.touched.max(stat.modified) >= settled || record.cost_usd.is_some() {
            return;
        }
        let (Some(name), Ok(record)) = (name(original), serde_json::to_vec(record)) else { return };
        let (at, stamp) = (place(&name), stamp(original));
        let mut waiting = self.waiting(at);
        waiting.size += record.len();
        waiting.fresh.push(Fresh { name, stamp, record });
        if waiting.size > HELD {
            self.write(at, std::mem::take(&mut *waiting));
        }
    }

    /// Writes down what is new. What cannot be written is read again the next time.
    pub(super) fn put_down(&self) {
        for at in 0..SHARDS {
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
            let _ = there.with(waiting.fresh).write(&path); // it is read again the next time
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
        Some(self.dir.as_ref()?.join(format!("{at:02x}")))
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

/// Whose record this is, and how much of it. None where it would not come back as it was: paths are written
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
    let stat = &of.stat;
    let mut stamp = Vec::with_capacity(96);
    for number in [stat.identity.0, stat.identity.1, stat.size] {
        stamp.extend(number.to_le_bytes());
    }
    for moment in [stat.modified, stat.touched, of.stub.updated] {
        stamp.extend(moment.as_nanosecond().to_le_bytes());
    }
    stamp.extend(of.stub.title.as_ref().map_or(&b"-"[..], |_| b"+"));
    stamp.extend(of.stub.title.as_deref().unwrap_or_default().as_bytes());
    stamp
}

fn place(name: &[u8]) -> usize {
    (shard::sum(name) % SHARDS as u64) as usize
}

#[cfg(test)]
mod tests;
