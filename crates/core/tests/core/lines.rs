//! The line readers see what a plain split sees, however the file is handed over.

mod recent;
mod sought;

use crate::some;
use agentctl_core::{
    host::Bytes,
    lines::{Body, Flow, LIMIT, Line, Span, Walker, back, forward, head, walk},
};
use proptest::prelude::*;
use std::{
    io::{self, Read},
    sync::atomic::{AtomicUsize, Ordering},
};

/// A file that hands over a few bytes at a time, and grows with every reading up to all that it has.
#[derive(Debug)]
struct Growing {
    bytes: Vec<u8>,
    /// How much was there when it was opened.
    opened: usize,
    /// So much at a time.
    step: usize,
    /// So much comes with each reading.
    grows: usize,
    read: AtomicUsize,
}

impl Bytes for Growing {
    fn size(&self) -> u64 {
        self.opened as u64
    }

    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        let readings = self.read.fetch_add(1, Ordering::Relaxed);
        let there = (self.opened + readings * self.grows).min(self.bytes.len());
        let at = usize::try_from(at).unwrap_or(usize::MAX).min(there);
        let read = (there - at).min(buf.len()).min(self.step);
        buf[..read].copy_from_slice(&self.bytes[at..at + read]);
        Ok(read)
    }
}

/// A file that is held: nothing needs to be read of it.
struct Held(Vec<u8>);

impl Bytes for Held {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Err(io::Error::other("it is held"))
    }

    fn held(&self) -> Option<&[u8]> {
        Some(&self.0)
    }
}

type Seen = (u64, u64, Option<Vec<u8>>);

/// Seeks lines that have this byte, at most so many.
struct Seeking {
    byte: u8,
    found: Vec<Seen>,
    most: usize,
}

impl Walker for Seeking {
    fn sought(&self, lines: &[u8]) -> Option<usize> {
        let has_newlines = lines.contains(&b'\n') == (lines.last() == Some(&b'\n'));
        assert!(
            has_newlines,
            "each has its newline, or it is a part of one that is too long to hold"
        );
        lines.iter().position(|byte| *byte == self.byte)
    }

    fn visit(&mut self, line: Line<'_>) -> Flow {
        self.found.push(seen(&line));
        match self.found.len() < self.most {
            true => Flow::Continue(()),
            false => Flow::Break(()),
        }
    }
}

fn seen(line: &Line<'_>) -> Seen {
    let held = match line.body {
        Body::Whole(bytes) => Some(bytes.to_vec()),
        Body::Huge(_) => None,
    };
    (line.at, line.size(), held)
}

fn plain(bytes: &[u8]) -> Vec<Seen> {
    let mut at = 0;
    let mut found = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        if !line.is_empty() {
            found.push((at, line.len() as u64, (line.len() <= LIMIT).then(|| line.to_vec())));
        }
        at += line.len() as u64 + 1;
    }
    found
}

fn upto_newline(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
}

/// Lines of every size that matters: none, few bytes, around a step of the readers, beyond the limit.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let size = prop_oneof![
        2 => Just(0usize),
        8 => 1..60usize,
        3 => 16_000..17_000usize,
        1 => 250_000..280_000usize,
        1 => LIMIT - 2..LIMIT + 3,
        1 => LIMIT + 300_000..LIMIT + 300_009,
    ];
    let line = (size, any::<u8>().prop_filter("no newline", |byte| *byte != b'\n'), any::<bool>());
    prop::collection::vec(line, 0..7).prop_map(|lines| {
        let mut bytes = Vec::new();
        let last = lines.len().saturating_sub(1);
        for (number, (size, byte, whole)) in lines.into_iter().enumerate() {
            bytes.extend(std::iter::repeat_n(byte, size));
            if whole || number != last {
                bytes.push(b'\n');
            }
        }
        bytes
    })
}

fn file() -> impl Strategy<Value = Growing> {
    let step = prop_oneof![Just(usize::MAX), 1_000..70_000usize];
    let part = prop_oneof![2 => Just(1.0f64), 1 => 0.0..1.0f64];
    (content(), part, step, prop_oneof![Just(0usize), Just(100_000usize), 500_000..2_000_000usize])
        .prop_map(|(bytes, part, step, grows)| {
            let opened = (bytes.len() as f64 * part) as usize;
            Growing { bytes, opened, step, grows, read: AtomicUsize::new(0) }
        })
}

proptest! {
    #![proptest_config(some::plain(60))]

    #[test]
    fn from_the_end_they_are_what_was_there_at_opening(file in file()) {
        let mut found = Vec::new();
        back(&file, &mut |line| {
            found.push(seen(&line));
            Flow::Continue(())
        }).expect("memory can be read");
        found.reverse();
        prop_assert!(found == plain(&file.bytes[..file.opened]));
    }

    /// However it grows meanwhile: what was seen is how a plain split begins, nothing is seen in part,
    /// and going on from where it ended finds the rest.
    #[test]
    fn from_the_beginning_nothing_is_torn_lost_or_seen_twice(file in file()) {
        let mut found = Vec::new();
        let mut at = 0;
        for _ in 0..50 {
            at = forward(&file, at, &mut |line| {
                found.push(seen(&line));
                Flow::Continue(())
            }).expect("memory can be read");
            prop_assert_eq!(usize::try_from(at).expect("small"), upto_newline(&file.bytes[..at as usize]));
        }
        let whole = match file.grows {
            0 => upto_newline(&file.bytes[..file.opened]),
            _ => upto_newline(&file.bytes),
        };
        prop_assert_eq!(at, whole as u64);
        prop_assert!(found == plain(&file.bytes[..whole]));
    }

    /// Whoever stops after some lines and goes on sees the same lines.
    #[test]
    fn stopping_and_going_on_changes_nothing(bytes in content(), stops in prop::collection::vec(1..4usize, 1..9)) {
        let opened = bytes.len();
        let file = Growing { bytes, opened, step: usize::MAX, grows: 0, read: AtomicUsize::new(0) };
        let (mut at, mut found) = (0, Vec::new());
        for stop in stops.iter().chain(&[usize::MAX]) {
            let mut left = *stop;
            at = forward(&file, at, &mut |line| {
                found.push(seen(&line));
                left -= 1;
                if left == 0 { Flow::Break(()) } else { Flow::Continue(()) }
            }).expect("memory can be read");
        }
        let all = plain(&file.bytes[..upto_newline(&file.bytes)]);
        prop_assert!(found == all);
        let mut first = Vec::new();
        head(&file, 2, &mut |line| {
            first.push(seen(line));
            false
        }).expect("memory can be read");
        prop_assert!(first == all[..all.len().min(2)]);
    }

    /// Whoever seeks some lines is given these; he ends where one ends who is given all.
    #[test]
    fn those_that_are_sought_are_visited(file in file(), byte in 11..=255u8, most in 1..9usize) {
        let mut seeking = Seeking { byte, found: Vec::new(), most: usize::MAX };
        let mut at = 0;
        for _ in 0..50 {
            at = walk(&file, at, &mut seeking).expect("memory can be read");
        }
        let whole = match file.grows {
            0 => upto_newline(&file.bytes[..file.opened]),
            _ => upto_newline(&file.bytes),
        };
        prop_assert_eq!(at, whole as u64);
        let mut all = plain(&file.bytes[..whole]);
        all.retain(|(at, _, _)| file.bytes[usize::try_from(*at).expect("small")] == byte); // each is of one letter
        prop_assert!(seeking.found == all);

        let bytes = file.bytes[..whole].to_vec();
        let mut few = Seeking { byte, found: Vec::new(), most };
        let stopped = walk(&bytes, 0, &mut few).expect("memory can be read");
        let end = few.found.get(most - 1).map(|(at, size, _)| at + size + 1);
        prop_assert_eq!(stopped, end.unwrap_or(whole as u64));
    }

    /// What is held is walked where it stands: from either end, from any line on, and up to where one was enough.
    #[test]
    fn what_is_held_has_the_same_lines(bytes in content(), most in 1..9usize, byte in 11..=255u8) {
        let held = Held(bytes.clone());
        let backwards = |file: &dyn Bytes| {
            let mut found = Vec::new();
            back(file, &mut |line| {
                found.push(seen(&line));
                if found.len() < most { Flow::Continue(()) } else { Flow::Break(()) }
            }).expect("memory can be read");
            found
        };
        prop_assert!(backwards(&held) == backwards(&bytes));

        let whole = upto_newline(&bytes);
        let (mut at, mut found) = (0, Vec::new());
        loop {
            let mut left = most;
            let next = forward(&held, at, &mut |line| {
                found.push(seen(&line));
                left -= 1;
                if left == 0 { Flow::Break(()) } else { Flow::Continue(()) }
            }).expect("memory can be read");
            if next == at {
                break;
            }
            at = next;
        }
        prop_assert_eq!(at, whole as u64);
        prop_assert!(found == plain(&bytes[..whole]));
        let beyond = bytes.len() as u64 + 7;
        prop_assert_eq!(forward(&held, beyond, &mut |_| Flow::Continue(())).expect("nothing"), beyond);

        let mut seeking = Seeking { byte, found: Vec::new(), most: usize::MAX };
        prop_assert_eq!(walk(&held, 0, &mut seeking).expect("memory can be read"), whole as u64);
        let mut sought = plain(&bytes[..whole]);
        sought.retain(|(at, size, _)| bytes[*at as usize..][..*size as usize].contains(&byte));
        prop_assert!(seeking.found == sought);
    }

    #[test]
    fn a_span_is_what_stands_there(bytes in content(), from in 0..300_000u64, size in 0..300_000u64) {
        let opened = bytes.len();
        let file = Growing { bytes, opened, step: 7_000, grows: 0, read: AtomicUsize::new(0) };
        let mut read = Vec::new();
        Span::new(&file, from, size).read_to_end(&mut read).expect("memory can be read");
        let end = opened.min((from + size) as usize);
        prop_assert!(read == file.bytes[(from as usize).min(end)..end]);
    }
}

/// Zeros without an end: such a file costs no disk.
#[derive(Debug)]
struct Hole(u64);

impl Bytes for Hole {
    fn size(&self) -> u64 {
        self.0
    }

    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        let left = usize::try_from(self.0.saturating_sub(at)).unwrap_or(usize::MAX);
        Ok(left.min(buf.len()))
    }
}

/// The end of a line is not looked for without a limit, from either side; below it, it is.
#[test]
fn a_line_without_an_end_is_an_error() {
    let mut seen = 0;
    let mut visit = |line: Line<'_>| {
        seen = line.size();
        Flow::Continue(())
    };
    let long = Hole(200 << 20);
    assert_eq!(forward(&long, 0, &mut visit).expect("it is no line yet"), 0);
    back(&long, &mut visit).expect("it is read to its beginning");
    let hole = Hole(1 << 40);
    for failed in [forward(&hole, 0, &mut visit).map(|_| ()), back(&hole, &mut visit)] {
        let why = failed.expect_err("it has no end").to_string();
        assert_eq!(why, "a line is longer than 256 MiB");
    }
    assert_eq!(seen, 200 << 20);
}

/// What was cut off between opening and reading is no line of zeros.
#[test]
fn a_file_that_was_cut_shorter_has_no_lines_behind_its_end() {
    let bytes = b"one\ntwo\n".to_vec();
    let file = Growing { bytes, opened: 20, step: usize::MAX, grows: 0, read: AtomicUsize::new(0) };
    let mut seen = Vec::new();
    back(&file, &mut |line| {
        seen.push(line.at);
        Flow::Continue(())
    })
    .expect("memory can be read");
    assert_eq!(seen, [0; 0]);

    struct Cut;
    impl Bytes for Cut {
        fn size(&self) -> u64 {
            20
        }

        fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
            b"one\ntwo\n".to_vec().read_at(buf, at)
        }

        fn held(&self) -> Option<&[u8]> {
            Some(b"one\ntwo\n")
        }
    }
    back(&Cut, &mut |line| {
        seen.push(line.at);
        Flow::Continue(())
    })
    .expect("memory can be read");
    assert_eq!(seen, [0; 0]);
}

/// A file that counts how often and how much is read of it.
struct Counted {
    bytes: Vec<u8>,
    reads: AtomicUsize,
    read: AtomicUsize,
}

impl Counted {
    fn of(bytes: Vec<u8>) -> Self {
        Self { bytes, reads: AtomicUsize::new(0), read: AtomicUsize::new(0) }
    }
}

impl Bytes for Counted {
    fn size(&self) -> u64 {
        self.bytes.size()
    }

    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        let read = self.bytes.read_at(buf, at)?;
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.read.fetch_add(read, Ordering::Relaxed);
        Ok(read)
    }
}

type Walk = fn(&dyn Bytes, &mut dyn FnMut(Line<'_>) -> Flow) -> io::Result<()>;

/// From either end.
const WALKS: [Walk; 2] =
    [|file, visit| forward(file, 0, visit).map(|_| ()), |file, visit| back(file, visit)];

/// However much stands before or after it, so that a reading may end where it does.
#[test]
fn a_line_of_the_limit_is_whole_wherever_it_stands() {
    for around in (1..20).map(|number| number << 14) {
        let (before, after) = (b"x".repeat(around - 1), b"z".repeat(around - 1));
        let bytes = [before, b"y".repeat(LIMIT), after].join(&b'\n');
        for walk in WALKS {
            let mut whole = 0;
            walk(&bytes, &mut |line| {
                whole += usize::from(matches!(line.body, Body::Whole(held) if held.len() == LIMIT));
                Flow::Continue(())
            })
            .expect("memory can be read");
            assert_eq!(whole, 1, "{around}");
        }
    }
}

#[test]
fn a_huge_line_has_its_size_after_another_long_one() {
    let bytes = [b"x".repeat(LIMIT + 300_000), b"\n".to_vec(), b"y".repeat(LIMIT)].concat();
    let mut found = Vec::new();
    back(&bytes, &mut |line| {
        found.push((line.at, line.size()));
        Flow::Continue(())
    })
    .expect("memory can be read");
    let (huge, long) = (LIMIT as u64 + 300_000, LIMIT as u64);
    assert_eq!(found, [(huge + 1, long), (0, huge)]);
}

#[test]
fn whoever_stops_at_a_line_goes_on_where_the_next_begins() {
    for size in [1, 20_000, LIMIT, LIMIT + 300_000] {
        let mut bytes = b"x".repeat(size);
        bytes.extend(b"\ntwo\n");
        let mut sizes = Vec::new();
        let mut stop = |line: Line<'_>| {
            sizes.push(line.size());
            Flow::Break(())
        };
        assert_eq!(forward(&bytes, 0, &mut stop).expect("memory"), size as u64 + 1);
        back(&[b"one\n".to_vec(), b"x".repeat(size)].concat(), &mut stop).expect("memory");
        assert_eq!(sizes, [size as u64; 2]);
    }
}

/// Most readers want what stands near the end; a walk through all of a file makes few readings.
#[test]
fn little_is_read_for_who_wants_little_and_much_at_once_for_who_wants_all() {
    let lines = b"0123456789abcde\n".repeat(1 << 17);
    for far in [10 << 10, 120 << 10, 250 << 10] {
        let file = Counted::of(lines.clone());
        let enough = file.size() - far;
        let until = |line: Line<'_>| match line.at <= enough {
            true => Flow::Break(()),
            false => Flow::Continue(()),
        };
        back(&file, &mut { until }).expect("memory can be read");
        let read = file.read.into_inner() as u64;
        assert!((far..=far + (64 << 10)).contains(&read), "{read} for {far}");
    }
    for walk in WALKS {
        let file = Counted::of(lines.clone());
        walk(&file, &mut |_| Flow::Continue(())).expect("memory can be read");
        let reads = file.reads.into_inner();
        assert!(reads < 20, "{reads} readings");
    }
}

/// Zeros with newlines at these places.
struct Sparse(u64, [u64; 2]);

impl Bytes for Sparse {
    fn size(&self) -> u64 {
        self.0
    }

    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        let left = usize::try_from(self.0.saturating_sub(at)).unwrap_or(usize::MAX);
        let read = left.min(buf.len());
        buf[..read].fill(0);
        for place in self.1.iter().filter_map(|place| usize::try_from(place.checked_sub(at)?).ok())
        {
            if place < read {
                buf[place] = b'\n';
            }
        }
        Ok(read)
    }
}

#[test]
fn how_far_into_a_file_a_long_line_stands_does_not_matter() {
    let (first, long) = (300 << 20, LIMIT as u64 + 300_000);
    let file = Sparse(first + long + 1, [first - 1, first + long]);
    let mut found = Vec::new();
    let mut visit = |line: Line<'_>| {
        found.push((line.at, line.size()));
        Flow::Break(())
    };
    assert_eq!(forward(&file, first, &mut visit).expect("memory"), first + long + 1);
    back(&file, &mut visit).expect("memory");
    assert_eq!(found, [(first, long); 2]);
}
