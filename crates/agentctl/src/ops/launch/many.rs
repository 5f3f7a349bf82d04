//! Several launches side by side, each in a worktree of its own; one that fails stops no other.

use super::{Ask, Begun, launch};
use crate::{
    error::{Error, Kind},
    host::PutOff,
    ops::Here,
};
use agentctl_core::receipt::Launched;
use std::{
    sync::{Mutex, mpsc},
    thread,
};

/// So many are started at the same time; on larger machines one for each processor.
const SIDE_BY_SIDE: usize = 4;

/// One of several launches.
pub(crate) struct Slot {
    /// What it is called among them.
    pub(crate) name: String,
    pub(crate) ask: Ask,
}

/// The name of the group of all launches with this key: whoever repeats one means the same group.
pub(crate) fn group_of(key: &str) -> String {
    let name = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, key.as_bytes());
    format!("g-{}", &name.to_string()[..6])
}

/// A name for a group that no launch has.
pub(crate) fn fresh_group(here: &Here) -> String {
    let taken = |group: &str| {
        let is_it = |launch: &Launched| launch.group.as_deref() == Some(group);
        here.host().launches().iter().any(is_it)
    };
    loop {
        let group = format!("g-{}", &super::fresh_id()[..6]);
        if !taken(&group) {
            return group;
        }
    }
}

/// Launches all, and tells of each as soon as it is there or has failed. The answers are in the order of
/// the slots.
pub(crate) fn many(
    here: &Here,
    slots: &[Slot],
    mut tell: impl FnMut(&Slot, &Result<Begun, Error>),
) -> Vec<Result<Begun, Error>> {
    let queue = Mutex::new(slots.iter().enumerate());
    let next = || queue.lock().ok()?.next();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let (answer, answers) = mpsc::channel();
    let mut begun: Vec<Option<Result<Begun, Error>>> = slots.iter().map(|_| None).collect();
    thread::scope(|scope| {
        for _ in 0..cores.max(SIDE_BY_SIDE).min(slots.len()) {
            let (answer, here) = (answer.clone(), here.again());
            scope.spawn(move || {
                while let Some((at, slot)) = next() {
                    // Whoever breaks it off means all of them; what runs goes on.
                    let begun = match PutOff::came() {
                        false => launch(&here.again(), &slot.ask),
                        true => Err(Error::new(Kind::NotStarted, "a signal broke it off")),
                    };
                    let _ = answer.send((at, begun));
                }
            });
        }
        drop(answer);
        for (at, outcome) in answers {
            tell(&slots[at], &outcome);
            begun[at] = Some(outcome);
        }
    });
    begun.into_iter().map(|one| one.expect("every slot is answered for")).collect()
}
