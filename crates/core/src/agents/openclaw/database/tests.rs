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
        let page = rows.iter().filter(|seq| (number(1) + 1..=number(2)).contains(*seq));
        let event = r#"{"type":"message","message":{"role":"assistant","usage":{"output":1}}}"#;
        let row = |seq: &i64| vec![Cell::Number(*seq), Cell::Text(event.into()), Cell::Null];
        let page = page.take(number(3) as usize).map(row).collect();
        if self.pages.fetch_add(1, Ordering::Relaxed) == 0 {
            *rows = self.then.clone();
        }
        Ok(page)
    }
}

fn counted_of(then: Vec<i64>) -> Option<u64> {
    let (rows, pages) = (Mutex::new((0..150).collect()), AtomicUsize::new(0));
    let tables = Compacted { rows, then, pages };
    let (updated, path) = (Timestamp::UNIX_EPOCH, "/db".into());
    let (id, touched) = ("one".to_owned(), updated);
    let stub = Stub { id, path, updated, touched, title: None, stat: None };
    let said = whole(&tables, &stub, &Source::Blind).expect("it rests at last");
    said.tokens.map(|tokens| tokens.output)
}

#[test]
fn a_transcript_is_of_before_a_compaction_or_of_after_it() {
    assert_eq!(counted_of((0..150).collect()), Some(150));
    assert_eq!(counted_of((0..170).collect()), Some(150), "more was said since");
    assert_eq!(counted_of((100..150).collect()), Some(50), "the old ones are gone");
    assert_eq!(counted_of((0..20).collect()), Some(20), "the new ones are few");
}
