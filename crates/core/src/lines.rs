//! Lines of a file that may be huge, torn, or growing while it is read.
//!
//! A line longer than [`LIMIT`] is never held in memory: it is handed on as [`Body::Huge`], to be
//! streamed by whoever needs it.

use crate::host::Bytes;
use memchr::{memchr, memrchr};
use std::{
    cell::Cell,
    io::{self, Read},
    ops::{ControlFlow, Range},
};

/// Lines up to this many bytes are handed on whole.
pub const LIMIT: usize = 1 << 20;
/// The end of a longer line is not looked for: such a file is no transcript, and costs no disk if it is a hole.
const FARTHEST: u64 = 256 << 20;
/// Nor is the newest turn farther back than that, or than so many lines: there are no such turns, and one file must not keep
/// whoever looks at all of them.
const MOST: usize = 1 << 18;
const FIRST_STEP: usize = 16 << 10;
const LAST_STEP: usize = 256 << 10;
/// From the end most readers want no more than this, and would be given twice as much by steps that double.
const NEAR: u64 = 256 << 10;
const NEAR_STEP: usize = 64 << 10;
/// What a walk leaves for the next one is no larger.
const ROOMIEST: usize = 768 << 10;
/// The kernel copies quicker to where a line of the processor's cache begins.
pub const ALIGNED: usize = 64;
/// Nothing is sought that is longer: what stands across two parts of a line too long to hold is shown with the second again.
pub(crate) const ACROSS: usize = 32;

/// One line, without its newline.
#[derive(Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Where it begins.
    pub at: u64,
    /// What it holds.
    pub body: Body<'a>,
}

impl<'a> Line<'a> {
    /// All of it, where it can be held.
    pub fn whole(&self) -> Option<&'a [u8]> {
        match self.body {
            Body::Whole(bytes) => Some(bytes),
            Body::Huge(_) => None,
        }
    }

    /// Its length in bytes.
    pub fn size(&self) -> u64 {
        match self.body {
            Body::Whole(bytes) => bytes.len() as u64,
            Body::Huge(size) => size,
        }
    }
}

/// The content of a line.
#[derive(Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// Too long to hold; this many bytes.
    Huge(u64),
}

/// What a visitor answers: go on, or that is enough.
pub type Flow = ControlFlow<()>;

/// What a visitor answers who goes on until that was enough.
pub fn until(enough: bool) -> Flow {
    match enough {
        true => Flow::Break(()),
        false => Flow::Continue(()),
    }
}

/// Walks the first lines, at most so many, until one was enough.
pub fn head(
    file: &dyn Bytes,
    most: usize,
    is_enough: &mut dyn FnMut(&Line<'_>) -> bool,
) -> io::Result<()> {
    let mut left = most;
    forward(file, 0, &mut |line| {
        left = left.saturating_sub(1);
        until(is_enough(&line) || left == 0)
    })?;
    Ok(())
}

/// Visits lines from the end to the beginning until one was enough, or until they are too many for one turn. A visitor says
/// nothing until it knows what it must: where that is too far back, it is told as an error.
pub fn recent(file: &dyn Bytes, visit: &mut dyn FnMut(Line<'_>) -> Option<Flow>) -> io::Result<()> {
    let floor = file.size().saturating_sub(FARTHEST);
    let (mut left, mut known, mut goes_on) = (MOST, false, true);
    let all = back_to(file, floor, &mut |line| {
        goes_on = left > 0 && line.at >= floor;
        if !goes_on {
            return Flow::Break(());
        }
        left -= 1;
        let told = visit(line);
        known |= told.is_some();
        told.unwrap_or(Flow::Continue(()))
    })?;
    goes_on &= all == Walked::Seen;
    match goes_on || known {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "its last {MOST} lines, or {} MiB, tell nothing of a turn",
            FARTHEST >> 20
        ))),
    }
}

/// Visits lines from the end to the beginning. What follows the last newline counts as a line.
pub fn back(file: &dyn Bytes, visit: &mut dyn FnMut(Line<'_>) -> Flow) -> io::Result<()> {
    back_to(file, 0, visit).map(|_| ())
}

/// How a walk to the beginning ended.
#[derive(PartialEq)]
enum Walked {
    /// There was no more to see, or enough was seen.
    Seen,
    /// What is farther back was not read.
    TooFar,
}

/// The same, and what stands before this place is not read.
fn back_to(
    file: &dyn Bytes,
    floor: u64,
    visit: &mut dyn FnMut(Line<'_>) -> Flow,
) -> io::Result<Walked> {
    // What was cut shorter since it was opened has no lines, as below.
    if let Some(held) = file.held().filter(|held| held.len() as u64 == file.size()) {
        back_within(held, visit);
        return Ok(Walked::Seen);
    }
    let mut room = Room::take();
    walk_back(file, floor, &mut room.0, visit)
}

fn back_within(mut lines: &[u8], visit: &mut dyn FnMut(Line<'_>) -> Flow) {
    loop {
        lines = without_empty(lines);
        let Some(cut) = memrchr(b'\n', lines) else { break };
        if hand(cut as u64 + 1, &lines[cut + 1..], visit).is_break() {
            return;
        }
        lines = &lines[..cut];
    }
    let _ = hand(0, lines, visit);
}

/// What is held stands at the end of the room, so that what comes before it is read to its place.
fn walk_back(
    file: &dyn Bytes,
    floor: u64,
    room: &mut Vec<u8>,
    visit: &mut dyn FnMut(Line<'_>) -> Flow,
) -> io::Result<Walked> {
    let mut base = file.size(); // where in the file what is held begins
    let (mut from, mut to) = (room.len(), room.len());
    let mut unseen = 0; // bytes at the beginning of what is held that may have a newline
    let mut step = FIRST_STEP;
    loop {
        loop {
            if to == from + unseen {
                unseen = without_empty(&room[from..to]).len();
                to = from + unseen;
            }
            let Some(cut) = memrchr(b'\n', &room[from..from + unseen]) else { break };
            let at = base + cut as u64 + 1;
            if hand(at, &room[from + cut + 1..to], visit).is_break() {
                return Ok(Walked::Seen);
            }
            (unseen, to) = (cut, from + cut);
        }
        unseen = 0;
        if base == 0 {
            let _ = hand(0, &room[from..to], visit);
            return Ok(Walked::Seen);
        }
        if to - from > LIMIT {
            let end = base + (to - from) as u64;
            let newline = newline_before(file, base)?;
            let at = newline.map_or(0, |found| found + 1);
            (from, to) = (room.len(), room.len());
            base = newline.unwrap_or(0);
            if visit(Line { at, body: Body::Huge(end - at) }).is_break() || newline.is_none() {
                return Ok(Walked::Seen);
            }
            continue;
        }
        if base < floor {
            return Ok(Walked::TooFar);
        }
        let size = usize::try_from(base).map_or(step, |base| base.min(step));
        (from, to) = settled_at_end(room, from..to, size);
        let read = fill(file, &mut room[from - size..from], base - size as u64)?;
        if read < size {
            return Ok(Walked::Seen); // cut shorter while we read: what was seen is what there is
        }
        (base, from, unseen) = (base - size as u64, from - size, size);
        let near = file.size().saturating_sub(base) < NEAR;
        step = (step * 2).min(if near { NEAR_STEP } else { LAST_STEP });
    }
}

/// The same without the newlines that it ends with: there may be millions, and each would be sought.
fn without_empty(lines: &[u8]) -> &[u8] {
    let end = lines.iter().rposition(|byte| *byte != b'\n').map_or(0, |last| last + 1);
    &lines[..end]
}

/// Moves what is held to the end of the room, and makes room before it if there is too little.
fn settled_at_end(room: &mut Vec<u8>, held: Range<usize>, size: usize) -> (usize, usize) {
    if held.start >= size {
        return (held.start, held.end);
    }
    let length = held.len();
    let need = (length + size).max(room.len());
    room.resize(need, 0);
    room.copy_within(held, need - length);
    (need - length, need)
}

/// Whoever walks through lines from the beginning on.
pub trait Walker {
    /// Where in these lines, of which each has its newline, the first one is that is to be visited; any place within it.
    /// The lines before it are passed over. Of a line that is too long to hold it is asked part by part.
    fn sought(&self, lines: &[u8]) -> Option<usize>;
    /// Takes in a line.
    fn visit(&mut self, line: Line<'_>) -> Flow;
}

/// One who wants every line.
struct Each<'v>(&'v mut dyn FnMut(Line<'_>) -> Flow);

impl Walker for Each<'_> {
    fn sought(&self, _: &[u8]) -> Option<usize> {
        Some(0)
    }

    fn visit(&mut self, line: Line<'_>) -> Flow {
        self.0(line)
    }
}

/// Visits lines from `from` on; `from` must be the beginning of a line. Returns where the first line
/// that has no newline yet begins, which is where to go on later.
pub fn forward(
    file: &dyn Bytes,
    from: u64,
    visit: &mut dyn FnMut(Line<'_>) -> Flow,
) -> io::Result<u64> {
    walk(file, from, &mut Each(visit))
}

/// The same for those lines that are sought.
pub fn walk(file: &dyn Bytes, from: u64, walker: &mut dyn Walker) -> io::Result<u64> {
    if let Some(held) = file.held() {
        return Ok(walk_held(held, from, walker));
    }
    let mut room = Room::take();
    walk_on(file, from, &mut room.0, walker)
}

fn walk_held(held: &[u8], from: u64, walker: &mut dyn Walker) -> u64 {
    let left = usize::try_from(from).ok().and_then(|from| held.get(from..)).unwrap_or_default();
    let whole = memrchr(b'\n', left).map_or(0, |cut| cut + 1);
    walk_within(from, &left[..whole], walker).unwrap_or(from + whole as u64)
}

fn walk_on(
    file: &dyn Bytes,
    from: u64,
    room: &mut Vec<u8>,
    walker: &mut dyn Walker,
) -> io::Result<u64> {
    let mut at = from; // of the first byte held
    let mut held = 0..0; // bytes of the room, of which none is a newline
    let mut step = FIRST_STEP;
    loop {
        held = settled_for_next(room, held, step);
        let read = fill(file, &mut room[held.end..held.end + step], at + held.len() as u64)?;
        if read == 0 {
            return Ok(at);
        }
        let end = held.end + read;
        let newline = memrchr(b'\n', &room[held.end..end]);
        let whole = newline.map_or(held.start, |cut| held.end + cut + 1);
        if let Some(stop) = walk_within(at, &room[held.start..whole], walker) {
            return Ok(stop);
        }
        at += (whole - held.start) as u64;
        held = whole..end;
        if held.len() > LIMIT {
            let Some(next) = pass(file, at, &room[held], walker)? else { return Ok(at) };
            if next.is_enough {
                return Ok(next.at);
            }
            (at, held) = (next.at, 0..0);
        }
        step = (step * 2).min(LAST_STEP);
    }
}

/// Moves what is held to where the next part is put behind it, and makes room for that.
fn settled_for_next(room: &mut Vec<u8>, held: Range<usize>, step: usize) -> Range<usize> {
    room.resize(room.len().max(held.len() + ALIGNED + step), 0);
    let end = held.len() + room[held.len()..].as_ptr().align_offset(ALIGNED).min(ALIGNED);
    let from = end - held.len();
    room.copy_within(held, from);
    from..end
}

/// What stands behind a line that is too long to hold.
struct Next {
    at: u64,
    /// The line was enough.
    is_enough: bool,
}

/// Passes a line of which this is the beginning, if it has an end. It is visited if it is sought.
fn pass(
    file: &dyn Bytes,
    at: u64,
    held: &[u8],
    walker: &mut dyn Walker,
) -> io::Result<Option<Next>> {
    let mut is_sought = walker.sought(held).is_some();
    let behind = (at + held.len() as u64, &held[held.len() - ACROSS..]);
    let newline = newline_after(file, behind, &mut |part| {
        is_sought = is_sought || walker.sought(part).is_some();
    })?;
    Ok(newline.map(|newline| {
        let line = Line { at, body: Body::Huge(newline - at) };
        Next { at: newline + 1, is_enough: is_sought && walker.visit(line).is_break() }
    }))
}

/// Visits lines that stand at `at`, each with its newline. Where one was enough, says where the next begins.
fn walk_within(at: u64, lines: &[u8], walker: &mut dyn Walker) -> Option<u64> {
    let mut start = 0;
    while start < lines.len() {
        let place = start + walker.sought(&lines[start..])?;
        let from = memrchr(b'\n', &lines[start..place]).map_or(start, |cut| start + cut + 1);
        let newline = place + memchr(b'\n', &lines[place..])?;
        let visit = &mut |line: Line<'_>| walker.visit(line);
        start = newline + 1;
        if hand(at + from as u64, &lines[from..newline], visit).is_break() {
            return Some(at + start as u64);
        }
    }
    None
}

/// Room for lines, which the next walk of the same thread has again: thousands of files are walked one
/// after the other, and new memory costs more than what is read into it.
struct Room(Vec<u8>);

thread_local! {
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Room {
    /// A walk within a walk finds none, and has its own.
    fn take() -> Self {
        Self(SPARE.take())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut room = std::mem::take(&mut self.0);
        if room.len() > ROOMIEST {
            room.truncate(ROOMIEST); // one long line is no reason to hold so much
            room.shrink_to_fit();
        }
        let _ = SPARE.try_with(|spare| spare.set(room)); // none where the thread ends
    }
}

/// A part of a file as a stream, for lines that are too long to hold.
pub struct Span<'a> {
    file: &'a dyn Bytes,
    at: u64,
    end: u64,
}

impl<'a> Span<'a> {
    /// The `size` bytes from `at` on.
    pub fn new(file: &'a dyn Bytes, at: u64, size: u64) -> Self {
        Self { file, at, end: at.saturating_add(size) }
    }
}

impl Read for Span<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(buf.len());
        let read = self.file.read_at(&mut buf[..left], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

fn hand(at: u64, bytes: &[u8], visit: &mut dyn FnMut(Line<'_>) -> Flow) -> Flow {
    match bytes.len() {
        0 => Flow::Continue(()),
        size if size > LIMIT => visit(Line { at, body: Body::Huge(size as u64) }),
        _ => visit(Line { at, body: Body::Whole(bytes) }),
    }
}

fn fill(file: &dyn Bytes, buf: &mut [u8], at: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buf.len() {
        match file.read_at(&mut buf[done..], at + done as u64)? {
            0 => break,
            read => done += read,
        }
    }
    Ok(done)
}

fn near(distance: u64) -> io::Result<()> {
    match distance > FARTHEST {
        true => Err(io::Error::other(format!("a line is longer than {} MiB", FARTHEST >> 20))),
        false => Ok(()),
    }
}

fn newline_before(file: &dyn Bytes, end: u64) -> io::Result<Option<u64>> {
    let mut chunk = vec![0; LAST_STEP];
    let (first, mut end) = (end, end);
    while end > 0 {
        near(first - end)?;
        let from = end.saturating_sub(LAST_STEP as u64);
        let part = &mut chunk[..(end - from) as usize];
        let read = fill(file, part, from)?;
        if let Some(cut) = memrchr(b'\n', &part[..read]) {
            return Ok(Some(from + cut as u64));
        }
        end = from;
    }
    Ok(None)
}

/// Where the line ends that goes on from here, behind these bytes. The rest of it is shown part by part.
fn newline_after(
    file: &dyn Bytes,
    (from, last): (u64, &[u8]),
    show: &mut dyn FnMut(&[u8]),
) -> io::Result<Option<u64>> {
    let (first, mut from, kept) = (from, from, last.len());
    let mut room = vec![0; kept + LAST_STEP];
    room[..kept].copy_from_slice(last);
    loop {
        near(from - first)?;
        let read = fill(file, &mut room[kept..], from)?;
        let cut = memchr(b'\n', &room[kept..kept + read]);
        show(&room[..kept + cut.unwrap_or(read)]);
        if let Some(cut) = cut {
            return Ok(Some(from + cut as u64));
        }
        if read < LAST_STEP {
            return Ok(None);
        }
        room.copy_within(read.., 0);
        from += read as u64;
    }
}
