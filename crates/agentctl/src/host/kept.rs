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
    sync::{Mutex, OnceLock, PoisonError},
};

/// Below the directory of caches.
const FOLDER: &str = "records";
/// Few enough to be opened all, many enough that one session that changed has little written anew.
const SHARDS: usize = 32;
/// A file that was touched so shortly before the look may be written to again under the same date: file systems
/// date by clocks that stand still for a while, some for two seconds.
const RACY: SignedDuration = SignedDuration::from_secs(3);
/// Nobody writes one file for so long.
const LEFT: SignedDuration = SignedDuration::from_hours(1);

/// The records of earlier commands, and of this one.
#[derive(Debug)]
pub(super) struct Kept {
    /// Before any file was looked at.
    began: Timestamp,
    dir: Option<PathBuf>,
    shards: [OnceLock<Shard>; SHARDS],
    fresh: [Mutex<Vec<Fresh>>; SHARDS],
}

impl Kept {
    /// Nothing is read yet.
    pub(super) fn new() -> Self {
        Self::at(places::cache().map(|dir| dir.join(FOLDER)), Timestamp::now())
    }

    fn at(dir: Option<PathBuf>, began: Timestamp) -> Self {
        let (shards, fresh) = Default::default();
        Self { began, dir, shards, fresh }
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
        let stamp = stamp(original);
        let fresh = &self.fresh[place(&name)];
        let mut fresh = fresh.lock().unwrap_or_else(PoisonError::into_inner);
        fresh.push(Fresh { name, stamp, record });
    }

    /// Writes down what is new. What cannot be written is read again the next time.
    pub(super) fn put_down(&self) {
        let taken = |fresh: &Mutex<Vec<Fresh>>| {
            std::mem::take(&mut *fresh.lock().unwrap_or_else(PoisonError::into_inner))
        };
        let fresh = self.fresh.iter().map(taken).enumerate();
        let fresh: Vec<_> = fresh.filter(|(_, fresh)| !fresh.is_empty()).collect();
        let Some(dir) = self.dir.as_ref().filter(|_| !fresh.is_empty()) else { return };
        if write::make_dir(dir).is_err() {
            return;
        }
        sweep(dir, self.began);
        for (at, fresh) in fresh {
            let (Some(path), Some(shard)) = (self.path(at), self.shard(at)) else { return };
            if shard.with(fresh).write(&path).is_err() {
                return; // nor can the others be
            }
        }
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
    Some([of.agent, depth, path].join("\0").into_bytes())
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
