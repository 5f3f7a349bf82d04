//! What is unpacked, and what is counted while it is written anew.

use super::*;
use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

/// A frame of blocks that each stand for 128 KiB of one byte, in four bytes.
fn bomb(blocks: u32) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38]; // no size told, a window of 128 KiB
    for number in 0..blocks {
        let header = (0x2_0000 << 3) | (1 << 1) | u32::from(number + 1 == blocks);
        frame.extend(&header.to_le_bytes()[..3]);
        frame.push(b'[');
    }
    frame
}

#[test]
fn a_small_entry_that_unpacks_to_gigabytes_is_cut() {
    let small = unpack(&bomb(2)).expect("it can be unpacked");
    assert_eq!(small.len(), 2 << 17);
    let huge = unpack(&bomb(100_000)).expect("it can be unpacked"); // 12 GiB
    assert_eq!(huge.len() as u64, LIMIT);
    let wide = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff, 0, 0, 0];
    assert_eq!(unpack(&wide), None, "a window of exabytes");
}

/// Entries of one token each that become others behind the first page.
struct Compacted {
    rows: Mutex<Vec<i64>>,
    then: Vec<i64>,
    pages: AtomicUsize,
}

impl Tables for Compacted {
    fn rows(&self, _: &Path, sql: &str, args: &[Cell]) -> io::Result<Vec<Vec<Cell>>> {
        let number = |at: usize| args[at].number().expect("a number");
        let mut rows = self.rows.lock().expect("one thread");
        if sql.contains("count(*)") {
            let seen: Vec<i64> = rows.iter().copied().filter(|seq| *seq <= number(1)).collect();
            let last = seen.last().map_or(Cell::Null, |last| Cell::Number(*last));
            let count = Cell::Number(seen.len() as i64);
            return Ok(vec![vec![count.clone(), last, count]]);
        }
        let page = rows.iter().filter(|seq| **seq > number(1));
        let event = r#"{"type":"message","message":{"role":"assistant","usage":{"output":1}}}"#;
        let (event, size) = (Cell::Text(event.into()), Cell::Number(1));
        let row = |seq: &i64| vec![Cell::Number(*seq), event.clone(), Cell::Null, size.clone()];
        let page = page.take(number(2) as usize).map(row).collect();
        if self.pages.fetch_add(1, Ordering::Relaxed) == 0 {
            *rows = self.then.clone();
        }
        Ok(page)
    }
}

fn stub() -> Stub {
    Stub::new("one", "/db", Timestamp::UNIX_EPOCH)
}

fn counted_of(then: Vec<i64>) -> Option<u64> {
    let (rows, pages) = (Mutex::new((0..2500).collect()), AtomicUsize::new(0));
    let tables = Compacted { rows, then, pages };
    let said = whole(&tables, &stub(), None).expect("it rests at last");
    said.tokens.map(|tokens| tokens.output)
}

#[test]
fn a_transcript_is_of_before_a_compaction_or_of_after_it() {
    assert_eq!(counted_of((0..2500).collect()), Some(2500));
    assert_eq!(counted_of((0..2700).collect()), Some(2700), "more was said since");
    assert_eq!(counted_of((2000..2500).collect()), Some(500), "the old ones are gone");
    assert_eq!(counted_of((0..20).collect()), Some(20), "the new ones are few");
    assert_eq!(counted_of(Vec::new()), Some(0), "there is none any more");
}

/// Pages that each end long before their last row, which never come to an end, or which belong to two moments.
struct Shows {
    entries: Entries,
    torn: AtomicUsize,
}

struct Entries {
    /// How long each of them is.
    size: i64,
    count: i64,
    asked: AtomicUsize,
}

impl Tables for Entries {
    fn rows(&self, _: &Path, sql: &str, args: &[Cell]) -> io::Result<Vec<Vec<Cell>>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let (last, count) = (self.count - 1, self.count);
        if sql.contains("count(*)") {
            assert_eq!(args[1], Cell::Number(last));
            return Ok(vec![[count, last, count * self.size].map(Cell::Number).to_vec()]);
        }
        let event = r#"{"type":"usage","usage":{"output":1}}"#;
        let row = |seq| {
            let (seq, size) = (Cell::Number(seq), Cell::Number(self.size));
            vec![seq, Cell::Text(event.into()), Cell::Null, size]
        };
        Ok((args[1].number().expect("a number") + 1..count).map(row).collect())
    }
}

impl Tables for Shows {
    fn rows(&self, db: &Path, sql: &str, args: &[Cell]) -> io::Result<Vec<Vec<Cell>>> {
        self.entries.rows(db, sql, args)
    }

    fn show(
        &self,
        db: &Path,
        question: (&str, &[Cell]),
        visit: &mut dyn FnMut(&[Shown<'_>]) -> Flow,
    ) -> io::Result<Showing> {
        let _ = self.entries.show(db, question, visit)?; // it cannot know
        let torn = self.torn.load(Ordering::Relaxed);
        self.torn.store(torn.saturating_sub(1), Ordering::Relaxed);
        Ok(if torn == 0 { Showing::Sound } else { Showing::Torn })
    }
}

fn shown_of((size, count): (i64, i64), torn: usize) -> (io::Result<Option<u64>>, usize) {
    let entries = Entries { size, count, asked: AtomicUsize::new(0) };
    let tables = Shows { entries, torn: torn.into() };
    let said = whole(&tables, &stub(), None);
    let tokens = said.map(|said| said.tokens.map(|tokens| tokens.output));
    (tokens, tables.entries.asked.load(Ordering::Relaxed))
}

#[test]
fn long_entries_are_read_a_few_at_a_time_and_torn_pages_again() {
    let counted = |of, torn| {
        let (tokens, asked) = shown_of(of, torn);
        (tokens.expect("it rests at last"), asked)
    };
    assert_eq!(counted((100, 20), 0), (Some(20), 1));
    assert_eq!(counted((ENOUGH / 4, 9), 0), (Some(9), 4), "and what was read is still there");
    assert_eq!(counted((ENOUGH / 4, 8), 0), (Some(8), 4));
    assert_eq!(counted((ENOUGH * 2, 3), 0), (Some(3), 5));
    assert_eq!(counted((100, 20), TRIES - 1), (Some(20), TRIES));
    let why = shown_of((100, 20), TRIES).0.expect_err("it never rests");
    assert_eq!(why.to_string(), "its transcript is written anew faster than it can be read");
}

/// One entry under what is no number of one.
struct Odd;

impl Tables for Odd {
    fn rows(&self, _: &Path, _: &str, _: &[Cell]) -> io::Result<Vec<Vec<Cell>>> {
        Ok(vec![vec![Cell::Fraction(2.5), Cell::Text("{}".into()), Cell::Null, Cell::Number(2)]])
    }
}

#[test]
fn what_cannot_be_told_from_the_end_is_an_error() {
    let why = whole(&Odd, &stub(), None).err().map(|why| why.to_string());
    assert_eq!(why.as_deref(), Some("its entries are not numbered"));
}
