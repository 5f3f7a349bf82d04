//! What falls due while nobody looks: fuses, and deadlines of launches whose parent is gone.

use super::shared::{Shared, locked};
use crate::{
    host::{LAUNCHES, Watch},
    intents,
    ops::{deadlines, fuses},
    places,
};
use agentctl_core::{fuse::Fuse, receipt::Launched};
use jiff::Timestamp;
use std::{
    collections::BTreeSet,
    io,
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// The clock may be set, and the machine may sleep: however far away the next is, it is looked again this often,
/// and what could not be done is tried again.
const LOOK: Duration = Duration::from_secs(30);
/// So much is done side by side: a script may take minutes, and others do not wait for it.
const HANDS: usize = 16;

/// What is being done right now.
#[derive(Clone, Default)]
pub(super) struct Hands(Arc<Mutex<BTreeSet<String>>>);

impl Hands {
    /// Does this in a thread of its own, unless that is under way or all hands are full.
    pub(super) fn take(&self, name: String, job: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let mut busy = locked(&self.0);
        if busy.len() >= HANDS || !busy.insert(name.clone()) {
            return Ok(());
        }
        let (hands, done) = (self.clone(), name.clone());
        let work = move || {
            job();
            locked(&hands.0).remove(&done);
        };
        let begun = thread::Builder::new().name("due".to_owned()).spawn(work);
        begun.map(drop).inspect_err(|_| {
            busy.remove(&name);
        })
    }

    fn has(&self, name: &str) -> bool {
        locked(&self.0).contains(name)
    }
}

/// Does what falls due, for ever.
pub(super) fn run(shared: &Arc<Shared>) {
    let Ok(state) = places::known_state() else { return };
    let (mut watch, refused) = Watch::empty();
    if let Some(why) = refused {
        let what = format!("a new fuse is noticed up to {} s late: {why}", LOOK.as_secs());
        shared.own_trouble(None, what);
    }
    let hands = Hands::default();
    loop {
        shared.beat("due");
        arm(&mut watch, &state);
        sweep(&state);
        let now = Timestamp::now();
        let next = pass(shared, &hands, now).into_iter().chain(deadline(shared, &hands, now)).min();
        watch.next(Some(next.unwrap_or(LOOK).min(LOOK)));
    }
}

/// Folders may be made and removed at any time; one that is watched already costs nothing.
fn arm(watch: &mut Watch, state: &Path) {
    for dir in [intents::fuses::folder(state), state.join(LAUNCHES)] {
        let _ = watch.below(&dir, false); // else it is looked at now and then
    }
}

fn sweep(state: &Path) {
    let now = Timestamp::now();
    for path in intents::fuses::left(state, now) {
        let _ = intents::fuses::remove(state, &path, now); // `prune` says why not
    }
}

fn until(at: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or_default()
}

/// Fires what is due, and says how long until the next.
fn pass(shared: &Arc<Shared>, hands: &Hands, now: Timestamp) -> Option<Duration> {
    let due = match fuses::due(now) {
        Ok(due) => due,
        Err(why) => {
            shared.own_trouble(None, why.message);
            return None;
        }
    };
    for fuse in due.into_iter().filter(|_| !shared.is_ending()) {
        let (own, id) = (Arc::clone(shared), fuse.id.clone());
        if let Err(why) = hands.take(fuse.id, move || fire(&own, &id)) {
            shared.own_trouble(None, format!("cannot begin to fire: {why}"));
        }
    }
    // What is due and still there is under way, or is tried again later.
    fuses::next(now).map(|next| until(next, now))
}

fn fire(shared: &Shared, id: &str) {
    match fuses::fire(&shared.here(None), id) {
        Ok(None) => {}
        Ok(Some(Fuse { fired, .. })) => {
            let problem = fired.and_then(|fired| fired.problem);
            let but = problem.map_or_else(String::new, |why| format!(", but {why}"));
            shared.log.say(&format!("fired {id}{but}"));
        }
        Err(why) => shared.own_trouble(None, format!("fuse {id}: {}", why.message)),
    }
}

/// Ends what is overdue, and says how long until the next.
fn deadline(shared: &Arc<Shared>, hands: &Hands, now: Timestamp) -> Option<Duration> {
    let mut next = None;
    for kept in deadlines::all(&shared.here(None)) {
        if kept.deadline > now {
            next = next.or(Some(until(kept.deadline, now)));
        } else if !hands.has(&kept.launch.launch) && !shared.is_ending() {
            let (own, launch, name) = (Arc::clone(shared), kept.launch.clone(), kept.launch.launch);
            if let Err(why) = hands.take(name, move || overdue(&own, &launch)) {
                shared.own_trouble(None, format!("cannot begin to end: {why}"));
            }
        }
    }
    next
}

fn overdue(shared: &Shared, launch: &Launched) {
    let id = launch.session.as_ref().unwrap_or(&launch.launch);
    match deadlines::enforce(launch) {
        Ok(()) => shared.log.say(&format!("ended {} {id}: its time was over", launch.agent)),
        Err(why) => {
            shared.own_trouble(None, format!("cannot end {id} at its deadline: {why}"));
        }
    }
}
