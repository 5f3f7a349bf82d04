//! How far back the newest turn is looked for.

use agentctl_core::{
    host::Bytes,
    lines::{Flow, recent, until},
};
use std::{
    io,
    sync::atomic::{AtomicU64, Ordering},
};

/// As many lines as are looked at.
const MOST: usize = 1 << 18;

/// Lines of half a MiB, as many as fit into this size.
struct Long(u64);

impl Bytes for Long {
    fn size(&self) -> u64 {
        self.0
    }

    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        let end = at + buf.len() as u64;
        buf.fill(b'x');
        let newlines = (at.next_multiple_of(1 << 19)..end).step_by(1 << 19);
        newlines.for_each(|newline| buf[(newline - at) as usize] = b'\n');
        Ok(buf.len())
    }
}

/// How many lines were visited by one who knows what it must from the one on that stands at this place, and wants no more
/// than so many.
fn visited(file: &dyn Bytes, known_at: u64, wanted: usize) -> (usize, Result<(), String>) {
    let mut count = 0;
    let found = recent(file, &mut |line| {
        count += 1;
        (line.at <= known_at).then(|| until(count >= wanted))
    });
    (count, found.map_err(|why| why.to_string()))
}

#[test]
fn a_turn_is_not_looked_for_behind_more_lines_than_one_has() {
    let why = "its last 262144 lines, or 256 MiB, tell nothing of a turn".to_owned();
    let lines = |count: usize| "{}\n".repeat(count).into_bytes();
    assert_eq!(visited(&lines(MOST), 0, MOST), (MOST, Ok(())));
    assert_eq!(visited(&lines(MOST + 1), 0, 1), (MOST, Err(why.clone())));
    // What is known is not lost, though more was wanted.
    assert_eq!(visited(&lines(MOST + 9), u64::MAX, usize::MAX), (MOST, Ok(())));
    assert_eq!(visited(&lines(MOST + 9), u64::MAX, 3), (3, Ok(())));
    // A file without any turn has none.
    assert_eq!(recent(&lines(7), &mut |_| None::<Flow>).map_err(|why| why.to_string()), Ok(()));

    assert_eq!(visited(&Long(256 << 20), 0, 1), (512, Ok(())));
    assert_eq!(visited(&Long((256 << 20) + 1), 1, 1), (512, Ok(())));
    assert_eq!(visited(&Long((256 << 20) + (1 << 19)), 0, 1), (512, Err(why)));
}

/// Newlines, and how many of them were read.
struct Empty {
    size: u64,
    read: AtomicU64,
}

impl Bytes for Empty {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, buf: &mut [u8], _: u64) -> io::Result<usize> {
        buf.fill(b'\n');
        self.read.fetch_add(buf.len() as u64, Ordering::Relaxed);
        Ok(buf.len())
    }
}

#[test]
fn newlines_are_not_read_without_end() {
    let farthest = 256 << 20;
    for (size, is_told) in [(farthest, true), (farthest + (4 << 20), false)] {
        let file = Empty { size, read: AtomicU64::new(0) };
        assert_eq!(recent(&file, &mut |_| None::<Flow>).is_ok(), is_told);
        let read = file.read.into_inner();
        assert!(read <= farthest + (2 << 20), "{read}");
    }
}

#[test]
fn lines_with_nothing_in_them_are_none() {
    let empty = "\n".repeat(MOST * 2);
    for file in
        [format!("{{}}{empty}"), format!("{{}}{empty}{{}}\n"), format!("{{}}{empty}{{}}{empty}")]
    {
        let file = file.into_bytes();
        let lines = 1 + usize::from(file.iter().filter(|byte| **byte == b'{').count() > 1);
        assert_eq!(visited(&file, 0, 9), (lines, Ok(())));
    }
}
