//! Where to go on in a session whose parts are written anew in place.
//!
//! A moment alone cannot say what was read: two things are written in one millisecond, and a thing is
//! written some time after the moment it bears. So a cursor is a second before which all is written for
//! good, and a mark of everything that was said since.

use crate::agent::Message;
use jiff::Timestamp;
use std::hash::{DefaultHasher, Hash, Hasher};

/// How long after the moment it bears a thing may be written: OpenCode 1.18.33 waits five seconds for a
/// locked database.
const LAG: i64 = 10;
/// Seconds count from here, the beginning of 2020, and fill the upper bits.
const EPOCH: i64 = 1_577_836_800;
/// The lower bits: the mark.
const MARK: u64 = (1 << 33) - 1;

/// One thing said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Saying {
    /// When, in milliseconds since 1970, as written down once and for all.
    pub(super) at: u64,
    /// Which of all things said it is.
    pub(super) key: u64,
    pub(super) message: Message,
}

/// A name for one of the things that a part says.
pub(super) fn key(part: &str, which: u8) -> u64 {
    let mut hasher = DefaultHasher::new();
    (part, which).hash(&mut hasher);
    hasher.finish() & MARK
}

/// Where to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    /// In seconds since 2020.
    settled: u64,
    mark: u64,
}

impl Cursor {
    /// From the number that callers keep.
    pub(super) fn of(number: u64) -> Self {
        Self { settled: number >> MARK.count_ones(), mark: number & MARK }
    }

    /// The number that callers keep.
    pub(super) fn number(self) -> u64 {
        (self.settled << MARK.count_ones()) | self.mark
    }

    /// One before which all is written for good, if it is this late.
    pub(super) fn at(now: Timestamp) -> Self {
        let settled = now.as_second().saturating_sub(EPOCH + LAG);
        Self { settled: u64::try_from(settled).unwrap_or(0), mark: 0 }
    }

    /// What was said before it is written for good; in milliseconds since 1970.
    pub(super) fn settled(self) -> u64 {
        self.settled.saturating_add(EPOCH.unsigned_abs()).saturating_mul(1000)
    }

    /// The same, once all of this was said.
    pub(super) fn after(self, said: &[Saying]) -> Self {
        Self { mark: mark(said.iter().filter(|one| self.settled() <= one.at)), ..self }
    }

    /// Those that were not said, in the order given.
    ///
    /// What was said is nearly always what bears the earliest moments, or all of that but one thing.
    /// Where neither explains the mark all is told again: twice is better than never.
    pub(super) fn rest(self, all: Vec<Saying>) -> Vec<Saying> {
        let open: Vec<Saying> = all.into_iter().filter(|one| self.settled() <= one.at).collect();
        let mut by_moment: Vec<&Saying> = open.iter().collect();
        by_moment.sort_by_key(|one| one.at);
        let fits = |said: usize| {
            let missing = mark(by_moment[..said].iter().copied()) ^ self.mark;
            let late = || by_moment[..said].iter().find(|one| one.key == missing);
            match missing {
                0 => Some((said, None)),
                _ => late().map(|late| (said, Some(late.key))),
            }
        };
        let found = (0..=by_moment.len()).rev().filter_map(fits).min_by_key(|fit| fit.1.is_some());
        let Some((said, late)) = found else { return open };
        let keys: Vec<u64> = by_moment[..said].iter().map(|one| one.key).collect();
        let is_new = |one: &Saying| !keys.contains(&one.key) || late == Some(one.key);
        open.iter().filter(|one| is_new(one)).cloned().collect()
    }
}

fn mark<'a>(said: impl Iterator<Item = &'a Saying>) -> u64 {
    said.fold(0, |mark, one| mark ^ one.key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Speaker;

    const NOW: Timestamp = Timestamp::constant(1_794_770_000, 0);

    /// Said this many milliseconds before now.
    fn saying(name: &str, ago: u64) -> Saying {
        let message = Message {
            at: None,
            speaker: Speaker::Assistant,
            tool: None,
            failed: false,
            text: name.to_owned(),
        };
        let now = u64::try_from(NOW.as_millisecond()).expect("it is after 1970");
        Saying { at: now - ago, key: key(name, 0), message }
    }

    fn rest(said: &[Saying], all: &[Saying]) -> Vec<Saying> {
        let cursor = Cursor::at(NOW).after(said);
        assert_eq!(Cursor::of(cursor.number()), cursor);
        cursor.rest(all.to_vec())
    }

    #[test]
    fn nothing_is_told_twice() {
        let all = ["a", "b", "c"].map(|name| saying(name, 5));
        assert_eq!(rest(&all, &all), []);
        assert_eq!(rest(&[], &all), all);
        let old = saying("long ago", 60_000);
        assert_eq!(rest(&[], std::slice::from_ref(&old)), []);
    }

    #[test]
    fn what_comes_later_in_the_same_millisecond_is_told_once() {
        let [a, b, c] = ["a", "b", "c"].map(|name| saying(name, 5));
        let all = [a.clone(), b.clone(), c.clone()];
        for late in &all {
            let before: Vec<Saying> = all.iter().filter(|one| *one != late).cloned().collect();
            assert_eq!(rest(&before, &all), std::slice::from_ref(late));
        }
        assert_eq!(rest(&[a], &all), [b, c]);
    }

    #[test]
    fn what_was_written_late_is_told_with_what_is_new() {
        let (a, late, b, new) =
            (saying("a", 900), saying("late", 800), saying("b", 700), saying("new", 5));
        let all = [a.clone(), late.clone(), b.clone(), new.clone()];
        assert_eq!(rest(&[a, b], &all), [late, new]);
    }

    #[test]
    fn what_cannot_be_explained_is_told_again() {
        let gone = saying("gone", 3);
        let all = ["a", "b"].map(|name| saying(name, 5));
        assert_eq!(rest(&[gone], &all), all);
    }
}
