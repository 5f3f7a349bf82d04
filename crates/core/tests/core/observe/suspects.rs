//! Who may hold a session that nobody is known to hold.

use crate::{
    play::{Play, card, play, record},
    world::{Machine, Proc, STORE, at, key, launch, machine, runs},
};
use agentctl_core::{
    agent::{Card, Claim, Claims, Trail, Trouble},
    evidence::{Ground, Pending, Record, Turn},
    host::OpenFile,
    observe::History,
    proof::Source,
    receipt::Exit,
};

fn open() -> Record {
    let line = Source::File { path: "/a".into(), shows: "a".into() };
    let turn = Turn::Open { alive: at(100), pending: Pending::Nothing, line };
    Record { turn, ..record() }
}

fn elsewhere(record: Record) -> Record {
    Record { cwd: Some("/elsewhere".into()), ..record }
}

/// The suspects of `a`, and why.
fn suspects(play: &Play, machine: &Machine) -> Vec<(u32, Ground)> {
    let mut all = play.seen(machine, History::All);
    all.retain(|one| one.id.as_deref() == Some("a"));
    all.remove(0).suspects.iter().map(|one| (one.key.pid, one.ground)).collect()
}

#[test]
fn whoever_was_there_when_it_was_written_may_hold_it() {
    let with =
        |start| suspects(&play().has("a", 200, record()), &machine(vec![runs(7, start, &["run"])]));
    assert_eq!(with(200), [(7, Ground::Wrote)]);
    assert_eq!(with(201), []);
}

#[test]
fn a_line_that_is_newer_than_its_file_counts() {
    let newer = Record { updated: Some(at(300)), ..record() };
    let machine = machine(vec![runs(7, 250, &["run"])]);
    assert_eq!(suspects(&play().has("a", 200, newer), &machine), [(7, Ground::Wrote)]);
    let older = Record { updated: Some(at(100)), ..record() };
    assert_eq!(suspects(&play().has("a", 200, older), &machine), []);
}

#[test]
fn who_works_elsewhere_does_not_hold_what_has_ended() {
    let here = machine(vec![runs(7, 100, &["run"])]);
    assert_eq!(suspects(&play().has("a", 200, elsewhere(record())), &here), []);
    assert_eq!(suspects(&play().has("a", 200, elsewhere(open())), &here), []);
    // A server works for others, wherever it is.
    let server = machine(vec![runs(7, 100, &["serve"])]);
    assert_eq!(suspects(&play().has("a", 200, elsewhere(record())), &server).len(), 1);
    // An agent that goes elsewhere.
    let roams = card(Card { stays: false, ..crate::play::CARD });
    assert_eq!(suspects(&roams.has("a", 200, elsewhere(record())), &here).len(), 1);
    // One that leaves no trail may have an open turn wherever it works now.
    let infers = card(Card { infers: true, ..crate::play::CARD });
    assert_eq!(suspects(&infers.has("a", 200, elsewhere(open())), &here).len(), 1);
    let infers = card(Card { infers: true, ..crate::play::CARD });
    assert_eq!(suspects(&infers.has("a", 200, elsewhere(record())), &here), []);
}

#[test]
fn a_directory_that_is_no_more_tells_nothing() {
    let mut machine = machine(vec![runs(7, 100, &["run"])]);
    machine.files.remove(std::path::Path::new("/elsewhere")); // it may have been renamed to where the process works
    let infers = card(Card { infers: true, ..crate::play::CARD });
    assert_eq!(suspects(&infers.has("a", 200, elsewhere(record())), &machine).len(), 1);
    // One that leaves a trail has lost none by that.
    assert_eq!(suspects(&play().has("a", 200, elsewhere(record())), &machine), []);
}

#[test]
fn a_link_leads_to_the_same_directory() {
    let mut machine = machine(vec![runs(7, 100, &["run"])]);
    machine.links.insert("/elsewhere".into(), "/work".into());
    assert_eq!(suspects(&play().has("a", 200, elsewhere(record())), &machine).len(), 1);
}

#[test]
fn only_who_began_after_the_one_that_is_gone_can_have_taken_it_over() {
    let gone = |start: u64| {
        let mut play = play().has("a", 200, record());
        play.claims = Box::new(move || {
            let trail = Trail::Process { pid: 6, start, written: at(120) };
            let source = Source::File { path: "/claim".into(), shows: "a".into() };
            let claim = Claim { session: "a".into(), trail, source, about: Default::default() };
            Ok(Claims { claims: vec![claim], ..Claims::default() })
        });
        suspects(&play, &machine(vec![runs(7, 150, &["run"])]))
    };
    assert_eq!(gone(149), [(7, Ground::Wrote)]);
    assert_eq!(gone(150), []);
    assert_eq!(gone(151), []);
}

#[test]
fn whose_words_named_it_may_hold_it_however_old_it_is() {
    let named = |words: &[&str], history| {
        let play = play().has("a", 200, elsewhere(record())).has("b", 200, record());
        let machine = machine(vec![runs(7, 300, words)]);
        let found = play.seen(&machine, history).into_iter().filter(|one| one.id.is_some());
        let of = |one: &agentctl_core::evidence::Suspect| one.ground;
        found.map(|one| (one.id, one.suspects.iter().map(of).collect())).collect::<Vec<_>>()
    };
    let a = |grounds: Vec<Ground>| (Some("a".to_owned()), grounds);
    let b = |grounds: Vec<Ground>| (Some("b".to_owned()), grounds);
    assert_eq!(named(&["--resume", "a"], History::Skip), [a(vec![Ground::Named])]);
    assert_eq!(named(&["--resume", "a"], History::All), [a(vec![Ground::Named]), b(vec![])]);
    // Told to go on with the newest of its directory, which is not `a`.
    assert_eq!(named(&["--continue"], History::Skip), [b(vec![Ground::Resumed])]);
    assert_eq!(named(&[], History::Skip), []);
}

#[test]
fn the_newest_of_its_directory_is_what_was_written_last_before_it_began() {
    let resumed = |records: &[(&str, i64, Record)]| {
        let mut play = play();
        for (id, updated, record) in records {
            play = play.has(id, *updated, record.clone());
        }
        let seen = play.seen(&machine(vec![runs(7, 300, &["--continue"])]), History::All);
        let resumed = seen
            .into_iter()
            .filter(|one| one.suspects.iter().any(|suspect| suspect.ground == Ground::Resumed));
        resumed.filter_map(|one| one.id).collect::<Vec<_>>()
    };
    let child = Record { parent: Some("a".into()), ..record() };
    assert_eq!(resumed(&[("a", 200, record()), ("b", 100, record())]), ["a"]);
    assert_eq!(resumed(&[("a", 100, record()), ("b", 200, record())]), ["b"]);
    assert_eq!(resumed(&[("a", 299, record()), ("b", 300, record())]), ["a"]);
    assert_eq!(resumed(&[("a", 100, record()), ("b", 200, elsewhere(record()))]), ["a"]);
    assert_eq!(resumed(&[("a", 100, record()), ("b", 200, child)]), ["a"]);
    let nowhere = Record { cwd: None, ..record() };
    assert_eq!(resumed(&[("a", 100, record()), ("b", 200, nowhere)]), ["b"]);
}

#[test]
fn what_we_launched_goes_on_with_what_we_said() {
    let resumed = |carries: &str, agent: &str| {
        let play = play().has("a", 200, record());
        let proc = runs(7, 300, &["--continue"]).with("AGENTCTL_LAUNCH_ID", carries);
        let mut machine = machine(vec![proc]);
        machine.launches = vec![launch("one", None, None)];
        machine.launches[0].agent = agent.into();
        suspects(&play, &machine).len()
    };
    assert_eq!(resumed("one", "play"), 0);
    assert_eq!(resumed("two", "play"), 1);
    assert_eq!(resumed("one", "another"), 1);
    // A tool of what we launched was told by that one.
    let carries = |proc: Proc| proc.with("AGENTCTL_LAUNCH_ID", "one");
    let mut below = carries(runs(8, 300, &["--continue"]));
    below.of.parent = 7;
    let mut machine = machine(vec![carries(runs(7, 300, &["run"])), below]);
    machine.launches = vec![launch("one", None, None)];
    let play = play().has("a", 200, record());
    assert_eq!(suspects(&play, &machine), [(8, Ground::Resumed)]);
}

#[test]
fn history_begins_a_little_before_the_moment_that_was_asked_for() {
    let ids = |from: &str| {
        let play = play().has("a", 200, record());
        let from = History::Since(from.parse().expect("a time"));
        play.seen(&machine(Vec::new()), from).len()
    };
    // `a` was written at 1970-01-12T13:50:00Z.
    assert_eq!(ids("1970-01-12T13:50:00Z"), 1);
    assert_eq!(ids("1970-01-12T13:50:00.020Z"), 1);
    assert_eq!(ids("1970-01-12T13:50:00.021Z"), 0);
}

#[test]
fn without_history_what_was_touched_since_a_suspect_began_is_shown() {
    let ids = |updated, touched, store: &str| {
        let mut play = play().has("a", updated, record());
        play.sessions[0].0.touched = at(touched);
        let mut machine = machine(vec![runs(7, 100, &["run"]).with("PLAY_HOME", store)]);
        machine.folder("/other", 2);
        let seen = play.seen(&machine, History::Skip);
        seen.into_iter().filter_map(|one| one.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(100, 100, STORE), ["a"]);
    assert_eq!(ids(50, 100, STORE), ["a"]);
    assert_eq!(ids(50, 99, STORE), [""; 0]);
    assert_eq!(ids(100, 100, "/other"), [""; 0]);
}

#[test]
fn where_claims_are_torn_a_process_without_one_may_hold_anything_of_its_directory() {
    let torn = || {
        let problems = vec![Trouble { path: "/claim".into(), why: "torn".into() }];
        Ok(Claims { problems, ..Claims::default() })
    };
    let with = |record, history| {
        let mut play = play().has("a", 50, record);
        play.claims = Box::new(torn);
        let seen = play.seen(&machine(vec![runs(7, 100, &["run"])]), history);
        let seen = seen.into_iter().filter(|one| one.id.is_some());
        seen.map(|one| one.suspects.first().map(|one| one.ground)).collect::<Vec<_>>()
    };
    assert_eq!(with(record(), History::Skip), [Some(Ground::Untold)]);
    assert_eq!(with(elsewhere(record()), History::All), [None]);
}

#[test]
fn whoever_lacks_what_every_process_of_a_store_has_open_holds_nothing_there() {
    let with = |open: &[&str]| {
        let mut play = play().has("a", 200, record());
        play.always_open = Some("/database".into());
        let mut proc = runs(7, 100, &["run"]);
        let file = |path: &&str| OpenFile { path: path.into(), writable: true };
        proc.open = Some(open.iter().map(file).collect());
        suspects(&play, &machine(vec![proc])).len()
    };
    assert_eq!(with(&["/log", "/database"]), 1);
    assert_eq!(with(&["/log"]), 0);
    assert_eq!(with(&[]), 0);
}

#[test]
fn who_is_older_than_a_launch_that_has_ended_and_works_elsewhere_has_not_lost_its_claim() {
    let with = |exit: i64, start: u64| {
        let mut play = play().has("a", 200, elsewhere(open()));
        play.registers = true;
        let mut machine = machine(vec![runs(7, start, &["run"])]);
        machine.launches = vec![launch("one", Some("a"), Some(key(6, 120)))];
        let exit = Exit { schema: 1, code: Some(0), signal: None, at: at(exit), overdue: false };
        machine.launches[0].exit = Some(exit);
        suspects(&play, &machine).len()
    };
    assert_eq!(with(200, 119), 0);
    assert_eq!(with(200, 120), 1);
    assert_eq!(with(199, 119), 1);
}
