//! What live processes say when they are asked, and what they spawned.

use crate::{
    play::{CARD, Play, card, play, record, stub},
    world::{Machine, STORE, at, key, machine, runs},
};
use agentctl_core::{
    agent::{About, Card, Claim, Trail},
    evidence::{Evidence, Ground, Pending, Record, Turn},
    observe::{History, Teller},
    proof::Source,
};
use std::io;

fn source(shows: &str) -> Source {
    Source::File { path: "/answer".into(), shows: shows.into() }
}

/// The process of this pid says that it runs a session.
fn says(pid: u32, id: &str) -> Claim {
    let trail = Trail::Known(key(pid, 100));
    Claim { session: id.into(), trail, source: source(id), about: About::default() }
}

fn open(alive: i64) -> Record {
    let turn = Turn::Open { alive: at(alive), pending: Pending::Nothing, line: source("line") };
    Record { turn, ..record() }
}

fn of_a(play: &Play, machine: &Machine) -> Evidence {
    let mut all = play.seen(machine, History::All);
    all.retain(|one| one.id.as_deref() == Some("a"));
    all.remove(0)
}

fn holders(seen: &Evidence) -> Vec<(u32, Source)> {
    seen.holders.iter().map(|one| (one.key.pid, one.trail.clone())).collect()
}

#[test]
fn servers_and_terminals_of_the_store_are_asked_and_nobody_else() {
    let with = |words: &[&str], store: &str| {
        let mut machine = machine(vec![runs(7, 100, words).with("PLAY_HOME", store)]);
        machine.folder("/other", 2);
        let mut play = play().has("a", 200, record());
        play.serves = Box::new(|pid| Ok(Some(vec![says(pid, "a")])));
        holders(&of_a(&play, &machine))
    };
    assert_eq!(with(&["serve"], STORE), [(7, source("a"))]);
    assert_eq!(with(&[], STORE), [(7, source("a"))]);
    assert_eq!(with(&["run"], STORE), []);
    assert_eq!(with(&["wait"], STORE), []);
}

#[test]
fn a_server_that_answered_may_hold_nothing_else_and_a_terminal_may() {
    let suspects = |words: &[&str], answers: bool| {
        let mut play = play().has("a", 200, record());
        play.serves = Box::new(move |_| Ok(answers.then(Vec::new)));
        let found = of_a(&play, &machine(vec![runs(7, 100, words)])).suspects;
        found.into_iter().map(|one| one.key.pid).collect::<Vec<_>>()
    };
    assert_eq!(suspects(&["serve"], true), [0; 0]);
    assert_eq!(suspects(&["serve"], false), [7]);
    assert_eq!(suspects(&[], true), [7]);
}

#[test]
fn whoever_does_not_answer_is_told_with_why() {
    let mut play = play().has("a", 200, record());
    play.serves = Box::new(|_| Err(io::Error::other("hung up")));
    let machine = machine(vec![runs(7, 100, &["serve"])]);
    let suspects = of_a(&play, &machine).suspects;
    let silent = suspects.iter().map(|one| one.silent.as_deref()).collect::<Vec<_>>();
    assert_eq!(silent, [Some("hung up")]);
    let survey = play.survey(&machine, History::Skip);
    let problems: Vec<&str> = survey.problems.iter().map(|one| one.why.as_str()).collect();
    assert_eq!(problems, ["pid 7 (start 100) does not say what it runs: hung up"]);
}

#[test]
fn a_turn_that_a_server_knows_nothing_of_begins_or_ends_at_this_moment() {
    let suspects = |record: Record, answers: bool| {
        let mut play = play().has("a", 200, record);
        play.serves = Box::new(move |_| Ok(answers.then(Vec::new)));
        let found = of_a(&play, &machine(vec![runs(7, 100, &["serve"])])).suspects;
        found.into_iter().map(|one| (one.key.pid, one.ground)).collect::<Vec<_>>()
    };
    assert_eq!(suspects(open(150), true), [(7, Ground::Wrote)]);
    assert_eq!(suspects(open(100), true), [(7, Ground::Wrote)]);
    assert_eq!(suspects(open(99), true), []);
    assert_eq!(suspects(record(), true), []);
    // Where other processes run sessions too, it may be theirs.
    let mut infers = card(Card { infers: true, ..CARD }).has("a", 200, open(150));
    infers.serves = Box::new(|_| Ok(Some(Vec::new())));
    assert_eq!(of_a(&infers, &machine(vec![runs(7, 100, &["serve"])])).suspects, []);
    // One that was not asked is a suspect once.
    assert_eq!(suspects(open(150), false), [(7, Ground::Wrote)]);
}

#[test]
fn who_holds_a_session_holds_what_it_spawned_since_and_theirs() {
    let mut play = play().has("a", 200, record()).has("b", 150, record()).has("c", 160, record());
    play = play.has("old", 99, record());
    play.serves = Box::new(|pid| Ok(Some(vec![says(pid, "a")])));
    play.spawned = Box::new(|id| {
        Ok(match id {
            "a" => vec![(stub("b", 150), source("spawned b")), (stub("old", 99), source("old"))],
            "b" => vec![(stub("c", 160), source("spawned c"))],
            _ => Vec::new(),
        })
    });
    let seen = play.seen(&machine(vec![runs(7, 100, &["serve"])]), History::All);
    let held: Vec<_> = seen.iter().map(|one| (one.id.as_deref(), holders(one))).collect();
    let by = |shows: &str| vec![(7, source(shows))];
    let expected = [
        (Some("a"), by("a")),
        (Some("b"), by("spawned b")),
        (Some("c"), by("spawned c")),
        (Some("old"), Vec::new()),
    ];
    assert_eq!(held, expected);
}

#[test]
fn where_what_was_spawned_cannot_be_read_its_holder_may_have_it() {
    let mut play = play().has("a", 200, record()).has("b", 150, record()).has("c", 99, record());
    play.serves = Box::new(|pid| Ok(Some(if pid == 7 { vec![says(7, "a")] } else { vec![] })));
    play.spawned = Box::new(|_| Err(io::Error::other("torn")));
    let machine = machine(vec![runs(7, 100, &["serve"]), runs(8, 100, &["serve"])]);
    let seen = play.seen(&machine, History::All);
    let suspects = |one: &Evidence| one.suspects.iter().map(|one| one.key.pid).collect::<Vec<_>>();
    let suspects: Vec<_> = seen.iter().map(suspects).collect();
    assert_eq!(suspects, [vec![], vec![7], vec![]]);
}

#[test]
fn tellers_are_those_that_may_serve_each_once() {
    let mut machine = machine(vec![
        runs(6, 100, &["run"]),
        runs(7, 100, &["serve"]),
        runs(8, 100, &[]).with("PLAY_HOME", "/other"),
        runs(9, 100, &["serve"]).with("PLAY_HOME", "/gone"),
    ]);
    machine.folder("/other", 2);
    let mut play = play();
    play.pushes = true;
    let survey = play.survey(&machine, History::Skip);
    let told = |one: Teller| (one.process.pid, one.serves, one.push.is_some());
    let tellers: Vec<_> = survey.tellers(|known| known.pid == 8).into_iter().map(told).collect();
    assert_eq!(tellers, [(7, true, true), (8, false, false)]);
}
