//! What a survey says of itself: what it found, and whether that is all.

use crate::{
    play::{Play, home, play, record},
    world::{Machine, STORE, at, key, launch, machine, other, runs, stop},
};
use agentctl_core::{
    agent::{Claim, Claims, Trail, Trouble},
    host::CannotTell,
    observe::{History, Survey},
    proof::Source,
};
use std::{io, path::Path};

/// A machine that has nothing of the agent, with these processes.
fn bare() -> Machine {
    let mut machine = machine(vec![other(3, 5)]);
    machine.files.clear();
    machine
}

fn is_absent(machine: &Machine) -> bool {
    Survey::is_absent(&play(), machine, &home())
}

#[test]
fn an_agent_is_absent_without_a_store_a_process_and_a_launch() {
    assert!(is_absent(&bare()));
    let with_store = machine(Vec::new());
    assert!(!is_absent(&with_store));
    let mut with_process = machine(vec![runs(7, 100, &[])]);
    with_process.files.clear();
    assert!(!is_absent(&with_process));
    let mut launched = bare();
    launched.launches = vec![launch("one", None, None)];
    assert!(!is_absent(&launched));
    launched.launches[0].agent = "another".into();
    assert!(is_absent(&launched));
}

#[test]
fn an_agent_is_not_absent_where_that_cannot_be_seen() {
    let mut closed = bare();
    closed.closed = vec!["/home".into()];
    assert!(!is_absent(&closed));
    let mut blind = bare();
    blind.table = Err(CannotTell("no processes".into()));
    assert!(!is_absent(&blind));
}

/// Whether no store is closed, and whether who is not there is gone.
fn says(play: &Play, machine: &Machine) -> (bool, bool) {
    let survey = play.survey(machine, History::All);
    (survey.is_listed(), survey.is_whole())
}

#[test]
fn a_survey_is_whole_if_all_could_be_read() {
    let calm = machine(vec![runs(7, 100, &["run"])]);
    assert_eq!(says(&play(), &calm), (true, true));

    let mut blind = machine(Vec::new());
    blind.table = Err(CannotTell("no processes".into()));
    assert_eq!(says(&play(), &blind), (false, false));

    let mut closed = play();
    closed.claims = Box::new(|| Err(io::Error::other("closed")));
    assert_eq!(says(&closed, &calm), (false, false));

    let mut unclear = play();
    unclear.claims = Box::new(|| {
        let problems = vec![Trouble { path: "/claim".into(), why: "torn".into() }];
        Ok(Claims { problems, ..Claims::default() })
    });
    assert_eq!(says(&unclear, &calm), (true, false));

    let mut partial = play();
    partial.troubles = vec!["torn".into()];
    assert_eq!(says(&partial, &calm), (true, false));

    let mut untold = runs(7, 100, &["run"]);
    untold.argv = None;
    assert_eq!(says(&play(), &machine(vec![untold])), (true, false));

    let mut silent = play();
    silent.serves = Box::new(|_| Err(io::Error::other("no answer")));
    assert_eq!(says(&silent, &machine(vec![runs(7, 100, &["serve"])])), (true, false));
}

fn ids<'a>(survey: &'a Survey<'_>) -> Vec<&'a str> {
    survey.candidates.iter().map(|one| one.id.as_deref().unwrap_or("none")).collect()
}

#[test]
fn a_session_that_has_ended_is_found_by_its_id_alone() {
    let (machine, play) =
        (machine(Vec::new()), play().has("a", 10, record()).has("b", 20, record()));
    assert_eq!(ids(&play.survey(&machine, History::Skip)), [""; 0]);
    assert_eq!(ids(&Survey::of(&play, &machine, &home(), "b")), ["b"]);
    assert_eq!(ids(&Survey::near(&play, &machine, &home(), "a")), ["a"]);
    let mut both = Survey::of(&play, &machine, &home(), "b");
    both.also("b");
    both.also("a");
    assert_eq!(ids(&both), ["b", "a"]);
}

#[test]
fn a_session_of_the_same_id_in_another_store_is_another() {
    let mut machine = machine(vec![runs(7, 100, &["run"]).with("PLAY_HOME", "/other")]);
    machine.folder("/other", 2);
    let mut play = play().has("a", 10, record()).has("a", 20, record());
    play.sessions[1].0.path = "/other/a".into();
    let survey = Survey::of(&play, &machine, &home(), "a");
    let found = survey.candidates.iter().filter(|one| one.id.is_some());
    let stores: Vec<&Path> = found.map(|one| one.store.as_path()).collect();
    assert_eq!(stores, [Path::new(STORE), Path::new("/other")]);
}

#[test]
fn a_session_that_was_stopped_before_anything_was_written_is_known_by_our_receipt() {
    let mut machine = machine(vec![runs(8, 100, &["run"])]);
    machine.stops = vec![stop("a", key(7, 100), 150), stop("b", key(8, 100), 150)];
    machine.stops.push(stop("c", key(9, 100), 150));
    machine.stops[2].1.agent = "another".into();
    let play = play();
    // Of `b` the process lives, and `c` is another agent's.
    let asked = |survey: &Survey<'_>| {
        let named = survey.candidates.iter().filter_map(|one| one.id.clone());
        named.collect::<Vec<_>>()
    };
    assert_eq!(asked(&play.survey(&machine, History::All)), ["a"]);
    assert_eq!(asked(&play.survey(&machine, History::Since(at(150)))), ["a"]);
    assert_eq!(asked(&play.survey(&machine, History::Since(at(151)))), [""; 0]);
    assert_eq!(asked(&play.survey(&machine, History::Skip)), [""; 0]);
    assert_eq!(asked(&Survey::of(&play, &machine, &home(), "a")), ["a"]);
    assert_eq!(asked(&Survey::of(&play, &machine, &home(), "x")), [""; 0]);
    assert_eq!(asked(&Survey::near(&play, &machine, &home(), "a")), ["a"]);
    assert_eq!(asked(&Survey::near(&play, &machine, &home(), "x")), [""; 0]);
    // Once it is on the disk, that tells.
    let play = play.has("a", 120, record());
    let survey = play.survey(&machine, History::All);
    assert_eq!(survey.candidates.iter().filter(|one| one.id.is_some()).count(), 1);
}

#[test]
fn a_registry_that_was_copied_with_its_store_makes_no_second_session() {
    let mut machine = machine(vec![runs(7, 100, &["run"])]);
    machine.folder("/copy", 2);
    machine.launches = vec![launch("one", None, None)];
    machine.launches[0].stores = vec!["/copy".into()];
    let mut play = play().has("a", 200, record());
    play.sessions[0].0.path = "/copy/a".into();
    play.claims = Box::new(|| {
        let trail = Trail::Process { pid: 7, start: 100, written: at(150) };
        let source = Source::File { path: "/claim".into(), shows: "a".into() };
        let claim = Claim { session: "a".into(), trail, source, about: Default::default() };
        Ok(Claims { claims: vec![claim], ..Claims::default() })
    });
    let survey = play.survey(&machine, History::Skip);
    let found: Vec<_> = survey.candidates.iter().map(|one| one.store.as_path()).collect();
    assert_eq!((survey.stores.len(), found), (2, vec![Path::new("/copy")]));
    let one = &survey.candidates[0];
    assert!(one.is_held() && one.is_held_by(7) && !one.is_held_by(8));
}

#[test]
fn what_has_ended_is_held_by_nobody() {
    let (machine, play) = (machine(Vec::new()), play().has("a", 10, record()));
    let survey = play.survey(&machine, History::All);
    assert!(!survey.candidates[0].is_held() && !survey.candidates[0].is_held_by(7));
}

#[test]
fn servers_are_those_that_serve_and_may_use_the_store() {
    let elsewhere = runs(8, 100, &["serve"]).with("PLAY_HOME", "/other");
    let mut untold = runs(9, 100, &["serve"]);
    untold.argv = None;
    let mut machine =
        machine(vec![runs(6, 100, &["run"]), runs(7, 100, &["serve"]), elsewhere, untold]);
    machine.folder("/other", 2);
    let play = play();
    let survey = play.survey(&machine, History::Skip);
    assert_eq!(survey.servers(Path::new(STORE)), [key(7, 100)]);
    assert_eq!(survey.servers(Path::new("/other")), [key(8, 100)]);
}
