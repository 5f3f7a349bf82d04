//! The one watcher, and whom it tells.

use super::shared::Shared;
use crate::{
    ops::watch::{Batch, Watcher},
    read,
    write::make_dir,
};
use agentctl_core::{
    event::Cursor,
    wire::{Event, EventKind, Session},
};
use std::{
    fs::{self, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// However quiet it is, the cursor is written down this often, so that a gap is no longer than that.
const BEAT: Duration = Duration::from_secs(60);
/// No cursor of ours is longer.
const LONGEST: u64 = 16 << 20;

/// How long what contradicts itself is waited for before all that was missed is told.
const SETTLED: Duration = Duration::from_secs(3);

/// Whoever is told what happens, also when that is nothing.
pub(super) type Sink = Box<dyn FnMut(&[Event]) -> Took + Send>;

/// What became of what somebody was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Took {
    /// It is kept, as far as it is to be.
    All,
    /// It could not be kept yet, and is tried again by whoever was told.
    NotYet,
    /// It could be kept now, but what could not be before is forgotten: all since the last time that everything
    /// was kept is to be told once more.
    Lost,
}

/// Those who are told in any case.
pub(super) fn sinks(shared: &Arc<Shared>) -> Vec<Sink> {
    let (log, hub) = (Arc::clone(shared), Arc::clone(shared));
    vec![
        Box::new(move |events| {
            events.iter().for_each(|event| log.log.say(&line(event)));
            Took::All
        }),
        Box::new(move |events| {
            hub.hub.tell(events);
            Took::All
        }),
    ]
}

/// Watches for ever, from where the daemon before it stood.
pub(super) fn run(shared: &Shared, mut sinks: Vec<Sink>, place: Option<&Path>) {
    let cursor = place.and_then(kept);
    // After a long absence this takes long: it is seen to hang only once it was seen at all.
    let (mut watcher, first) = Watcher::new(&shared.here(None), cursor.clone());
    let mut batch = first;
    // Up to here everybody has kept everything.
    let mut sure = cursor.unwrap_or_else(|| {
        write_down(shared, place, &watcher.cursor().to_text());
        watcher.cursor().clone()
    });
    loop {
        shared.beat("watcher");
        let Batch { events, problems } = batch;
        let wrong = watcher.troubles();
        let others = problems.into_iter().filter(|problem| !wrong.contains(problem));
        others.for_each(|problem| shared.lasting(problem)); // it says no more of them
        shared.seen(wrong);
        let mut kept = true;
        for sink in &mut sinks {
            kept &= match sink(&events) {
                Took::All => true,
                Took::NotYet => false,
                Took::Lost => sink(&missed(shared, &sure)) == Took::All,
            };
        }
        let text = watcher.cursor().to_text();
        shared.hub.stands(&text);
        if kept {
            sure.clone_from(watcher.cursor());
            write_down(shared, place, &text);
        }
        batch = watcher.next(Some(Instant::now() + BEAT));
    }
}

fn write_down(shared: &Shared, place: Option<&Path>, cursor: &str) {
    if let Some((place, why)) = place.and_then(|place| Some((place, keep(place, cursor).err()?))) {
        let what =
            format!("what was told cannot be kept, and is told again after a restart: {why}");
        shared.own_trouble(Some(place.to_owned()), what);
    }
}

/// What happened since, for one who has lost it. The others go on with the watcher that they have, and are told
/// nothing twice.
fn missed(shared: &Shared, since: &Cursor) -> Vec<Event> {
    let (mut watcher, first) = Watcher::new(&shared.here(None), Some(since.clone()));
    let (mut events, end) = (first.events, Instant::now() + SETTLED);
    while !watcher.is_settled() && Instant::now() < end {
        events.extend(watcher.next(Some(end)).events);
    }
    events
}

/// An event in one line.
fn line(event: &Event) -> String {
    let name = |session: &Session| {
        let process = session.pid.map(|pid| format!("pid:{pid}"));
        let id = session.id.clone().or(process).unwrap_or_default();
        let state = event.after.map(|state| format!(" {}", state.name())).unwrap_or_default();
        format!("{} {id}{state}", session.agent)
    };
    let lock = || event.lock.as_ref().map(|lock| lock.directory.display().to_string());
    let fuse = || event.fuse.as_ref().map(|fuse| fuse.id.clone());
    let budget = || {
        let over = event.budget.as_ref()?;
        Some(format!("{} {} {}", over.agent, over.session_id, over.crossed.limit.name()))
    };
    let gap = || {
        let times = event.from.zip(event.to).filter(|_| event.kind == EventKind::Gap);
        times.map(|(from, to)| format!("nobody watched from {from} to {to}"))
    };
    let about = budget()
        .or_else(|| event.session.as_deref().map(name))
        .or_else(lock)
        .or_else(fuse)
        .or_else(gap);
    format!("{} {}", event.kind.name(), about.unwrap_or_default())
}

/// Where the daemon before us stood. What cannot be read is as good as nothing.
fn kept(path: &Path) -> Option<Cursor> {
    let file = read::open(path).ok()?;
    read::is_ours(&file).ok()?;
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    Cursor::from_text(text.trim_end()).ok()
}

/// Whole or not at all. It is a cache: after a power cut an old one does, and events come twice.
fn keep(path: &Path, text: &str) -> io::Result<()> {
    let draft: PathBuf = path.with_extension(crate::write::DRAFT);
    if let Some(dir) = path.parent() {
        make_dir(dir)?;
    }
    let _ = fs::remove_file(&draft); // of whoever was killed; there is only one of us
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&draft, path)
}
