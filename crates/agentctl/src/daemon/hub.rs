//! Whoever subscribed, and what waits to be sent to each: never more than a queue's length.

use super::{rpc, shared::locked};
use agentctl_core::{event::Filter, wire::Event};
use std::{
    collections::BTreeSet,
    net::Shutdown,
    os::unix::net::UnixStream,
    sync::{
        Arc, Condvar, Mutex,
        mpsc::{SyncSender, TrySendError},
    },
    time::Duration,
};

/// A line that waits to be sent; subscribers share it.
pub(super) type Line = Arc<str>;

/// All who subscribed.
#[derive(Default)]
pub(super) struct Hub(Mutex<Inside>, Condvar);

#[derive(Default)]
struct Inside {
    subscribers: Vec<Subscriber>,
    /// Where whoever was told everything so far stands.
    cursor: String,
}

/// One who is told what happens.
pub(super) struct Subscriber {
    /// Which connection.
    pub(super) connection: u64,
    pub(super) filter: Filter,
    pub(super) lines: SyncSender<Line>,
    /// To hang up on who does not listen.
    pub(super) stream: UnixStream,
    /// What happens while he is told what he missed: ids and lines.
    pub(super) held: Option<Vec<(String, Line)>>,
}

impl Subscriber {
    /// False if he is gone, or hung up on since he reads too slowly.
    fn send(&self, line: Line) -> bool {
        match self.lines.try_send(line) {
            Ok(()) => true,
            Err(TrySendError::Disconnected(_)) => false,
            Err(TrySendError::Full(_)) => {
                let _ = self.stream.shutdown(Shutdown::Both); // he goes on from his cursor
                false
            }
        }
    }
}

impl Hub {
    /// Tells everybody.
    pub(super) fn tell(&self, events: &[Event]) {
        let mut inside = locked(&self.0);
        for event in events {
            let line: Line = rpc::notification("event", event).into();
            inside.subscribers.retain_mut(|one| {
                if !one.filter.keeps(event) {
                    return true;
                }
                match &mut one.held {
                    Some(held) if held.len() < rpc::QUEUE => {
                        held.push((event.id.clone(), Arc::clone(&line)));
                        true
                    }
                    Some(_) => {
                        let _ = one.stream.shutdown(Shutdown::Both);
                        false
                    }
                    None => one.send(Arc::clone(&line)),
                }
            });
        }
        if let Some(last) = events.last() {
            inside.cursor.clone_from(&last.cursor);
        }
    }

    /// Where whoever was told everything stands.
    pub(super) fn stands(&self, cursor: &str) {
        cursor.clone_into(&mut locked(&self.0).cursor);
        self.1.notify_all();
    }

    /// Waits until the watcher has looked once, but not for ever.
    pub(super) fn watched(&self, limit: Duration) {
        let inside = locked(&self.0);
        let _ = self.1.wait_timeout_while(inside, limit, |inside| inside.cursor.is_empty());
    }

    /// Adds one; what he is told first, of the cursor that he begins at, nothing can overtake.
    pub(super) fn add(&self, one: Subscriber, first: impl FnOnce(&str) -> Line) {
        let mut inside = locked(&self.0);
        inside.subscribers.retain(|other| other.connection != one.connection);
        if one.send(first(&inside.cursor)) {
            inside.subscribers.push(one);
        }
    }

    /// He was told what he had missed, these among it: now the rest, and then all that happens.
    pub(super) fn release(&self, connection: u64, told: &BTreeSet<String>) {
        locked(&self.0).subscribers.retain_mut(|one| {
            if one.connection != connection {
                return true;
            }
            let held = one.held.take().unwrap_or_default().into_iter();
            let mut rest = held.filter(|(id, _)| !told.contains(id));
            rest.all(|(_, line)| one.send(line))
        });
    }

    /// He is gone.
    pub(super) fn remove(&self, connection: u64) {
        locked(&self.0).subscribers.retain(|one| one.connection != connection);
    }
}
