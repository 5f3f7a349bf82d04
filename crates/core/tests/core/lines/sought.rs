//! What is sought in lines that are too long to hold.

use super::{Growing, Seen, seen};
use agentctl_core::{
    host::Bytes,
    lines::{Flow, LIMIT, Line, Walker, walk},
};
use memchr::memchr;
use std::sync::atomic::AtomicUsize;

/// As long as any that is sought.
const WORD: &[u8; 32] = br#""a word of 32 bytes with quotes""#;

/// A file is read in multiples of this.
const STEP: usize = 16 << 10;

/// Seeks lines with the word.
struct Reading(Vec<Seen>);

impl Walker for Reading {
    fn sought(&self, lines: &[u8]) -> Option<usize> {
        memchr(WORD[0], lines).filter(|at| lines[*at..].starts_with(WORD))
    }

    fn visit(&mut self, line: Line<'_>) -> Flow {
        self.0.push(seen(&line));
        Flow::Continue(())
    }
}

/// What stands before the long line.
const SHORT: &[u8] = b"short\n";

/// What is found in a long line that has this word there.
fn found(length: usize, at: usize, word: &[u8]) -> Vec<Seen> {
    let mut line = vec![b'x'; length];
    line[at..at + word.len()].copy_from_slice(word);
    let bytes = [SHORT, &line, b"\n", SHORT].concat();
    let (opened, step, read) = (bytes.len(), usize::MAX, AtomicUsize::new(0));
    let file = Growing { bytes, opened, step, grows: 0, read };
    let mut reading = Reading(Vec::new());
    assert_eq!(walk(&file, 0, &mut reading).expect("memory can be read"), file.size());
    reading.0
}

/// A long line is shown in parts, and what is sought may stand across two of them.
#[test]
fn a_word_is_found_wherever_it_stands_in_a_long_line() {
    let length = LIMIT + 1_200_000;
    let line = vec![(SHORT.len() as u64, length as u64, None)];
    let most = length - WORD.len();
    // Where a part may end.
    let ends = (1..).map(|steps| steps * STEP - SHORT.len()).take_while(|end| *end < most);
    for at in ends.flat_map(|end| [end - 31, end - 16, end - 1]).chain([0, most]) {
        assert_eq!(found(length, at, WORD), line, "at {at}");
    }
    assert_eq!(found(length, most, &WORD[..31]), []);
}
