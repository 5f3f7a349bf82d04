//! The small parsers of `core`: lines, matrix files, receipts, cursors, names, text.

use agentctl_core::{
    event::{Cursor, Look},
    fuse::Fuse,
    host::Bytes,
    lines::{Body, Flow, LIMIT, Line, back, forward},
    matrix::{self, Matrix},
    receipt::{Exit, Launched, Ran, Stopped},
    select::{Name, shortest},
    text::{is_hostile, many_lines, one_line},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::{Serialize, de::DeserializeOwned};
use std::{fmt::Debug, io};

/// Stands for half of the longest line that is held, so that a small input may be a huge file.
const HALF: u8 = 0xff;
/// More of these are taken for one.
const MOST: usize = 3;

/// A file that is read a few bytes at a time, and has grown since it was opened.
struct Torn {
    bytes: Vec<u8>,
    opened: usize,
    step: usize,
}

impl Bytes for Torn {
    fn size(&self) -> u64 {
        self.opened as u64
    }

    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        let at = usize::try_from(at).unwrap_or(usize::MAX).min(self.bytes.len());
        let read = (self.bytes.len() - at).min(buf.len()).min(self.step);
        buf[..read].copy_from_slice(&self.bytes[at..at + read]);
        Ok(read)
    }
}

/// A line as it is compared: where it begins, how long it is, and all of it if it may be held.
type Seen = (u64, u64, Option<Vec<u8>>);

fn seen(line: &Line<'_>) -> Seen {
    let held = match line.body {
        Body::Whole(bytes) => Some(bytes.to_vec()),
        Body::Huge(_) => None,
    };
    (line.at, line.size(), held)
}

/// Every line of the bytes, as a plain split sees them.
fn plain(bytes: &[u8]) -> Vec<Seen> {
    let mut at = 0;
    let mut found = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        if !line.is_empty() {
            let held = (line.len() <= LIMIT).then(|| line.to_vec());
            found.push((at, line.len() as u64, held));
        }
        at += line.len() as u64 + 1;
    }
    found
}

/// Both readers see what a plain split sees, however the file is handed over.
pub(super) fn lines(input: &[u8]) {
    let [step, opened, content @ ..] = input else { return };
    let mut bytes = Vec::new();
    let mut halves = 0;
    for byte in content {
        if *byte == HALF && halves < MOST {
            halves += 1;
            bytes.extend(std::iter::repeat_n(b'x', LIMIT / 2 + 1));
        } else {
            bytes.push(*byte);
        }
    }
    let opened = bytes.len() * usize::from(*opened) / 255;
    let step = if *step == 0 { usize::MAX } else { usize::from(*step) * 64 };
    let file = Torn { bytes, opened, step };
    let mut backward = Vec::new();
    let mut visit = |line: Line<'_>| {
        backward.push(seen(&line));
        Flow::Continue(())
    };
    back(&file, &mut visit).expect("memory can be read");
    backward.reverse();
    assert_eq!(backward, plain(&file.bytes[..file.opened]), "from the end");
    let mut ahead = Vec::new();
    let mut visit = |line: Line<'_>| {
        ahead.push(seen(&line));
        Flow::Continue(())
    };
    let rest = forward(&file, 0, &mut visit).expect("memory can be read");
    let whole = file.bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    assert_eq!((ahead, rest), (plain(&file.bytes[..whole]), whole as u64), "from the beginning");
}

/// A matrix file is understood or refused, and what is understood has names that differ.
pub(super) fn matrix(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    match Matrix::parse(text) {
        Ok(matrix) => {
            assert!(matrix.slots.len() <= matrix::MOST, "{} launches", matrix.slots.len());
            let mut names = matrix::names(&matrix.slots);
            for name in &names {
                let branch = matrix::branch("group", name);
                assert!(!branch.contains(char::is_control), "{branch:?}");
                assert!(!branch.contains("..") && !name.contains(['/', ' ']), "{branch:?}");
            }
            names.sort();
            names.dedup();
            assert_eq!(names.len(), matrix.slots.len(), "two launches of one name");
        }
        Err(off) => drop(off.to_string()),
    }
}

/// Whatever is read as one of ours is written as it was read.
pub(super) fn receipts(input: &[u8]) {
    let now = Timestamp::UNIX_EPOCH;
    if let Some(launch) = same::<Launched>(input) {
        let _ =
            (launch.role(), launch.is_stale(now, false), launch.is_stale(Timestamp::MAX, false));
        assert!(!launch.is_stale(now, true), "the receipt of a live process goes");
    }
    let _ = same::<Exit>(input).map(|exit| exit.shown());
    let _ = same::<Stopped>(input).map(|stop| (stop.is_stale(now), stop.is_stale(Timestamp::MIN)));
    let _ = same::<Ran>(input);
    let _ = same::<Fuse>(input).map(|fuse| {
        (fuse.is_due(now), fuse.is_stale(now), fuse.is_stale(Timestamp::MAX), fuse.is_set())
    });
}

fn same<T: Serialize + DeserializeOwned + PartialEq + Debug>(input: &[u8]) -> Option<T> {
    let read: T = serde_json::from_slice(input).ok()?;
    let text = serde_json::to_vec(&read).expect("ours can be written");
    let again: T = serde_json::from_slice(&text).expect("what was written can be read");
    assert_eq!(again, read);
    Some(read)
}

/// A cursor is read or refused; one that is read tells what it has to tell and reads back.
pub(super) fn cursors(input: &[u8]) {
    let text = match input.starts_with(b"c1.") {
        true => String::from_utf8_lossy(input).into_owned(),
        false => format!("c1.{}", URL_SAFE_NO_PAD.encode(input)),
    };
    let _ = Cursor::is_meant(&text);
    let Ok(mut cursor) = Cursor::from_text(&text) else { return };
    assert_eq!(Cursor::from_text(&cursor.to_text()).as_ref(), Ok(&cursor));
    let _ = (cursor.here(), cursor.gap(Timestamp::UNIX_EPOCH));
    for full in [false, true] {
        let agents = cursor.marks.keys().map(|key| key.agent.clone()).collect();
        let look = Look { full, agents, ..Look::nothing(Timestamp::UNIX_EPOCH) };
        for event in cursor.tell(&look) {
            assert!(Cursor::from_text(&event.cursor).is_ok(), "{event:?}");
        }
    }
}

/// The first line is a name, the others are ids. A name never leads out of a folder, and what is shown
/// of an id means it.
pub(super) fn names(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut lines = text.lines();
    if let Some(name) = lines.next().and_then(Name::parse)
        && let Name::Id { prefix, .. } = &name
    {
        assert!(!prefix.contains('/') && !prefix.is_empty(), "{prefix:?}");
        assert!(name.fits(prefix));
    }
    let mut ids: Vec<&str> = lines.filter(|id| !id.is_empty()).collect();
    ids.sort_unstable();
    ids.dedup();
    for (id, length) in ids.iter().zip(shortest(&ids, |_| 1)) {
        let name = Name::Id { prefix: id[..length].to_owned(), dir: None };
        assert!(name.fits(id));
        let others = ids.iter().filter(|other| *other != id && name.fits(other)).count();
        // One that begins another is told apart by being exact.
        assert!(
            others == 0 || length == id.len(),
            "{:?} is shown for {id:?} of {ids:?}",
            &id[..length]
        );
    }
}

/// What is shown holds nothing that steers a terminal, and showing it again changes nothing.
pub(super) fn text(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let line = one_line(&text);
    assert!(!line.contains(is_hostile), "{line:?}");
    assert_eq!(one_line(&line), line);
    let page = many_lines(&text);
    assert!(!page.contains(|c| is_hostile(c) && !matches!(c, '\n' | '\t')), "{page:?}");
    assert_eq!(many_lines(&page), page);
    let excerpt = agentctl_core::text::excerpt(&text);
    assert!(excerpt.is_none_or(|excerpt| text.contains(&excerpt)));
}
