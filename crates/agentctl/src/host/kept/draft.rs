//! Entries that are to become a file. They are written as they come: all of a long history would be held otherwise.

use super::shard::{FRAME, LENGTHS, MARK, Place, Shard, lengths_of, sum};
use crate::write::Growing;
use agentctl_core::tally::AsItIs;
use std::{collections::HashMap, hash::BuildHasherDefault, io, path::Path};

/// A longer record is not worth its place.
const LONGEST: usize = 256 << 10;
/// More than this does not wait to be written.
const HELD: usize = 32 << 10;

/// A record that was just read.
#[derive(Debug)]
pub(super) struct Fresh<'a> {
    pub(super) name: &'a [u8],
    pub(super) stamp: &'a [u8],
    pub(super) record: &'a [u8],
    /// What is seldom asked for.
    pub(super) rest: &'a [u8],
}

/// A file that has no index yet.
#[derive(Debug)]
pub(super) struct Draft {
    file: Growing,
    /// As long as the file may be.
    most: usize,
    /// All that was added, and what of it is not yet written.
    length: usize,
    waiting: Vec<u8>,
    /// By the sums of their names; none of what was too long, or had no room.
    places: HashMap<u64, Option<Place>, BuildHasherDefault<AsItIs>>,
}

impl Draft {
    /// For a file in this place, which is to be no longer than that.
    pub(super) fn begin(path: &Path, most: usize) -> io::Result<Self> {
        let (file, waiting, places) = (Growing::begin(path)?, Vec::new(), HashMap::default());
        Ok(Self { file, most, length: 0, waiting, places })
    }

    /// Adds one, in place of any of its name.
    pub(super) fn add(&mut self, fresh: &Fresh<'_>) -> io::Result<()> {
        let Fresh { name, stamp, record, rest } = fresh;
        let own = sum(name);
        let front = LENGTHS + name.len() + stamp.len() + record.len();
        if !self.has_room(front + rest.len()) {
            self.places.insert(own, None); // the older is outdated anyhow
            return Ok(());
        }
        let from = self.waiting.len();
        let lengths = lengths_of(name, stamp);
        for part in [lengths.as_flattened(), name, stamp, record] {
            self.waiting.extend_from_slice(part);
        }
        let place = Place {
            name: own,
            sum: sum(&self.waiting[from..]),
            at: self.length as u64,
            length: front as u64,
            rest_sum: sum(rest),
            rest: rest.len() as u64,
        };
        self.waiting.extend_from_slice(rest);
        self.length += front + rest.len();
        self.places.insert(own, Some(place));
        self.put_down(HELD)
    }

    /// Makes it the file in this place, with what is there under other names; where that is too much, without some of it.
    pub(super) fn end(mut self, path: &Path) -> io::Result<()> {
        let older = Shard::open(path).unwrap_or_default();
        let text = older.text().unwrap_or_default();
        let mut others: Vec<Place> =
            older.places().filter(|place| !self.places.contains_key(&place.name)).collect();
        others.sort_unstable_by_key(Place::whole); // where all have no room, most have
        for place in others {
            self.copy(place, &text)?;
        }
        let mut places: Vec<Place> = self.places.values().flatten().copied().collect();
        places.sort_unstable_by_key(|place| place.name);
        let index: Vec<[[u8; 8]; 6]> = places.into_iter().map(Place::bytes).collect();
        let index = index.as_flattened().as_flattened();
        let frame = [sum(index), index.len() as u64].map(u64::to_le_bytes);
        for part in [index, MARK, frame.as_flattened()] {
            self.waiting.extend_from_slice(part);
        }
        self.put_down(0)?;
        self.file.end(path)
    }

    /// Whoever asks for it finds out what it is worth.
    fn copy(&mut self, place: Place, text: &[u8]) -> io::Result<()> {
        let [from, size] =
            [place.at, place.whole()].map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        let Some(entry) = text.get(from..from.saturating_add(size)) else { return Ok(()) };
        if self.has_room(size) {
            self.waiting.extend_from_slice(entry);
            self.places.insert(place.name, Some(Place { at: self.length as u64, ..place }));
            self.length += size;
        }
        self.put_down(HELD)
    }

    fn has_room(&self, size: usize) -> bool {
        let places = (self.places.len() + 1) * Place::SIZE;
        size <= LONGEST && self.length + size + places + FRAME <= self.most
    }

    /// Writes what waits, if it is more than this.
    fn put_down(&mut self, most: usize) -> io::Result<()> {
        if self.waiting.len() > most {
            self.file.add(&self.waiting)?;
            self.waiting.clear();
        }
        Ok(())
    }
}
