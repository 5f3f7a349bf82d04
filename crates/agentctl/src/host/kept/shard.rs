//! One file of kept records: entries, each with a sum of its own; behind them an index with a sum over it, and at the end by
//! which readers they were made. Only the index is held; an entry is read when it is asked for.
//!
//! Whatever is not exactly that is as good as nothing.

use crate::read;
use std::{
    cmp::Ordering,
    fs::File,
    io,
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
};

/// Every build with other readers has another.
pub(super) const MARK: &[u8] =
    concat!("agentctl records 2 ", env!("AGENTCTL_READERS"), "\n").as_bytes();
/// A file is kept shorter than this, and not read if it is longer.
pub(super) const MOST: usize = 2 << 20;
/// At the end: the mark, the sum of the index, and its length.
pub(super) const FRAME: usize = MARK.len() + 16;
/// Before an entry: the lengths of name and stamp.
pub(super) const LENGTHS: usize = 8;

/// Where the records of a file are, in the order of the sums of their names.
#[derive(Debug, Default)]
pub(super) struct Shard {
    file: Option<File>,
    index: Vec<u8>,
}

/// Where an entry is. What is seldom asked for stands behind it, and is read only then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Of its name.
    pub(super) name: u64,
    /// Of the entry.
    pub(super) sum: u64,
    pub(super) at: u64,
    pub(super) length: u64,
    /// Of what stands behind it.
    pub(super) rest_sum: u64,
    pub(super) rest: u64,
}

impl Place {
    /// In the index.
    pub(super) const SIZE: usize = 48;

    pub(super) fn bytes(self) -> [[u8; 8]; 6] {
        let Self { name, sum, at, length, rest_sum, rest } = self;
        [name, sum, at, length, rest_sum, rest].map(u64::to_le_bytes)
    }

    fn of(bytes: &[u8; Self::SIZE]) -> Self {
        let [name, sum, at, length, rest_sum, rest] = numbers(bytes);
        Self { name, sum, at, length, rest_sum, rest }
    }

    /// How long it is with what stands behind it.
    pub(super) fn whole(&self) -> u64 {
        self.length.saturating_add(self.rest)
    }
}

/// An entry under the name that was asked for.
pub(super) struct Found<'r> {
    pub(super) stamp: &'r [u8],
    pub(super) record: &'r [u8],
    pub(super) place: Place,
}

impl Shard {
    /// What is in a file, if it is one of ours and its index is whole.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = read::open(path)?;
        let stat = read::is_ours(&file)?;
        let end = stat.len().checked_sub(FRAME as u64).ok_or_else(invalid)?;
        if stat.len() > MOST as u64 || stat.mode() & 0o022 != 0 {
            return Err(invalid());
        }
        let mut frame = [0; FRAME];
        file.read_exact_at(&mut frame, end)?;
        let told = frame.strip_prefix(MARK).and_then(|told| told.first_chunk::<16>());
        let [said, length] = numbers(told.ok_or_else(invalid)?);
        let from = end.checked_sub(length).ok_or_else(invalid)?;
        let mut index = vec![0; usize::try_from(length).map_err(|_| invalid())?];
        file.read_exact_at(&mut index, from)?;
        if sum(&index) != said || index.len() % Place::SIZE != 0 {
            return Err(invalid());
        }
        Ok(Self { file: Some(file), index })
    }

    /// The record of this name, if it was read under this stamp.
    pub(super) fn record<'r>(
        &self,
        name: &[u8],
        stamp: &[u8],
        room: &'r mut Vec<u8>,
    ) -> Option<Found<'r>> {
        self.newest(name, room).filter(|found| found.stamp == stamp)
    }

    /// The same, whatever it was read under.
    pub(super) fn newest<'r>(&self, name: &[u8], room: &'r mut Vec<u8>) -> Option<Found<'r>> {
        let place = self.place(sum(name))?;
        let entry = self.part((place.at, place.length, place.sum), room)?;
        let [own, stamp] = lengths_in(entry)?;
        let rest = entry.get(LENGTHS..)?.strip_prefix(name).filter(|_| own == name.len())?;
        let (stamp, record) = rest.split_at_checked(stamp)?;
        Some(Found { stamp, record, place })
    }

    /// What stands behind an entry.
    pub(super) fn rest<'r>(&self, place: &Place, room: &'r mut Vec<u8>) -> Option<&'r [u8]> {
        let at = place.at.checked_add(place.length)?;
        self.part((at, place.rest, place.rest_sum), room)
    }

    /// Read to room that the next one is read to, too.
    fn part<'r>(
        &self,
        (at, length, said): (u64, u64, u64),
        room: &'r mut Vec<u8>,
    ) -> Option<&'r [u8]> {
        let length = usize::try_from(length).ok().filter(|length| *length <= MOST)?;
        room.resize(room.len().max(length), 0);
        let part = &mut room[..length];
        self.file.as_ref()?.read_exact_at(part, at).ok()?;
        (sum(part) == said).then_some(part)
    }

    /// Nothing is found in an index out of order, or something else; the entry tells what it is.
    fn place(&self, name: u64) -> Option<Place> {
        let (places, _) = self.index.as_chunks::<{ Place::SIZE }>();
        let by = |place: &[u8; Place::SIZE]| -> Ordering { Place::of(place).name.cmp(&name) };
        places.binary_search_by(by).ok().map(|at| Place::of(&places[at]))
    }

    /// Where everything is.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        self.index.as_chunks().0.iter().map(Place::of)
    }

    /// All of the file, as long as it was when it was opened.
    pub(super) fn text(&self) -> Option<Vec<u8>> {
        let end = |place: Place| place.at.saturating_add(place.whole());
        let end = self.places().map(end).max().unwrap_or(0).min(MOST as u64);
        let mut text = vec![0; usize::try_from(end).ok()?];
        self.file.as_ref()?.read_exact_at(&mut text, 0).ok()?;
        Some(text)
    }
}

pub(super) fn lengths_of(name: &[u8], stamp: &[u8]) -> [[u8; LENGTHS / 2]; 2] {
    [name, stamp].map(|part| u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes())
}

fn lengths_in(entry: &[u8]) -> Option<[usize; 2]> {
    let (name, stamp) = entry.first_chunk::<LENGTHS>()?.split_at(LENGTHS / 2);
    let length = |bytes: &[u8]| {
        bytes.first_chunk().and_then(|length| usize::try_from(u32::from_le_bytes(*length)).ok())
    };
    Some([length(name)?, length(stamp)?])
}

/// Numbers, one behind the other.
fn numbers<const COUNT: usize>(bytes: &[u8]) -> [u64; COUNT] {
    let mut numbers = [0; COUNT];
    for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks().0) {
        *number = u64::from_le_bytes(*bytes);
    }
    numbers
}

fn invalid() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

/// Tells what was damaged from what was written, and names apart; not meant against somebody who may write
/// our files. Four sums side by side: each step of one waits for the step before.
pub(super) fn sum(bytes: &[u8]) -> u64 {
    const LANES: usize = 4;
    let mut sums = [bytes.len() as u64; LANES];
    let (words, rest) = bytes.as_chunks::<8>();
    let (rows, few) = words.as_chunks::<LANES>();
    for row in rows {
        for (sum, word) in sums.iter_mut().zip(row) {
            *sum = step(*sum, u64::from_le_bytes(*word));
        }
    }
    let few = few.iter().map(|word| u64::from_le_bytes(*word));
    let rest = rest.iter().map(|byte| u64::from(*byte));
    let [first, others @ ..] = sums;
    let sum = few.chain(rest).chain(others).fold(first, step);
    sum ^ sum >> 32
}

fn step(sum: u64, word: u64) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    (sum ^ word).wrapping_mul(FACTOR).rotate_left(29)
}
