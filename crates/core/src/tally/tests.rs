//! Counts that go on say the same as counting all of it.

use super::*;
use crate::{host::Kind, lines::Body};
use jiff::Timestamp;
use proptest::prelude::*;
use std::sync::Mutex;

/// Lines of `<id> <tokens>`.
#[derive(Debug, Default)]
struct Lines(Messages);

impl Count for Lines {
    fn roomy() -> Self {
        Self(Messages::roomy())
    }

    fn take(&mut self, _: &dyn Bytes, line: &Line<'_>) -> bool {
        let Body::Whole(bytes) = line.body else { return true };
        let text = String::from_utf8_lossy(bytes);
        let Some((id, output)) = text.split_once(' ') else { return true };
        let output = output.parse().unwrap_or(0);
        self.0.add(id, Tokens { output, ..Tokens::default() })
    }

    fn write(&self, to: &mut Writer) {
        self.0.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Messages::read(from).map(Self)
    }
}

/// What is kept of a file, as far as it goes.
fn kept(file: &Vec<u8>) -> Vec<u8> {
    let (mark, count) = whole(file);
    Place { mark, print: print(file, mark).expect("readable") }.write(&count)
}

fn whole(file: &Vec<u8>) -> (u64, Lines) {
    walk(file, 0, Lines::default()).expect("readable").expect("it saw all lines")
}

/// Where a count that goes on ends, how many messages it has seen, and what they used.
fn gone_on(file: &Vec<u8>, kept: &[u8]) -> Option<(u64, usize, Tokens)> {
    let (mark, Lines(messages)) = later(file, kept).expect("readable")?;
    Some((mark, messages.len(), messages.tokens()))
}

fn text(lines: &[(u8, u64)]) -> Vec<u8> {
    lines.iter().flat_map(|(id, tokens)| format!("m{id} {tokens}\n").into_bytes()).collect()
}

proptest! {
    #[test]
    fn wherever_a_count_stopped_it_ends_the_same(
        lines in prop::collection::vec((any::<u8>(), any::<u64>()), 0..80),
        at in any::<prop::sample::Index>(),
    ) {
        let file = text(&lines);
        let cut = at.index(file.len() + 1);
        let (mark, Lines(all)) = whole(&file);
        let kept = kept(&file[..cut].to_vec());
        if let Some(told) = gone_on(&file, &kept) {
            prop_assert_eq!(told, (mark, all.len(), all.tokens()));
        }
    }

    #[test]
    fn whatever_was_kept_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Place::read::<Lines>(&bytes);
    }
}

#[test]
fn new_messages_are_added_and_the_newest_may_change() {
    let old: Vec<(u8, u64)> = (0..40).map(|id| (id, 1)).collect();
    let kept = kept(&text(&old));
    let with = |more: &[(u8, u64)]| gone_on(&text(&[&old, more].concat()), &kept);
    let sums = |told: Option<(u64, usize, Tokens)>| told.map(|(_, count, sum)| (count, sum.output));
    assert_eq!(sums(with(&[])), Some((40, 40)));
    assert_eq!(sums(with(&[(50, 5), (39, 7), (50, 6)])), Some((41, 39 + 7 + 6)));
    assert_eq!(sums(with(&[(0, 7)])), None, "what that counted before is not known any more");
}

/// A message is met again so long after that nobody knows any more what its first line counted.
#[test]
fn what_is_met_again_long_after_is_counted_once() {
    let many: Vec<String> = (0..10_000).map(|id| format!("m{id} 1\n")).collect();
    let file = [many.concat(), many[..10].concat().replace(" 1", " 3")].concat().into_bytes();
    assert!(walk(&file, 0, Lines::default()).expect("readable").is_none());
    let (mark, Lines(messages)) = anew(&file).expect("readable");
    assert_eq!((mark, messages.len()), (file.len() as u64, 10_000));
    assert_eq!(messages.tokens().output, 10_000 + 10 * 2);
}

/// What is kept of a count that went on knows the newest messages of all of it.
#[test]
fn after_more_messages_the_newest_of_all_may_change() {
    let old: Vec<(u8, u64)> = (0..40).map(|id| (id, 1)).collect();
    let more = text(&(0..48).map(|id| (id, 1)).collect::<Vec<_>>());
    let (mark, count): (u64, Lines) =
        later(&more, &kept(&text(&old))).expect("readable").expect("only new ones");
    let kept = Place { mark, print: print(&more, mark).expect("readable") }.write(&count);
    let again = |id: u8| gone_on(&[more.clone(), text(&[(id, 7)])].concat(), &kept).is_some();
    assert_eq!((0..48).filter(|id| again(*id)).collect::<Vec<_>>(), (32..48).collect::<Vec<_>>());
}

#[test]
fn what_is_not_what_it_was_is_counted_anew() {
    let lines: Vec<(u8, u64)> = (0..200).map(|id| (id, 1_000_000_000)).collect();
    let file = [text(&lines), text(&lines), text(&lines)].concat();
    let (kept, more) = (kept(&file), [file.clone(), b"new 1\n".to_vec()].concat());
    assert!(gone_on(&more, &kept).is_some());
    let spoiled = |at: usize| {
        let mut other = more.clone();
        other[at] ^= 1;
        gone_on(&other, &kept)
    };
    assert_eq!(spoiled(0), None);
    assert_eq!(spoiled(BEGINNING as usize - 1), None);
    assert_eq!(spoiled(file.len() - END as usize), None);
    assert_eq!(spoiled(file.len() - 1), None);
    assert_eq!(gone_on(&file[..file.len() - 1].to_vec(), &kept), None, "it was cut");
    assert_eq!(gone_on(&more[1..].to_vec(), &kept), None, "something before was taken out");
    assert_eq!(gone_on(&more, &kept[1..]), None, "what was kept is damaged");
    assert_eq!(gone_on(&more, &[&kept[..], &[0]].concat()), None, "more was kept than was counted");
    let (mark, count) = whole(&file);
    let unprinted = Place { mark, print: NO_PRINT }.write(&count);
    assert_eq!(gone_on(&more, &unprinted), None, "its ends were not summed");
}

/// A file that is written to while it is read.
struct Rewritten(Mutex<Vec<u8>>);

impl Bytes for Rewritten {
    fn size(&self) -> u64 {
        self.0.lock().expect("one thread").size()
    }

    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        self.0.lock().expect("one thread").read_at(buf, at)
    }
}

#[test]
fn what_was_written_anew_under_the_count_is_not_taken_for_what_was_counted() {
    let lines: Vec<(u8, u64)> = (0..200).map(|id| (id, 1_000_000_000)).collect();
    let old = [text(&lines), text(&lines)].concat();
    let stands_after = |new: Vec<u8>| {
        let file = Rewritten(Mutex::new(old.clone()));
        let ends = Ends::of(&file).expect("readable");
        *file.0.lock().expect("one thread") = new;
        ends.stand(&file).expect("readable")
    };
    assert!(stands_after(old.clone()));
    assert!(stands_after([old.clone(), b"new 1\n".to_vec()].concat()));
    assert!(!stands_after(old[1..].to_vec()), "it was cut");
    // A line was taken out near the end, and more was written.
    let at = old.len() - 100;
    let other = [&old[..at], &old[at + 15..], &b"one more that is longer 7\n"[..]].concat();
    assert!(other.len() > old.len());
    assert!(!stands_after(other));
}

#[test]
fn a_file_has_only_grown_if_it_is_the_same_and_as_it_was_or_longer() {
    let at = |second| Timestamp::from_second(second).expect("a time");
    let stat = |inode, size, second| Stat {
        kind: Kind::File,
        modified: at(7),
        touched: at(second),
        identity: (1, inode),
        size,
    };
    let before = stat(2, 100, 10);
    let grown = |now: Stat| has_only_grown(&before, &now);
    assert!(grown(before) && grown(stat(2, 101, 11)));
    assert!(!grown(stat(2, 100, 11)), "written in place");
    assert!(!grown(stat(2, 99, 11)), "cut");
    assert!(!grown(stat(3, 101, 11)), "another file");
}
