//! Whoever subscribed, and what waits to be sent to each: never more than a queue's length.

use super::{rpc, shared::locked};
use agentctl_core::{
    event::{Cursor, Filter},
    wire::{Event, StateName},
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    net::Shutdown,
    os::unix::net::UnixStream,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        mpsc::{SyncSender, TrySendError},
    },
    time::Duration,
};

/// How long the watcher may be behind what somebody was told who had missed it; then he has to ask again.
const BEHIND: Duration = Duration::from_secs(10);
/// So many ids are remembered that the watcher told last.
const RECENT: usize = 4 * rpc::QUEUE;
/// So many ids are remembered of what somebody had missed: far more than can be held for him.
const LAST: usize = 16 * rpc::QUEUE;

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
    /// The watcher has looked once.
    watched: bool,
    /// Ids that were told last.
    recent: VecDeque<String>,
}

/// One who is told what happens.
pub(super) struct Subscriber {
    /// Which connection.
    pub(super) connection: u64,
    pub(super) filter: Filter,
    pub(super) lines: SyncSender<Line>,
    /// To hang up on who does not listen.
    pub(super) stream: UnixStream,
    /// What happens while he is told what he missed.
    pub(super) held: Option<Vec<Held>>,
    /// What he was told before the watcher saw it: ids.
    pub(super) ahead: BTreeSet<String>,
    /// The states that he knows of sessions of which the watcher has told him nothing yet.
    pub(super) known: BTreeMap<String, StateName>,
}

/// An event that waits.
pub(super) struct Held {
    id: String,
    step: Step,
    cursor: String,
    line: Line,
}

/// What an event says of a session.
struct Step {
    /// Of which.
    session: Option<String>,
    before: Option<StateName>,
    after: Option<StateName>,
}

/// What somebody was told who had missed it: ids.
pub(super) struct Missed {
    /// Where he stands then.
    cursor: String,
    /// The last ones: what the watcher told meanwhile is among them.
    last: VecDeque<String>,
    /// Of all, what the watcher may not have seen yet.
    new: BTreeSet<String>,
}

impl Missed {
    /// Nothing yet; he stands where he said, which may be no cursor.
    pub(super) fn since(cursor: &str) -> Self {
        let cursor = cursor.to_owned();
        Self { cursor, last: VecDeque::new(), new: BTreeSet::new() }
    }

    /// The states that he knows.
    fn states(&self) -> BTreeMap<String, StateName> {
        let marks = Cursor::from_text(&self.cursor).map(|cursor| cursor.marks).unwrap_or_default();
        marks.into_iter().filter_map(|(key, mark)| Some((key.id, mark.state?))).collect()
    }

    /// He stands here.
    pub(super) fn stands(&mut self, cursor: &str) {
        cursor.clone_into(&mut self.cursor);
    }

    /// He was told this.
    pub(super) fn add(&mut self, id: &str, is_new: bool) {
        if is_new {
            self.new.insert(id.to_owned());
        }
        if self.last.len() == LAST {
            self.last.pop_front();
        }
        self.last.push_back(id.to_owned());
    }
}

impl Subscriber {
    /// False if he is gone, or hung up on since he reads too slowly.
    fn send(&self, line: Line) -> bool {
        match self.lines.try_send(line) {
            Ok(()) => true,
            Err(TrySendError::Disconnected(_)) => false,
            Err(TrySendError::Full(_)) => self.hung_up(),
        }
    }

    /// He goes on from his cursor; false, since he is gone.
    fn hung_up(&self) -> bool {
        let _ = self.stream.shutdown(Shutdown::Both);
        false
    }
}

impl Subscriber {
    /// Sends what was held and he does not know yet; false if he is gone.
    fn catch_up(&mut self, told: &Missed) -> bool {
        let held = self.held.take().unwrap_or_default();
        let last = held.last().map(|held| held.cursor.clone()).unwrap_or_default();
        let known: BTreeSet<&String> = told.last.iter().collect();
        let mut rest: Vec<Held> = Vec::new();
        for one in held {
            // What came before something that he knows, and he was not told, nobody can prove: it is too late for it.
            if known.contains(&one.id) {
                let session = &one.step.session;
                rest.retain(|held| session.is_none() || held.step.session != *session);
            } else {
                rest.push(one);
            }
        }
        if !self.ahead.is_empty() {
            return self.hung_up();
        }
        // Of a filtered story nobody expects that each step goes on from the one before.
        if self.filter == Filter::default() {
            self.known = told.states();
        }
        let known = &mut self.known;
        let mut goes_on = true;
        rest.retain(|held| match held.step.follows(known) {
            Some(is_news) => is_news,
            None => {
                goes_on = false;
                false
            }
        });
        if !goes_on {
            return self.hung_up();
        }
        // What comes after it he knows: he goes on behind that.
        if let Some(held) = rest.last_mut().filter(|held| held.cursor != last) {
            held.line = held.line.replace(&held.cursor, &last).into();
        }
        rest.into_iter().all(|held| self.send(held.line))
    }
}

impl Step {
    fn of(event: &Event) -> Self {
        let session = event.session.as_ref().and_then(|one| one.id.clone());
        Self { session, before: event.before, after: event.after }
    }

    /// Whether it is news to who knows these states; none where it does not go on from what he knows. He may know more
    /// than the watcher, from a look of his own or before he was cut off: what leads to what he knows is no news. Once
    /// the watcher has told something of a session, it goes on from there.
    fn follows(&self, known: &mut BTreeMap<String, StateName>) -> Option<bool> {
        let known = self.session.as_ref().and_then(|session| known.remove(session));
        match (known, self.before, self.after) {
            (Some(known), Some(before), Some(after)) if known != before => {
                (known == after).then_some(false)
            }
            (Some(_) | None, _, _) => Some(true),
        }
    }
}

impl Inside {
    fn of(&mut self, connection: u64) -> Option<&mut Subscriber> {
        self.subscribers.iter_mut().find(|one| one.connection == connection)
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
                one.ahead.remove(&event.id);
                match &mut one.held {
                    Some(held) if held.len() < rpc::QUEUE => {
                        let (id, cursor) = (event.id.clone(), event.cursor.clone());
                        let (step, line) = (Step::of(event), Arc::clone(&line));
                        held.push(Held { id, step, cursor, line });
                        true
                    }
                    Some(_) => one.hung_up(),
                    None => match Step::of(event).follows(&mut one.known) {
                        Some(true) => one.send(Arc::clone(&line)),
                        Some(false) => true,
                        None => one.hung_up(),
                    },
                }
            });
            inside.recent.push_back(event.id.clone());
        }
        let old = inside.recent.len().saturating_sub(RECENT);
        inside.recent.drain(..old);
        if let Some(last) = events.last() {
            inside.cursor.clone_from(&last.cursor);
        }
    }

    /// Where whoever was told everything stands.
    pub(super) fn stands(&self, cursor: &str) {
        let mut inside = locked(&self.0);
        cursor.clone_into(&mut inside.cursor);
        inside.watched = true;
        self.1.notify_all();
    }

    /// Waits until the watcher has looked once, but not for ever; true is that it has.
    pub(super) fn watched(&self, limit: Duration) -> bool {
        let inside = locked(&self.0);
        let waited = self.1.wait_timeout_while(inside, limit, |inside| !inside.watched);
        waited.unwrap_or_else(PoisonError::into_inner).0.watched
    }

    /// Adds one; what he is told first, of the cursor that he begins at, nothing can overtake.
    pub(super) fn add(&self, one: Subscriber, first: impl FnOnce(&str) -> Line) {
        let mut inside = locked(&self.0);
        inside.subscribers.retain(|other| other.connection != one.connection);
        if one.send(first(&inside.cursor)) {
            inside.subscribers.push(one);
        }
    }

    /// He was told what he had missed: now the rest, and then all that happens.
    ///
    /// He may know more by now than the watcher, whose cursors would send him back: he is held until it has told that
    /// too, and hung up on if it never does.
    pub(super) fn release(&self, connection: u64, told: &Missed) {
        let mut inside = locked(&self.0);
        let recent = std::mem::take(&mut inside.recent);
        if let Some(one) = inside.of(connection) {
            let held = one.held.iter().flatten().map(|held| &held.id);
            let seen: BTreeSet<&String> = held.chain(&recent).collect();
            one.ahead = told.new.iter().filter(|id| !seen.contains(id)).cloned().collect();
        }
        inside.recent = recent;
        let behind =
            |inside: &mut Inside| inside.of(connection).is_some_and(|one| !one.ahead.is_empty());
        let waited = self.1.wait_timeout_while(inside, BEHIND, behind);
        let (mut inside, _) = waited.unwrap_or_else(PoisonError::into_inner);
        inside.subscribers.retain_mut(|one| one.connection != connection || one.catch_up(told));
    }

    /// He is gone.
    pub(super) fn remove(&self, connection: u64) {
        locked(&self.0).subscribers.retain(|one| one.connection != connection);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told of these steps to who knows that state.
    fn told(known: StateName, steps: &[(Option<StateName>, StateName)]) -> Vec<Option<bool>> {
        let mut known = BTreeMap::from([("one".to_owned(), known)]);
        let step = |(before, after): &(Option<StateName>, StateName)| Step {
            session: Some("one".to_owned()),
            before: *before,
            after: Some(*after),
        };
        steps.iter().map(|one| step(one).follows(&mut known)).collect()
    }

    #[test]
    fn steps_go_on_from_what_he_knows() {
        use StateName::{Done, Idle, Waiting, Working};
        let steps = [
            (None, Idle),
            (Some(Idle), Working),
            (Some(Working), Waiting),
            (Some(Waiting), Working),
            (Some(Working), Done),
        ];
        let (news, known) = (Some(true), Some(false));
        assert_eq!(told(Idle, &steps[1..]), [news; 4]);
        assert_eq!(told(Working, &steps[1..]), [known, news, news, news], "he was cut off since");
        assert_eq!(told(Working, &steps[3..]), [known, news], "the question is over");
        assert_eq!(told(Done, &steps[4..]), [known]);
        assert_eq!(told(Idle, &steps[3..])[0], None, "he may have missed anything");
    }
}
