//! What a session did, as its record and our receipts still show it.
//!
//! A record that grows by lines is read again as it was after each of them: so the same reading that
//! says what a session does now says what it did then. Of other records only the newest turn is known.

use crate::{
    agent::{Agent, Depth, Stub},
    event::{Mark, Step, Story, What},
    evidence::{Need, Pending, Turn},
    host::{Bytes, Host},
    lines::{self, Body},
    receipt::Launched,
};
use jiff::Timestamp;
use std::{io, path::Path, sync::Arc};

mod cut;

use cut::Cut;

/// So many lines are looked back at for the end of the turn before the one that is open.
const FAR: usize = 300;
/// So much of the end of a record is read for each of its lines: enough for most.
const NEAR: u64 = 16 << 10;
/// And at least so many lines: some stand in the wrong order.
const LINES: usize = 32;

/// From where on a story is told.
#[derive(Clone, Copy, Debug)]
pub enum From<'a> {
    /// From what was told last.
    Mark(&'a Mark),
    /// From this moment on.
    Time(Timestamp),
    /// Nothing: only where it stands.
    Now,
}

/// What a session did since. `launches` are those of this session.
pub fn story<'a>(
    agent: &dyn Agent,
    host: &dyn Host,
    stub: Option<&Stub>,
    (from, launches): (From<'_>, impl Iterator<Item = &'a Launched>),
) -> io::Result<Story> {
    let mut story = match stub {
        None => absent(from),
        Some(stub) if is_lines(&stub.path) => by_lines(agent, host, stub, from)?,
        Some(stub) => newest(&agent.read(host, stub, Depth::Glance)?.turn, from),
    };
    let since = match from {
        From::Mark(mark) => Some(mark.at),
        From::Time(floor) => Some(floor),
        From::Now => None,
    };
    let mut witnessed: Vec<Step> = Vec::new();
    for launch in launches {
        let exited = launch.exit.map(|exit| (exit.at, What::Exited));
        let both = [Some((launch.at, What::Began)), exited].into_iter().flatten();
        let new = both.filter(|(at, _)| since.is_some_and(|since| *at > since));
        witnessed.extend(new.map(|(at, what)| Step { at, what, upto: 0 }));
    }
    witnessed.sort_by_key(|step| (step.at, step.what == What::Exited));
    // The record keeps its own order, whatever clock its times are from.
    for step in witnessed {
        let is_later = |other: &Step| match step.what {
            What::Exited => other.at > step.at,
            _ => other.at >= step.at && !matches!(other.what, What::Began | What::Exited),
        };
        let at = story.steps.iter().position(is_later).unwrap_or(story.steps.len());
        story.steps.insert(at, step);
    }
    Ok(story)
}

/// Without a record, nothing was read: what was read before stays so.
fn absent(from: From<'_>) -> Story {
    match from {
        From::Mark(mark) => {
            let Mark { turn, upto, .. } = *mark;
            Story { turn, start: upto, upto, ..Story::default() }
        }
        From::Time(_) | From::Now => Story::default(),
    }
}

fn is_lines(path: &Path) -> bool {
    path.extension().is_some_and(|kind| kind == "jsonl")
}

/// A record of which only the newest turn can be read.
fn newest(turn: &Turn, from: From<'_>) -> Story {
    let (told, floor) = match from {
        From::Mark(mark) => (mark.turn, Some(Timestamp::MIN)),
        From::Time(floor) => (None, Some(floor)),
        From::Now => (None, None),
    };
    let step = |at, what| Step { at, what, upto: 0 };
    let (at, steps) = match turn {
        Turn::None => return Story { turn: told, ..Story::default() },
        Turn::Ended { at, .. } if Some(*at) == told => (*at, Vec::new()),
        Turn::Ended { at, .. } => (*at, vec![step(*at, What::Opened), step(*at, What::Closed)]),
        // What it does now is seen anyway, and told better than by its record.
        Turn::Open { alive, .. } if matches!(from, From::Mark(_)) => (*alive, Vec::new()),
        Turn::Open { alive, .. } => (*alive, vec![step(*alive, What::Opened)]),
    };
    let open = Some(matches!(turn, Turn::Open { .. }));
    let is_new = floor.is_some_and(|floor| at > floor);
    let before = if open == Some(false) && !is_new { Some(at) } else { told };
    let began = open == Some(true) && !is_new;
    let steps = if is_new { steps } else { Vec::new() };
    Story { turn: before, began, start: 0, steps, upto: 0, open }
}

fn by_lines(agent: &dyn Agent, host: &dyn Host, stub: &Stub, from: From<'_>) -> io::Result<Story> {
    let file: Arc<dyn Bytes> = host.open(&stub.path)?.into();
    let begin = match from {
        From::Mark(mark) if mark.upto <= file.size() => mark.upto,
        From::Mark(_) => whole(&*file)?, // cut or replaced: what it was is not what it is
        From::Time(floor) => written_since(agent, &*file, floor)?,
        From::Now => whole(&*file)?,
    };
    let starts = starts(&*file, begin)?;
    let read = |part| -> io::Result<Turn> {
        let then = Cut { host, path: &stub.path, file: &file, part };
        agent.turn(&then, stub)
    };
    // The end of what was written then says it all, but for lines that are longer than that.
    let after = |size: u64| match read(near(&starts, size)..size) {
        Ok(turn @ (Turn::Open { .. } | Turn::Ended { .. })) => Ok(turn),
        Ok(Turn::None) | Err(_) => read(0..size),
    };
    let mut last = if begin == 0 { Turn::None } else { after(begin)? };
    let turn = match (from, &last) {
        (From::Mark(mark), _) => mark.turn,
        (From::Time(_) | From::Now, Turn::Ended { at, .. }) => Some(*at),
        (From::Time(_) | From::Now, Turn::None) => None,
        (From::Time(_) | From::Now, Turn::Open { .. }) => end_before(&*file, begin, &after)?,
    };
    let began = matches!(last, Turn::Open { .. });
    let mut steps = Vec::new();
    let mut ends = Vec::new();
    lines::forward(&*file, begin, &mut |line| {
        ends.push(line.at + line.size() + 1);
        lines::Flow::Continue(())
    })?;
    let mut known = begin;
    for upto in &ends {
        let next = after(*upto)?;
        let shown = between(&last, &next);
        // Whoever was told only the first of two steps needs the line again.
        let shown = [
            shown[0].zip(Some(if shown[1].is_some() { known } else { *upto })),
            shown[1].zip(Some(*upto)),
        ];
        steps.extend(shown.into_iter().flatten().map(|((at, what), upto)| Step { at, what, upto }));
        (last, known) = (next, *upto);
    }
    let open = match last {
        Turn::None => None,
        Turn::Open { .. } => Some(true),
        Turn::Ended { .. } => Some(false),
    };
    let upto = ends.last().copied().unwrap_or(begin);
    let story = Story { turn, began, start: begin, steps, upto, open };
    Ok(match from {
        From::Time(floor) => since(story, floor),
        From::Mark(_) | From::Now => story,
    })
}

/// Without what was before this moment, though it stands behind lines without a time.
fn since(mut story: Story, floor: Timestamp) -> Story {
    let new = story.steps.iter().position(|step| step.at > floor).unwrap_or(story.steps.len());
    for step in story.steps.drain(..new) {
        story.start = story.start.max(step.upto);
        match step.what {
            What::Opened | What::Asked(_) => story.began = true,
            What::Closed | What::Refined => {
                (story.turn, story.began) = (Some(step.at), false);
            }
            What::Began | What::Exited => {}
        }
    }
    story
}

/// What one more line shows.
fn between(last: &Turn, next: &Turn) -> [Option<(Timestamp, What)>; 2] {
    match (last, next) {
        (_, Turn::None) => [None, None],
        (Turn::Open { .. }, Turn::Ended { at, .. }) => [Some((*at, What::Closed)), None],
        (Turn::None, Turn::Ended { at, .. }) => {
            [Some((*at, What::Opened)), Some((*at, What::Closed))]
        }
        // A turn is never begun and ended by one line: more is said of the same end.
        (Turn::Ended { at: known, .. }, Turn::Ended { at, .. }) => {
            [(known != at).then_some((*at, What::Refined)), None]
        }
        (Turn::Open { pending: asked, .. }, Turn::Open { alive, pending, .. }) => {
            let (before, now) = (need(asked), need(pending));
            [(before != now).then_some((*alive, asks(now))), None]
        }
        (Turn::None | Turn::Ended { .. }, Turn::Open { alive, pending, .. }) => {
            let asked = need(pending).map(|need| (*alive, What::Asked(need)));
            [Some((*alive, What::Opened)), asked]
        }
    }
}

fn asks(need: Option<Need>) -> What {
    need.map_or(What::Opened, What::Asked)
}

/// What the record itself says that a person is asked for.
fn need(pending: &Pending) -> Option<Need> {
    match pending {
        Pending::Answer => Some(Need::Answer),
        Pending::Approval => Some(Need::Approval),
        Pending::Nothing
        | Pending::Retry(_)
        | Pending::Unnamed
        | Pending::ApprovalUnless { .. } => None,
    }
}

/// Where lines begin: all behind `begin`, and enough before it to tell what stood there.
fn starts(file: &dyn Bytes, begin: u64) -> io::Result<Vec<u64>> {
    let mut starts = Vec::new();
    let mut before = 0;
    lines::back(file, &mut |line| {
        starts.push(line.at);
        before += usize::from(line.at < begin);
        lines::until(before > FAR + LINES && begin.saturating_sub(line.at) > NEAR)
    })?;
    starts.reverse();
    Ok(starts)
}

/// Where the last lines begin of a record of this size.
fn near(starts: &[u64], size: u64) -> u64 {
    let end = starts.partition_point(|start| *start < size);
    let few = starts.get(end.saturating_sub(LINES)).copied().unwrap_or_default();
    let bytes = starts.partition_point(|start| *start < size.saturating_sub(NEAR));
    few.min(starts.get(bytes).copied().unwrap_or_default())
}

/// Where the first line begins that has no newline yet.
fn whole(file: &dyn Bytes) -> io::Result<u64> {
    let (size, mut end) = (file.size(), file.size());
    lines::back(file, &mut |line| {
        if line.at + line.size() == size {
            end = line.at; // nothing stands behind it, no newline either
        }
        lines::Flow::Break(())
    })?;
    Ok(end)
}

/// Where the lines begin that may have been written after this moment.
fn written_since(agent: &dyn Agent, file: &dyn Bytes, floor: Timestamp) -> io::Result<u64> {
    let mut begin = 0;
    lines::back(file, &mut |line| {
        let said = match line.body {
            Body::Whole(bytes) => agent.messages(bytes).iter().filter_map(|one| one.at).max(),
            Body::Huge(_) => None,
        };
        match said.is_some_and(|at| at <= floor) {
            true => {
                begin = line.at + line.size() + 1;
                lines::Flow::Break(())
            }
            false => lines::Flow::Continue(()),
        }
    })?;
    Ok(begin.min(whole(file)?))
}

/// When the turn ended that came before an open one.
fn end_before(
    file: &dyn Bytes,
    begin: u64,
    after: &dyn Fn(u64) -> io::Result<Turn>,
) -> io::Result<Option<Timestamp>> {
    let mut ends = Vec::new();
    lines::back(file, &mut |line| {
        if line.at < begin {
            ends.push(line.at);
        }
        lines::until(ends.len() >= FAR)
    })?;
    for end in ends.into_iter().filter(|end| *end > 0) {
        if let Turn::Ended { at, .. } = after(end)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}
