//! What a mark holds, how long it is kept, and how far a cursor is at each line.

use super::{
    ends::{IDLE, look, mark, seen, session, told, unnamed},
    world::at,
};
use agentctl_core::{
    derive::State,
    event::{Cursor, Key, Look, Mark, Seen, What},
    evidence::Need,
    wire::{EventKind, Session, StateName},
};

/// From what is seen now, nothing of it is told again, and all that changes is.
#[test]
fn what_is_seen_at_first_counts_as_told() {
    for state in [IDLE, State::Working, State::Waiting(Need::Answer)] {
        let first = look(10, &[seen(session(Some("s"), state, &[(1, 0)]), &[])], Some(&[1]));
        assert_eq!(Cursor::now(&first).tell(&first), []);
    }
    let counts = |state| mark(state, true).counts.working;
    let needs = [IDLE, State::Working, State::Waiting(Need::Answer)];
    assert_eq!(needs.map(counts), [0, 1, 1]);
    let before = session(Some("s"), IDLE, &[(1, 0)]);
    let named = Session { title: Some("t".into()), ..before.clone() };
    let mut cursor = Cursor::now(&look(10, &[seen(before, &[])], Some(&[1])));
    let events = cursor.tell(&look(20, &[seen(named, &[])], Some(&[1])));
    assert_eq!(told(&events), [(EventKind::Changed, Some(StateName::Idle))]);
}

/// An id is its own only if nobody can have chosen it.
#[test]
fn an_id_that_somebody_chose_is_of_its_directory() {
    let dir = |id: &str| {
        let session = session(Some(id), IDLE, &[(1, 0)]);
        Key::of(&Session { cwd: Some("/a".into()), ..session }, true).dir
    };
    assert_eq!(dir("0198c0de-0000-7000-8000-00000000abcd"), None);
    for chosen in ["fade", "0198c0de-0000", "somebody-made-this-here-uplikethis0x"] {
        assert_eq!(dir(chosen).as_deref(), Some("/a"), "{chosen}");
    }
}

/// A process that has named its session goes on under that name, without an end.
#[test]
fn who_names_its_session_has_not_ended() {
    let nobody = seen(session(None, unnamed(), &[(1, 0)]), &[]);
    let first = Cursor::now(&look(10, std::slice::from_ref(&nobody), Some(&[1, 2])));
    let begins = (EventKind::Started, Some(StateName::Idle));
    let named = seen(session(Some("s"), IDLE, &[(1, 0)]), &[]);
    let mut cursor = first.clone();
    let events = cursor.tell(&look(20, std::slice::from_ref(&named), Some(&[1, 2])));
    assert_eq!(told(&events), [begins]);
    let over =
        Mark { state: None, live: Some(false), at: at(20), ..first.marks[&nobody.key].clone() };
    assert_eq!(cursor.marks.get(&nobody.key), Some(&over));
    let events = cursor.tell(&look(30, &[], Some(&[2])));
    assert_eq!(told(&events), [(EventKind::Ended, Some(StateName::Done))], "that of the name");
    // Another process names another session: this one is gone by itself.
    let other = seen(session(Some("t"), IDLE, &[(2, 0)]), &[]);
    let events = first.clone().tell(&look(20, &[other], Some(&[2])));
    let mut kinds = told(&events);
    kinds.sort_by_key(|(kind, _)| kind.name());
    assert_eq!(kinds, [(EventKind::Ended, Some(StateName::Unknown)), begins]);
}

/// A session that is over, told as of these seconds.
fn ended(id: &str, turn: [i64; 2], end: i64) -> Seen {
    let session = Session { ended_at: Some(at(end)), ..session(Some(id), State::Done, &[]) };
    seen(session, &[(turn[0], What::Opened), (turn[1], What::Closed)])
}

/// Second, floor and marked sessions at each line.
fn lines(cursor: &mut Cursor, look: &Look) -> Vec<(i64, i64, Vec<String>)> {
    let second = |time: jiff::Timestamp| time.as_second() - at(0).as_second();
    let events = cursor.tell(look);
    let line = events.iter().map(|event| {
        let cursor = Cursor::from_text(&event.cursor).expect("our own text");
        let marked = cursor.marks.keys().map(|key| key.id.clone()).collect();
        (second(event.at), second(cursor.floor), marked)
    });
    line.collect()
}

fn line(second: i64, floor: i64, marked: &[&str]) -> (i64, i64, Vec<String>) {
    (second, floor, marked.iter().map(|&id| id.to_owned()).collect())
}

/// All before a line was told: who ended by then is forgotten, who comes again is not.
#[test]
fn each_line_is_as_far_as_all_that_was_told() {
    let (a, b) = (ended("a", [100, 101], 102), ended("b", [300, 301], 302));
    let both = look(500, &[a, b], Some(&[]));
    let full = lines(&mut Cursor::since(at(0)), &both);
    let expected = [
        line(100, 100, &["a"]),
        line(101, 101, &["a"]),
        line(102, 102, &["a"]),
        line(300, 300, &["b"]),
        line(301, 301, &["b"]),
        line(302, 440, &[]),
    ];
    assert_eq!(full, expected);
    let partly = lines(&mut Cursor::since(at(0)), &Look { full: false, ..both });
    assert!(partly.iter().all(|(_, floor, _)| *floor == 0), "others may be older: {partly:?}");
}

/// Of two things in the same moment, the first leaves the second to be told.
#[test]
fn a_line_is_not_past_what_came_in_the_same_moment() {
    let (a, b) = (ended("a", [100, 110], 120), ended("b", [100, 111], 121));
    let told = lines(&mut Cursor::since(at(0)), &look(500, &[a, b], Some(&[])));
    let expected = [
        line(100, 0, &["a"]),
        line(100, 100, &["a", "b"]),
        line(110, 110, &["a", "b"]),
        line(111, 111, &["a", "b"]),
        line(120, 120, &["a", "b"]),
        line(121, 440, &[]),
    ];
    assert_eq!(told, expected);
}

/// Whose end is told and whose next run is still to come keeps its mark in between.
#[test]
fn who_comes_again_is_not_forgotten_in_between() {
    let again = [(100, What::Exited), (400, What::Began)];
    let a = seen(session(Some("s"), IDLE, &[(2, 400)]), &again);
    let b = ended("t", [300, 301], 302);
    let mut cursor = Cursor::since(at(0));
    cursor.marks.insert(a.key.clone(), mark(IDLE, true));
    let told = lines(&mut cursor, &look(500, &[a, b], Some(&[2])));
    let expected = [
        line(100, 100, &["s"]),
        line(300, 300, &["s", "t"]),
        line(301, 301, &["s", "t"]),
        line(302, 302, &["s", "t"]),
        line(400, 440, &["s"]),
    ];
    assert_eq!(told, expected);
}

/// What ended long ago and is told late is forgotten with that line.
#[test]
fn an_end_that_is_told_late_is_forgotten_at_once() {
    let late = seen(session(Some("s"), State::Done, &[]), &[(15, What::Exited)]);
    let mut cursor = Cursor::since(at(940));
    cursor.marks.insert(late.key.clone(), mark(IDLE, true));
    let told = lines(&mut cursor, &look(1000, &[late, ended("t", [990, 991], 992)], Some(&[])));
    let expected = [
        line(15, 940, &[]),
        line(990, 940, &["t"]),
        line(991, 940, &["t"]),
        line(992, 940, &["t"]),
    ];
    assert_eq!(told, expected);
}
