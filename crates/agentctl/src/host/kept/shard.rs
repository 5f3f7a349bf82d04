//! One file of kept records: a head that says by which readers, an index with a sum over it, and entries,
//! each with a sum of its own. Only the index is held; an entry is read when it is asked for.
//!
//! Whatever is not exactly that is as good as nothing.

use crate::{read, write};
use std::{
    collections::HashMap,
    fs::File,
    io,
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
};

/// Every build with other readers has another head.
const HEAD: &[u8] = concat!("agentctl records 1 ", env!("AGENTCTL_READERS"), "\n").as_bytes();
/// A file is kept shorter than this, and not read if it is longer.
pub(super) const MOST: usize = 2 << 20;
/// A longer record is not worth its place.
const LONGEST: usize = 256 << 10;
/// Behind the head: the sum of the index, and its length.
const FRAME: usize = 16;
/// Of an entry, in the index: the sum of its name, its own sum, where it begins, and how long it is.
const PLACE: usize = 32;
/// Before an entry: the lengths of name and stamp.
const LENGTHS: usize = 8;

/// A record that was just read.
#[derive(Debug)]
pub(super) struct Fresh {
    pub(super) name: Vec<u8>,
    pub(super) stamp: Vec<u8>,
    pub(super) record: Vec<u8>,
}

/// Where the records of a file are, by the sums of their names.
#[derive(Debug, Default)]
pub(super) struct Shard {
    file: Option<File>,
    places: HashMap<u64, Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    sum: u64,
    at: u64,
    length: usize,
}

impl Shard {
    /// What is in a file, if it is one of ours and its index is whole.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = read::open(path)?;
        let stat = read::is_ours(&file)?;
        if stat.len() > MOST as u64 || stat.mode() & 0o022 != 0 {
            return Err(invalid());
        }
        let mut frame = [0; HEAD.len() + FRAME];
        file.read_exact_at(&mut frame, 0)?;
        let [said, length] = numbers(frame.strip_prefix(HEAD).ok_or_else(invalid)?)?;
        let length = usize::try_from(length).ok().filter(|length| *length <= MOST);
        let mut index = vec![0; length.ok_or_else(invalid)?];
        file.read_exact_at(&mut index, frame.len() as u64)?;
        if sum(&index) != said || index.len() % PLACE != 0 {
            return Err(invalid());
        }
        let mut places = HashMap::with_capacity(index.len() / PLACE);
        for place in index.chunks_exact(PLACE) {
            let [name, sum, at, length] = numbers(place)?;
            let length = usize::try_from(length).ok().filter(|length| *length <= MOST);
            places.insert(name, Place { sum, at, length: length.ok_or_else(invalid)? });
        }
        Ok(Self { file: Some(file), places })
    }

    /// The record of this name, if it was read under this stamp.
    pub(super) fn record<'r>(
        &self,
        name: &[u8],
        stamp: &[u8],
        room: &'r mut Vec<u8>,
    ) -> Option<&'r [u8]> {
        let (own, record) = self.newest(name, room)?;
        (own == stamp).then_some(record)
    }

    /// The stamp and the record of this name, whatever it was read under.
    pub(super) fn newest<'r>(
        &self,
        name: &[u8],
        room: &'r mut Vec<u8>,
    ) -> Option<(&'r [u8], &'r [u8])> {
        let entry = self.entry(self.places.get(&sum(name))?, room)?;
        let [own, stamp] = lengths_in(entry)?;
        let rest = entry.get(LENGTHS..)?.strip_prefix(name).filter(|_| own == name.len())?;
        rest.split_at_checked(stamp)
    }

    /// Read to room that the next one is read to, too.
    fn entry<'r>(&self, place: &Place, room: &'r mut Vec<u8>) -> Option<&'r [u8]> {
        room.resize(room.len().max(place.length), 0);
        let entry = &mut room[..place.length];
        self.file.as_ref()?.read_exact_at(entry, place.at).ok()?;
        (sum(entry) == place.sum).then_some(entry)
    }

    /// The same with these in place of what it had under their names, the last of each; where that is too
    /// much, without some of the older ones. What is too long leaves nothing under its name: the older is
    /// outdated anyhow.
    pub(super) fn with(&self, fresh: Vec<Fresh>, most: usize) -> Draft {
        let mut draft = Draft { most, ends: Vec::new(), entries: Vec::new() };
        let places = fresh.iter().enumerate().map(|(at, one)| (sum(&one.name), at));
        let last: HashMap<u64, usize> = places.collect();
        for (at, Fresh { name, stamp, record }) in fresh.into_iter().enumerate() {
            if last.get(&sum(&name)) == Some(&at) {
                let entry = [&lengths_of(&name, &stamp), &*name, &stamp, &record].concat();
                draft.add(sum(&name), sum(&entry), &entry);
            }
        }
        let older = self.text().unwrap_or_default();
        let mut others: Vec<(&u64, &Place)> =
            self.places.iter().filter(|(name, _)| !last.contains_key(name)).collect();
        others.sort_unstable_by_key(|(_, place)| place.length); // where all have no room, most have
        for (name, place) in others {
            let from = usize::try_from(place.at).unwrap_or(usize::MAX);
            if let Some(entry) = older.get(from..from.saturating_add(place.length)) {
                draft.add(*name, place.sum, entry); // whoever asks for it finds out what it is worth
            }
        }
        draft
    }

    /// All of the file, as long as it was when it was opened.
    fn text(&self) -> Option<Vec<u8>> {
        let end = |place: &Place| place.at.saturating_add(place.length as u64);
        let end = self.places.values().map(end).max().unwrap_or(0).min(MOST as u64);
        let mut text = vec![0; usize::try_from(end).ok()?];
        self.file.as_ref()?.read_exact_at(&mut text, 0).ok()?;
        Some(text)
    }
}

/// Entries that are to become a file.
#[derive(Debug)]
pub(super) struct Draft {
    /// As long as the file may be.
    most: usize,
    /// The sums of each name and of its entry, and where that ends.
    ends: Vec<(u64, u64, usize)>,
    entries: Vec<u8>,
}

impl Draft {
    fn add(&mut self, name: u64, sum: u64, entry: &[u8]) {
        let size = entry.len();
        let places = (self.ends.len() + 1) * PLACE;
        let whole = HEAD.len() + FRAME + places + self.entries.len() + size;
        if size > LONGEST || whole > self.most {
            return;
        }
        self.entries.extend_from_slice(entry);
        self.ends.push((name, sum, self.entries.len()));
    }

    /// As a file, whole or not at all.
    pub(super) fn write(self, path: &Path) -> io::Result<()> {
        let before = HEAD.len() + FRAME + self.ends.len() * PLACE;
        let mut index = Vec::with_capacity(self.ends.len() * PLACE);
        let mut from = 0;
        for (name, sum, end) in &self.ends {
            for number in [*name, *sum, (before + from) as u64, (end - from) as u64] {
                index.extend(number.to_le_bytes());
            }
            from = *end;
        }
        let frame = [sum(&index), index.len() as u64].map(u64::to_le_bytes).concat();
        write::lightly(path, &[HEAD, &frame, &index, &self.entries])
    }
}

fn lengths_of(name: &[u8], stamp: &[u8]) -> [u8; LENGTHS] {
    let length = |part: &[u8]| u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes();
    let mut lengths = [0; LENGTHS];
    lengths[..4].copy_from_slice(&length(name));
    lengths[4..].copy_from_slice(&length(stamp));
    lengths
}

fn lengths_in(entry: &[u8]) -> Option<[usize; 2]> {
    let (name, stamp) = entry.first_chunk::<LENGTHS>()?.split_at(LENGTHS / 2);
    let length = |bytes: &[u8]| {
        bytes.first_chunk().and_then(|length| usize::try_from(u32::from_le_bytes(*length)).ok())
    };
    Some([length(name)?, length(stamp)?])
}

/// Numbers, one behind the other, and nothing else.
fn numbers<const COUNT: usize>(bytes: &[u8]) -> io::Result<[u64; COUNT]> {
    let mut numbers = [0; COUNT];
    if bytes.len() != COUNT * 8 {
        return Err(invalid());
    }
    for (number, bytes) in numbers.iter_mut().zip(bytes.chunks_exact(8)) {
        *number = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    }
    Ok(numbers)
}

fn invalid() -> io::Error {
    io::ErrorKind::InvalidData.into()
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
