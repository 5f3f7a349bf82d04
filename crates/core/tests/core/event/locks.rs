//! Which locks are told as taken and released, and when.

use super::{
    ends::{AGENT, IDLE, lock, look, seen, session},
    world::at,
};
use agentctl_core::{
    derive::State,
    event::{Cursor, Look, Seen},
    wire::{Event, EventKind, Lock, LockKind, Session},
};

const TAKEN: EventKind = EventKind::LockTaken;
const RELEASED: EventKind = EventKind::LockReleased;

/// Kind, second and owner of each event of a lock.
fn locks(events: &[Event]) -> Vec<(EventKind, i64, String)> {
    let told = events.iter().filter_map(|event| {
        let lock = event.lock.clone()?;
        let second = event.at.as_second() - at(0).as_second();
        Some((event.kind, second, lock.session_id.or(lock.by)?))
    });
    told.collect()
}

fn told(kind: EventKind, second: i64, whose: &str) -> (EventKind, i64, String) {
    (kind, second, whose.to_owned())
}

fn own(id: &str) -> Lock {
    lock(LockKind::Session, Some(id))
}

fn manual(by: &str, second: i64) -> Lock {
    Lock { since: at(second), ..lock(LockKind::Manual, Some(by)) }
}

fn here(id: &str) -> Seen {
    let session = session(Some(id), IDLE, &[(1, 0)]);
    seen(Session { cwd: Some("/work".into()), ..session }, &[])
}

/// What is seen at this second while process 1 lives.
fn held(second: i64, sessions: &[Seen], locks: &[Lock]) -> Look {
    Look { locks: locks.to_vec(), people: true, ..look(second, sessions, Some(&[1])) }
}

/// Each lock is told once, at the moment that is known of it, and one that goes leaves the others.
#[test]
fn a_lock_is_told_when_it_comes_and_goes() {
    let s = [here("s")];
    let mut cursor = Cursor::now(&held(10, &s, &[]));
    let all = [own("s"), manual("ada", 15), manual("bob", 16)];
    let events = cursor.tell(&held(20, &s, &all));
    let expected = [told(TAKEN, 15, "ada"), told(TAKEN, 16, "bob"), told(TAKEN, 20, "s")];
    assert_eq!(locks(&events), expected);
    assert_eq!(cursor.tell(&held(30, &s, &all)), []);
    let events = cursor.tell(&held(40, &s, &[own("s"), manual("bob", 16)]));
    assert_eq!(locks(&events), [told(RELEASED, 40, "ada")]);
    assert_eq!(cursor.tell(&held(50, &s, &[own("s"), manual("bob", 16)])), []);
}

/// From a time on, only what people locked after it is surely new.
#[test]
fn what_may_have_been_locked_before_is_not_told() {
    let s = [here("s")];
    let later = Lock { since: at(15), ..own("s") };
    let all = [later, manual("ada", 5), manual("bob", 10), manual("cy", 11)];
    let mut cursor = Cursor::since(at(10));
    assert_eq!(locks(&cursor.tell(&held(20, &s, &all))), [told(TAKEN, 11, "cy")]);
    assert_eq!(cursor.tell(&held(30, &s, &all)), []);
}

/// A person who locks again has another lock; a session has the same, whenever it is seen to begin.
#[test]
fn a_lock_of_a_person_is_of_its_moment() {
    let s = [here("s")];
    let mut cursor = Cursor::now(&held(10, &s, &[own("s"), manual("ada", 5)]));
    let moved = [Lock { since: at(12), ..own("s") }, manual("ada", 15)];
    let events = cursor.tell(&held(20, &s, &moved));
    assert_eq!(locks(&events), [told(RELEASED, 20, "ada"), told(TAKEN, 15, "ada")]);
    assert_eq!(cursor.tell(&held(30, &s, &moved)), []);
}

/// A session that comes back locks anew: what tells of it has another name, whoever else is there.
#[test]
fn each_run_of_a_session_has_its_own_lock() {
    let (a, s) = (here("a"), here("s"));
    let over = seen(session(Some("s"), State::Done, &[]), &[]);
    let mut cursor = Cursor::now(&held(10, std::slice::from_ref(&a), &[own("a")]));
    let mut tell = |second, s: &Seen, locks: &[Lock]| {
        let events = cursor.tell(&held(second, &[a.clone(), s.clone()], locks));
        let ids = events.into_iter().filter(|event| event.lock.is_some());
        ids.map(|event| (event.kind, event.id)).collect::<Vec<_>>()
    };
    let both = [own("a"), own("s")];
    let runs = [tell(20, &s, &both), tell(30, &over, &both[..1]), tell(40, &s, &both)].concat();
    assert_eq!(runs.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [TAKEN, RELEASED, TAKEN]);
    assert_ne!(runs[0].1, runs[2].1);
}

/// An agent that was not looked at has released nothing, and neither has one of a longer name.
#[test]
fn only_an_agent_that_was_looked_at_releases() {
    let cursor = Cursor::now(&held(10, &[], &[own("s")]));
    let by = |agent: &str| {
        let look = Look { agents: vec![agent.to_owned()], ..held(20, &[], &[]) };
        locks(&cursor.clone().tell(&look))
    };
    assert_eq!(by(AGENT), [told(RELEASED, 20, "s")]);
    assert_eq!((by("codex"), by("claude")), (vec![], vec![]));
}

/// A session that is looked at again soon takes its locks along.
#[test]
fn a_lock_waits_for_its_session() {
    let unsettled = Seen { settled: false, ..here("s") };
    let spared = |second, locks: &[Lock]| Look {
        spared: vec![unsettled.key.clone()],
        ..held(second, &[], locks)
    };
    let waits = |second, locks: &[Lock]| held(second, std::slice::from_ref(&unsettled), locks);
    let mut cursor = Cursor::now(&held(10, &[], &[]));
    assert_eq!(locks(&cursor.tell(&waits(20, &[own("s")]))), []);
    assert_eq!(locks(&cursor.tell(&spared(30, &[own("s")]))), []);
    assert_eq!(locks(&cursor.tell(&held(40, &[here("s")], &[own("s")]))), [told(TAKEN, 40, "s")]);
    assert_eq!(locks(&cursor.tell(&waits(50, &[]))), []);
    assert_eq!(locks(&cursor.tell(&spared(60, &[]))), []);
    assert_eq!(locks(&cursor.tell(&held(70, &[here("s")], &[]))), [told(RELEASED, 70, "s")]);
}
