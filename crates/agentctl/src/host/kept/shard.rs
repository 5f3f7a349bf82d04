//! One file of kept records: a head that says by which readers, a sum over the rest, and entries.
//!
//! Whatever is not exactly that is as good as nothing.

use crate::{read, write};
use std::{
    collections::{HashMap, HashSet},
    io::{self, Read},
    ops::Range,
    os::unix::fs::MetadataExt,
    path::Path,
};

/// Every build with other readers has another head.
const HEAD: &[u8] = concat!("agentctl records 1 ", env!("AGENTCTL_READERS"), "\n").as_bytes();
/// A file is kept shorter than this, and not read if it is longer.
const MOST: usize = 2 << 20;
/// A longer record is not worth its place.
const LONGEST: usize = 32 << 10;
/// Lengths of name, stamp and record.
const LENGTHS: usize = 12;

/// A record that was just read.
#[derive(Debug)]
pub(super) struct Fresh {
    pub(super) name: Vec<u8>,
    pub(super) stamp: Vec<u8>,
    pub(super) record: Vec<u8>,
}

/// The records of a file, by name.
#[derive(Debug, Default)]
pub(super) struct Shard {
    bytes: Vec<u8>,
    /// By the sum of the name.
    entries: HashMap<u64, Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    name: Range<usize>,
    stamp: Range<usize>,
    record: Range<usize>,
}

impl Shard {
    /// What is in a file, if it is one of ours and whole.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let file = read::open(path)?;
        let stat = read::is_ours(&file)?;
        let size = usize::try_from(stat.len()).unwrap_or(usize::MAX);
        if size > MOST || stat.mode() & 0o022 != 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut bytes = Vec::with_capacity(size);
        file.take(MOST as u64).read_to_end(&mut bytes)?;
        Self::parse(bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    pub(super) fn parse(bytes: Vec<u8>) -> Option<Self> {
        let (said, rest) = bytes.strip_prefix(HEAD)?.split_first_chunk::<8>()?;
        if u64::from_le_bytes(*said) != sum(rest) {
            return None;
        }
        let mut entries = HashMap::new();
        let mut at = bytes.len() - rest.len();
        while at < bytes.len() {
            let entry = Entry::at(&bytes, &mut at)?;
            entries.insert(sum(&bytes[entry.name.clone()]), entry);
        }
        Some(Self { bytes, entries })
    }

    /// The record of this name, if it was read under this stamp.
    pub(super) fn record(&self, name: &[u8], stamp: &[u8]) -> Option<&[u8]> {
        let entry = self.entries.get(&sum(name))?;
        let same = self.bytes[entry.name.clone()] == *name;
        let same = same && self.bytes[entry.stamp.clone()] == *stamp;
        same.then(|| &self.bytes[entry.record.clone()])
    }

    /// The same with these in place of what it had under their names; where that is too much, without some
    /// of the older ones.
    pub(super) fn with(&self, fresh: Vec<Fresh>) -> Draft {
        let mut draft = Draft::default();
        let mut taken = HashSet::new();
        for one in fresh {
            taken.insert(sum(&one.name));
            draft.add(&one.name, &one.stamp, &one.record);
        }
        for (_, entry) in self.entries.iter().filter(|(sum, _)| !taken.contains(sum)) {
            let part = |range: &Range<usize>| &self.bytes[range.clone()];
            draft.add(part(&entry.name), part(&entry.stamp), part(&entry.record));
        }
        draft
    }
}

impl Entry {
    fn at(bytes: &[u8], at: &mut usize) -> Option<Self> {
        let lengths = bytes.get(*at..)?.first_chunk::<LENGTHS>()?;
        *at += LENGTHS;
        let mut next = |number: usize| {
            let length = lengths[number * 4..].first_chunk::<4>()?;
            let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
            let range = *at..at.checked_add(length).filter(|end| *end <= bytes.len())?;
            *at = range.end;
            Some(range)
        };
        Some(Self { name: next(0)?, stamp: next(1)?, record: next(2)? })
    }
}

/// Entries that are to become a file.
#[derive(Debug, Default)]
pub(super) struct Draft(Vec<u8>);

impl Draft {
    fn add(&mut self, name: &[u8], stamp: &[u8], record: &[u8]) {
        let parts = [name, stamp, record];
        let size = parts.iter().map(|part| part.len()).sum::<usize>();
        let whole = HEAD.len() + 8 + self.0.len() + LENGTHS + size;
        if size > LONGEST || whole > MOST {
            return;
        }
        for part in parts {
            let length = u32::try_from(part.len()).expect("an entry is short");
            self.0.extend(length.to_le_bytes());
        }
        parts.iter().for_each(|part| self.0.extend_from_slice(part));
    }

    /// As a file, whole or not at all.
    pub(super) fn write(self, path: &Path) -> io::Result<()> {
        let sum = sum(&self.0).to_le_bytes();
        write::lightly(path, &[HEAD, &sum, &self.0])
    }
}

/// Tells what was damaged from what was written, and names apart; not meant against somebody who may write
/// our files.
pub(super) fn sum(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut sum = bytes.len() as u64;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let word = word.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        sum = (sum ^ word).wrapping_mul(FACTOR).rotate_left(29);
    }
    for byte in words.remainder() {
        sum = (sum ^ u64::from(*byte)).wrapping_mul(FACTOR).rotate_left(29);
    }
    sum ^ sum >> 32
}
