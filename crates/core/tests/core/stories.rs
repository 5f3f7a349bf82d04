//! What our receipts add to what a record shows of a session, in the order in which it happened.

use crate::{
    play::{Play, play, record},
    world::{at, launch, machine},
};
use agentctl_core::{
    agent::Stub,
    event::{Mark, Story, What},
    evidence::{Ending, Record, Turn},
    proof::Source,
    receipt::{Exit, Launched},
    story::{From, story},
};

/// A launch of `a` that began and exited then.
fn launched(began: i64, exited: Option<i64>) -> Launched {
    let exit =
        |second| Exit { schema: 1, code: Some(0), signal: None, at: at(second), overdue: false };
    Launched { at: at(began), exit: exited.map(exit), ..launch("one", Some("a"), None) }
}

/// An agent whose session `a` has a turn that ended then, in a file that is no list of lines.
fn ended(second: i64) -> Play {
    let line = Source::File { path: "/a".into(), shows: "a".into() };
    let turn = Turn::Ended { at: at(second), how: Ending::Completed, line };
    play().has("a", second, Record { turn, ..record() })
}

fn told(play: &Play, stub: Option<&Stub>, from: From<'_>, launches: &[Launched]) -> Story {
    story(play, &machine(Vec::new()), stub, (from, launches.iter())).expect("it can be read")
}

fn steps(story: &Story) -> Vec<(i64, What)> {
    let since = |step: &agentctl_core::event::Step| step.at.as_second() - at(0).as_second();
    story.steps.iter().map(|step| (since(step), step.what)).collect()
}

#[test]
fn a_launch_begins_before_its_turn_and_exits_after_it() {
    let play = ended(200);
    let stub = &play.sessions[0].0;
    let steps = |launches: &[Launched], floor| {
        steps(&told(&play, Some(stub), From::Time(at(floor)), launches))
    };
    let turn = [(200, What::Opened), (200, What::Closed)];
    assert_eq!(steps(&[], 100), turn);
    let whole = [(200, What::Began), turn[0], turn[1], (200, What::Exited)];
    assert_eq!(steps(&[launched(200, Some(200))], 100), whole);
    let apart = [(150, What::Began), turn[0], turn[1], (250, What::Exited)];
    assert_eq!(steps(&[launched(150, Some(250))], 100), apart);
    // Only what came after that moment is told.
    assert_eq!(steps(&[launched(150, Some(250))], 150), apart[1..]);
    assert_eq!(steps(&[launched(150, Some(250))], 149), apart);
    assert_eq!(steps(&[launched(150, None)], 100), apart[..3]);
}

#[test]
fn launches_are_told_oldest_first_in_whichever_order_they_are_given() {
    let story = told(
        &play(),
        None,
        From::Time(at(100)),
        &[launched(300, Some(310)), launched(150, Some(160))],
    );
    let first = [(150, What::Began), (160, What::Exited)];
    let second = [(300, What::Began), (310, What::Exited)];
    assert_eq!(steps(&story), [first, second].concat());
}

#[test]
fn nothing_is_told_of_now_but_where_it_stands() {
    let play = ended(200);
    let story = told(&play, Some(&play.sessions[0].0), From::Now, &[launched(150, Some(250))]);
    assert_eq!((steps(&story), story.open), (Vec::new(), Some(false)));
}

#[test]
fn without_a_record_what_was_read_before_stays_read() {
    let mark = Mark {
        state: None,
        need: None,
        live: None,
        process: 0,
        turn: Some(at(90)),
        again: None,
        counts: Default::default(),
        upto: 77,
        at: at(100),
        shown: 0,
    };
    let story = told(&play(), None, From::Mark(&mark), &[launched(100, Some(101))]);
    assert_eq!((story.turn, story.start, story.upto), (Some(at(90)), 77, 77));
    assert_eq!(steps(&story), [(101, What::Exited)]);
    let fresh = told(&play(), None, From::Now, &[]);
    assert_eq!(fresh, Story::default());
}
