//! A record of which only the newest turn can be read: what is told of it, and what was told already.

use super::{ended, mark, told};
use crate::{
    play::{Play, play, record},
    world::at,
};
use agentctl_core::{
    event::{Step, Story, What},
    evidence::{Pending, Record, Turn},
    proof::Source,
    story::From,
};

/// An agent whose session `a` has a turn that is open, and was written to then.
fn open(second: i64) -> Play {
    let line = Source::File { path: "/a".into(), shows: "a".into() };
    let turn = Turn::Open { alive: at(second), pending: Pending::Nothing, line };
    play().has("a", second, Record { turn, ..record() })
}

fn of(play: &Play, from: From<'_>) -> Story {
    told(play, Some(&play.sessions[0].0), from, &[])
}

fn step(second: i64, what: What) -> Step {
    Step { at: at(second), what, upto: 0 }
}

#[test]
fn a_turn_that_ended_is_told_once() {
    let play = ended(200);
    let both = vec![step(200, What::Opened), step(200, What::Closed)];
    let known = Story { turn: Some(at(200)), open: Some(false), ..Story::default() };
    let new = |turn| Story { turn, steps: both.clone(), open: Some(false), ..Story::default() };
    assert_eq!(of(&play, From::Now), known);
    assert_eq!(of(&play, From::Time(at(199))), new(None));
    assert_eq!(of(&play, From::Time(at(200))), known);
    assert_eq!(of(&play, From::Mark(&mark(None, 0))), new(None));
    assert_eq!(of(&play, From::Mark(&mark(Some(at(90)), 0))), new(Some(at(90))));
    assert_eq!(of(&play, From::Mark(&mark(Some(at(200)), 0))), known);
}

#[test]
fn a_turn_that_is_open_is_told_to_whoever_saw_nothing_of_it() {
    let play = open(200);
    let known = Story { began: true, open: Some(true), ..Story::default() };
    let opened = vec![step(200, What::Opened)];
    assert_eq!(of(&play, From::Now), known);
    let new = Story { steps: opened, open: Some(true), ..Story::default() };
    assert_eq!(of(&play, From::Time(at(199))), new);
    assert_eq!(of(&play, From::Time(at(200))), known);
    // Whoever has a mark sees for himself that it works.
    let marked = Story { turn: Some(at(90)), open: Some(true), ..Story::default() };
    assert_eq!(of(&play, From::Mark(&mark(Some(at(90)), 0))), marked);
}

#[test]
fn without_a_turn_the_one_that_was_told_stays_told() {
    let play = play().has("a", 200, record());
    let mark = mark(Some(at(90)), 0);
    let marked = Story { turn: Some(at(90)), ..Story::default() };
    assert_eq!(of(&play, From::Mark(&mark)), marked);
    assert_eq!(of(&play, From::Time(at(10))), Story::default());
}
