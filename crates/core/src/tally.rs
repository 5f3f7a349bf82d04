//! What was counted over the lines of a file, kept with where it ended: a file that did not change is not
//! opened, and a long one that only grew is read from there.
//!
//! Whether it only grew is told by its identity and by what stands at its beginning and before that place. See
//! `docs/decisions/0011-record-cache.md`.

mod messages;
mod numbers;
mod quick;

pub use messages::AsItIs;
pub(crate) use messages::Messages;
pub(crate) use numbers::{Reader, Writer};

use crate::{
    evidence::Tokens,
    host::{Before, Bytes, Counting, Entry, Host, Stat},
    lines::{self, Flow, Line, Walker},
    sheet::Sheet,
};
use std::{
    io, iter,
    path::{Path, PathBuf},
};

/// How much of a file's beginning is compared, and how much before the place where a count ended.
const BEGINNING: u64 = 1 << 10;
const END: u64 = 4 << 10;
/// A shorter file that changed is counted anew: that takes half a millisecond, and what was changed in its middle is seen. Of
/// one alone it takes less than to look up what was kept.
pub(crate) const LONG: u64 = 1 << 20;

/// Of a count that nobody goes on from.
const NO_PRINT: u64 = 0;

/// Something that is counted line by line.
pub(crate) trait Count: Default {
    /// Nothing yet, with room for whatever comes.
    fn roomy() -> Self {
        Self::default()
    }
    /// Takes in the next line that was sought. False where what is kept of earlier lines is not
    /// enough for that, and all have to be counted anew, with room; never said by one that has it.
    fn take(&mut self, file: &dyn Bytes, line: &Line<'_>) -> bool;
    /// Where in these lines the first one is that may count; what it passes over would be taken in without a trace.
    fn sought(&self, _: &[u8]) -> Option<usize> {
        Some(0)
    }
    /// No line is added any more: what is only kept for those may go.
    fn settle(&mut self) {}
    /// Writes down what the next lines are added to.
    fn write(&self, to: &mut Writer);
    /// What was written down.
    fn read(from: &mut Reader<'_>) -> Option<Self>;
}

/// A count of messages, of which one may stand in several files.
pub(crate) trait Family: Count {
    /// What was counted.
    fn messages(&self) -> &Messages;
}

/// A file, and what was said of it before it was opened.
pub(crate) type Found = (PathBuf, Option<Stat>);

/// Counts lines of one agent's files.
#[derive(Clone, Copy)]
pub struct Tally<'a> {
    /// Where the files are.
    pub host: &'a dyn Host,
    agent: &'static str,
    /// What is kept of shorter files is not asked for.
    least: u64,
}

impl<'a> Tally<'a> {
    /// From the first line on, whatever was counted before.
    pub fn anew(host: &'a dyn Host) -> Self {
        Self { host, agent: "", least: u64::MAX }
    }

    /// Beside what the host has kept of this agent's files, those that are at least so long.
    pub fn kept(host: &'a dyn Host, agent: &'static str, least: u64) -> Self {
        Self { host, agent, least }
    }

    /// Counts a file.
    pub(crate) fn count<C: Count>(&self, sheet: &Sheet<'_>) -> io::Result<C> {
        let path = sheet.path;
        let stat = sheet.stat.filter(|stat| stat.size >= self.least);
        let counting = stat.map(|stat| Counting { agent: self.agent, path, stat });
        let before = counting.as_ref().and_then(|counting| self.host.counted(counting));
        if let Some(Before { same: true, kept }) = &before
            && let Some((_, count)) = Place::read(kept)
        {
            return Ok(count);
        }
        let file = sheet.file()?;
        // What is held is read once, and too short to be gone on from, but of a host that holds all.
        let is_compared = |_: &&Counting<'_>| file.held().is_none() || file.size() >= LONG;
        let ends = counting.as_ref().filter(is_compared);
        let ends = ends.map(|_| Ends::of(file)).transpose()?;
        let before = before.filter(|_| file.size() >= LONG);
        let later = before.and_then(|before| later::<C>(file, &before.kept).transpose());
        let (mark, mut count) = match later {
            Some(counted) => counted?,
            None => anew(file)?,
        };
        if let Some(counting) = &counting {
            // Nearly every count ends with its file, of which that is known, and is compared below.
            let print = match &ends {
                None => NO_PRINT,
                Some(ends) if mark == ends.size => ends.print,
                Some(_) => print(file, mark)?,
            };
            let place = Place { mark, print };
            // Behind the print: of what was written anew since, the count is one thing and the print another.
            let now = file.stat().unwrap_or_else(|| self.host.stat(path));
            let has_grown = now.is_ok_and(|now| has_only_grown(&counting.stat, &now));
            let stands = || ends.as_ref().map_or(Ok(true), |ends| ends.stand(file));
            if has_grown && stands()? {
                if ends.is_none() {
                    count.settle();
                }
                self.host.keep_count(counting, &place.write(&count));
            }
        }
        Ok(count)
    }

    /// Tokens of a transcript that is counted, and of those of its sub-agents: each message once.
    pub(crate) fn sum<C: Family>(&self, own: (&Path, &C), spawned: &[Found]) -> io::Result<Tokens> {
        let mut tokens = own.1.messages().tokens();
        let mut sums = if spawned.is_empty() { Vec::new() } else { own.1.messages().sums() };
        for (path, stat) in spawned {
            let more = self
                .count::<C>(&Sheet::new(self.host, path, *stat))
                .map_err(|why| named(path, &why))?;
            tokens = tokens.plus(more.messages().tokens());
            sums.extend(more.messages().sums());
        }
        sums.sort_unstable();
        match sums.windows(2).any(|pair| pair[0] == pair[1]) {
            false => Ok(tokens),
            true => self.together::<C>(own.0, spawned),
        }
    }

    /// A message of one file stands in another, too: they are counted as one.
    fn together<C: Family>(&self, own: &Path, spawned: &[Found]) -> io::Result<Tokens> {
        let mut all = C::roomy();
        for path in iter::once(own).chain(spawned.iter().map(|(path, _)| path.as_path())) {
            let file = self.host.open(path).map_err(|why| named(path, &why))?;
            let walked = walk(&*file, 0, all).map_err(|why| named(path, &why))?;
            all = walked.unwrap_or_default().1;
        }
        Ok(all.messages().tokens())
    }

    /// Transcripts in the folder of a session's sub-agents.
    pub(crate) fn spawned(&self, dir: &Path) -> io::Result<Vec<Found>> {
        let is_one = |entry: &Entry| entry.name.ends_with(".jsonl");
        let inside = match self.host.inside(dir, &is_one) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => Vec::new(),
            inside => inside.map_err(|why| named(dir, &why))?,
        };
        let spawned = inside.into_iter().filter(|one| is_one(&one.entry));
        Ok(spawned.map(|one| (dir.join(one.entry.name), one.stat.and_then(Result::ok))).collect())
    }
}

/// The same, with where that was.
pub(crate) fn named(path: &Path, why: &io::Error) -> io::Error {
    io::Error::new(why.kind(), format!("{}: {why}", path.display()))
}

/// Goes on where a count ended, if what stood before that still does.
fn later<C: Count>(file: &dyn Bytes, kept: &[u8]) -> io::Result<Option<(u64, C)>> {
    let Some((place, count)) = Place::read(kept) else { return Ok(None) };
    match place.mark <= file.size() && print(file, place.mark)? == place.print {
        true => walk(file, place.mark, count),
        false => Ok(None),
    }
}

/// From the first line on: mostly the little that is kept of earlier lines is enough.
fn anew<C: Count>(file: &dyn Bytes) -> io::Result<(u64, C)> {
    match walk(file, 0, C::default())? {
        Some(counted) => Ok(counted),
        None => Ok(walk(file, 0, C::roomy())?.unwrap_or_default()),
    }
}

fn walk<C: Count>(file: &dyn Bytes, from: u64, count: C) -> io::Result<Option<(u64, C)>> {
    let mut walk = Walk { file, count, goes_on: true };
    let mark = lines::walk(file, from, &mut walk)?;
    Ok(walk.goes_on.then_some((mark, walk.count)))
}

/// A count on its way through a file.
struct Walk<'f, C> {
    file: &'f dyn Bytes,
    count: C,
    goes_on: bool,
}

impl<C: Count> Walker for Walk<'_, C> {
    fn sought(&self, lines: &[u8]) -> Option<usize> {
        self.count.sought(lines)
    }

    fn visit(&mut self, line: Line<'_>) -> Flow {
        self.goes_on = self.count.take(self.file, &line);
        lines::until(!self.goes_on)
    }
}

/// Where a count ended, and what stood before that.
struct Place {
    mark: u64,
    print: u64,
}

impl Place {
    fn write(&self, count: &impl Count) -> Vec<u8> {
        let mut to = Writer::default();
        to.number(self.mark);
        to.number(self.print);
        count.write(&mut to);
        to.bytes()
    }

    fn read<C: Count>(kept: &[u8]) -> Option<(Self, C)> {
        let mut from = Reader::new(kept);
        let place = Self { mark: from.number()?, print: from.number()? };
        let count = C::read(&mut from)?;
        from.is_at_end().then_some((place, count))
    }
}

/// Both ends of a file as it was opened.
struct Ends {
    size: u64,
    print: u64,
}

impl Ends {
    fn of(file: &dyn Bytes) -> io::Result<Self> {
        Ok(Self { size: file.size(), print: print(file, file.size())? })
    }

    /// They are what they were, whatever stands behind them by now.
    fn stand(&self, file: &dyn Bytes) -> io::Result<bool> {
        Ok(print(file, self.size)? == self.print)
    }
}

/// Nothing was written since, or more. What was written in place and is no longer may be anything.
fn has_only_grown(before: &Stat, now: &Stat) -> bool {
    let is_same = (before.size, before.touched) == (now.size, now.touched);
    before.identity == now.identity && (is_same || before.size < now.size)
}

/// Tells one content up to this place from another, by its two ends.
fn print(file: &dyn Bytes, mark: u64) -> io::Result<u64> {
    let mut sum = 0;
    let mut part = [0; END as usize];
    for (from, to) in [(0, mark.min(BEGINNING)), (mark.saturating_sub(END), mark)] {
        let part = &mut part[..(to - from) as usize];
        let read = file.read_at(part, from)?;
        sum = quick::sum(sum, &part[..read]);
    }
    Ok(sum)
}

#[cfg(test)]
mod tests;
