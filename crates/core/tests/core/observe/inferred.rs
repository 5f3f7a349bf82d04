//! Processes that leave no trail: what their words, their tools, our launches and plain reason tell.

use crate::{
    play::{CARD, Play, card, home, play, record, stub},
    world::{Machine, Proc, at, key, launch, machine, other, runs},
};
use agentctl_core::{
    agent::{About, Card, Claim, Claims, Depth, Lately, Trail},
    evidence::{Evidence, Pending, Reading, Record, Role, Turn},
    observe::{Candidate, History, Recall, Survey},
    proof::Source,
    receipt::VARIABLE,
};
use std::path::Path;

fn infers() -> Play {
    card(Card { infers: true, ..CARD })
}

fn holders(seen: &[Evidence]) -> Vec<(Option<&str>, u32, Source)> {
    let of = |one: &'_ Evidence| one.holders.clone();
    let all = seen.iter().flat_map(|one| of(one).into_iter().map(|held| (one.id.as_deref(), held)));
    all.map(|(id, held)| (id, held.key.pid, held.trail)).collect()
}

/// Which sessions a process is known to hold, by its pid.
fn held(play: &Play, machine: &Machine) -> Vec<(String, u32)> {
    let seen = play.seen(machine, History::All);
    let named = holders(&seen).into_iter().filter_map(|(id, pid, _)| Some((id?.to_owned(), pid)));
    named.collect()
}

fn a(pid: u32) -> Vec<(String, u32)> {
    vec![("a".to_owned(), pid)]
}

const NONE: [(String, u32); 0] = [];

#[test]
fn the_only_process_of_a_directory_holds_the_only_session_written_there_since() {
    let play = infers().has("a", 200, record()).has("old", 99, record());
    let machine = machine(vec![runs(7, 100, &["run"])]);
    let seen = play.seen(&machine, History::All);
    let trail = Source::Inference { process: key(7, 100) };
    assert_eq!(holders(&seen), [(Some("a"), 7, trail)]);
    // Of an agent that leaves a trail nothing is inferred.
    assert_eq!(held(&self::play().has("a", 200, record()), &machine), NONE);
}

/// A list may go by names that were read before; whoever acts may not, though they are at hand.
#[test]
fn only_a_list_recalls_the_names_in_a_folder() {
    let by_names = |lately: Lately| match lately.recalls {
        true => vec![stub("a", 200)],
        false => vec![stub("a", 200), stub("b", 200)],
    };
    let play = infers().has("a", 200, record()).has("b", 200, record());
    let play = Play { by_names: Some(by_names), ..play };
    let machine = machine(vec![runs(7, 100, &["run"])]);
    let held = |recalls: Recall| {
        let asked = (History::Skip, recalls);
        let survey = Survey::recalling(&play, &machine, &home(), asked);
        let holders = |one: &Candidate| {
            let holders = survey.look(one, Depth::Glance).holders;
            holders.iter().filter_map(|holder| Some((one.id.clone()?, holder.key.pid))).collect()
        };
        survey.candidates.iter().flat_map::<Vec<_>, _>(holders).collect::<Vec<_>>()
    };
    assert_eq!([Recall::Live, Recall::Records, Recall::Counts].map(held), [a(7), a(7), vec![]]);
}

#[test]
fn two_processes_of_a_directory_are_two_answers() {
    let with = |other: Proc| {
        let mut machine = machine(vec![runs(7, 100, &["run"]), other]);
        machine.folder("/other", 2);
        held(&infers().has("a", 200, record()), &machine)
    };
    assert_eq!(with(runs(8, 100, &["run"])), NONE);
    let mut elsewhere = runs(8, 100, &["run"]);
    elsewhere.cwd = Some("/elsewhere".into());
    assert_eq!(with(elsewhere.clone()), a(7));
    elsewhere.cwd = None;
    assert_eq!(with(elsewhere), NONE);
    assert_eq!(with(runs(8, 100, &["run"]).with("PLAY_HOME", "/other")), a(7));
    // Whose session is known is none.
    assert_eq!(with(runs(8, 100, &["run", "--session", "b"])).len(), 2);
}

#[test]
fn who_does_not_tell_its_store_may_use_any() {
    let mut untold = runs(7, 100, &["run"]);
    untold.env = None;
    let machine = machine(vec![untold, runs(8, 100, &["run"])]);
    assert_eq!(held(&infers().has("a", 200, record()), &machine), NONE);
}

#[test]
fn what_the_agent_says_cannot_be_is_not_inferred() {
    let mut play = infers().has("a", 200, record());
    play.joins = false;
    assert_eq!(held(&play, &machine(vec![runs(7, 100, &["run"])])), NONE);
}

#[test]
fn two_sessions_of_a_directory_are_two_answers_unless_one_spawned_the_other() {
    let with = |second: Record, updated| {
        let play = infers().has("a", 200, record()).has("b", updated, second);
        held(&play, &machine(vec![runs(7, 100, &["run"])]))
    };
    assert_eq!(with(record(), 200), NONE);
    assert_eq!(with(record(), 99), a(7));
    assert_eq!(with(Record { cwd: Some("/elsewhere".into()), ..record() }, 200), a(7));
    assert_eq!(with(Record { cwd: None, ..record() }, 200), NONE);
    assert_eq!(with(Record { parent: Some("a".into()), ..record() }, 200), a(7));
    assert_eq!(with(Record { parent: Some("x".into()), ..record() }, 200), NONE);
}

#[test]
fn what_cannot_be_read_may_be_a_second_answer() {
    let machine = machine(vec![runs(7, 100, &["run"])]);
    let mut torn = infers().has("a", 200, record());
    torn.troubles = vec!["torn".into()];
    assert_eq!(held(&torn, &machine), NONE);
    let mut unread = infers().has("a", 200, record()).has("b", 200, record());
    unread.sessions[1].1 = None;
    assert_eq!(held(&unread, &machine), NONE);
}

/// Starts are told to the second here: what was written within the same one may be older.
#[test]
fn who_may_have_begun_after_the_last_line_is_not_joined_with_it() {
    let machine = machine(vec![runs(7, 100, &["run"])]);
    assert_eq!(held(&infers().has("a", 100, record()), &machine), NONE);
    assert_eq!(held(&infers().has("a", 101, record()), &machine), a(7));
    // What is dated well after now was written under another clock.
    assert_eq!(held(&infers().has("a", 1060, record()), &machine), a(7));
    assert_eq!(held(&infers().has("a", 1061, record()), &machine), NONE);
}

#[test]
fn who_has_written_less_than_stands_in_a_new_session_is_not_its_process() {
    let with = |written: Option<u64>, started: i64| {
        let mut proc = runs(7, 100, &["run"]);
        proc.written = written;
        let mut machine = machine(vec![proc]);
        machine.file("/home/.play/a", b"0123456789");
        let made = Record { started: Some(at(started)), ..record() };
        held(&infers().has("a", 200, made), &machine)
    };
    assert_eq!(with(Some(10), 100), a(7));
    assert_eq!(with(Some(9), 100), NONE);
    assert_eq!(with(None, 100), a(7));
    // It is older than the process, which may have added to it.
    assert_eq!(with(Some(9), 99), a(7));
}

#[test]
fn what_a_server_may_have_written_is_not_joined_with_another() {
    let open = Turn::Open {
        alive: at(150),
        pending: Pending::Nothing,
        line: Source::File { path: "/a".into(), shows: "a".into() },
    };
    let with = |turn: &Turn, start: u64, answers: bool| {
        let mut play = infers().has("a", 200, Record { turn: turn.clone(), ..record() });
        play.serves = Box::new(move |_| Ok(answers.then(Vec::new)));
        let machine = machine(vec![runs(7, 100, &["run"]), runs(8, start, &["serve"])]);
        held(&play, &machine)
    };
    assert_eq!(with(&Turn::None, 100, true), NONE);
    assert_eq!(with(&Turn::None, 201, true), a(7));
    assert_eq!(with(&open, 100, true), a(7));
}

#[test]
fn arguments_name_a_session_in_the_store_that_their_process_uses() {
    let seen = play()
        .has("a", 200, record())
        .seen(&machine(vec![runs(7, 300, &["run", "--session", "a"])]), History::Skip);
    let trail = Source::Arguments { shows: "a".into(), pid: 7 };
    assert_eq!(holders(&seen), [(Some("a"), 7, trail)]);
}

#[test]
fn what_arguments_name_is_not_looked_for_in_another_store() {
    let proc = runs(7, 300, &["run", "--session", "a"]).with("PLAY_HOME", "/other");
    let mut machine = machine(vec![proc]);
    machine.folder("/other", 2);
    let play = play().has("a", 200, record());
    let survey = play.survey(&machine, History::Skip);
    let stores: Vec<_> = survey.candidates.iter().map(|one| one.store.as_path()).collect();
    assert_eq!(stores, [Path::new("/other")]);
}

#[test]
fn a_tool_names_the_session_that_it_runs_for() {
    let play = || card(Card { tool_variable: Some("PLAY_ID"), ..CARD }).has("a", 200, record());
    let tool = |value: &str| {
        let mut tool = other(8, 150).with("PLAY_ID", value);
        tool.of.parent = 7;
        tool
    };
    let seen = play().seen(&machine(vec![runs(7, 100, &["run"]), tool("a")]), History::Skip);
    let trail = Source::Variable { variable: "PLAY_ID=a".into(), pid: 8 };
    assert_eq!(holders(&seen), [(Some("a"), 7, trail)]);
    // An agent that is itself a tool hands on what it was given.
    let within = runs(7, 100, &["run"]).with("PLAY_ID", "a");
    assert_eq!(held(&play(), &machine(vec![within.clone(), tool("a")])), NONE);
    assert_eq!(held(&play(), &machine(vec![within, tool("b")])), [("b".to_owned(), 7)]);
}

/// The launch `one` was for this session.
fn launched(procs: Vec<Proc>, session: Option<&str>) -> Machine {
    let mut machine = machine(procs);
    machine.launches = vec![launch("one", session, Some(key(7, 100)))];
    machine
}

#[test]
fn who_carries_our_launch_holds_the_session_of_it() {
    let carries = || runs(7, 100, &["run"]).with(VARIABLE, "one");
    let play = || play().has("a", 200, record());
    let seen = play().seen(&launched(vec![carries()], Some("a")), History::Skip);
    let trail = Source::Launch { launch: "one".into(), pid: 7 };
    assert_eq!(holders(&seen), [(Some("a"), 7, trail)]);
    let mut machine = launched(vec![carries()], Some("a"));
    machine.launches[0].agent = "another".into();
    assert_eq!(held(&play(), &machine), NONE);
    assert_eq!(held(&play(), &launched(vec![carries()], None)), NONE);
    // An agent that it started as a tool has a session of its own.
    let mut below = runs(8, 150, &["run", "x"]).with(VARIABLE, "one");
    below.of.parent = 7;
    assert_eq!(held(&play(), &launched(vec![carries(), below], Some("a"))), a(7));
}

#[test]
fn who_was_started_by_us_is_known_though_nothing_else_shows_it() {
    let play = || play().has("a", 200, record());
    let seen = play().seen(&launched(vec![other(7, 100)], Some("a")), History::Skip);
    let trail = || Source::Launch { launch: "one".into(), pid: 7 };
    assert_eq!(holders(&seen), [(Some("a"), 7, trail())]);
    assert_eq!(seen[0].holders[0].role, Some(Role::Headless));
    let seen = play().seen(&launched(vec![other(7, 100)], None), History::Skip);
    assert_eq!(holders(&seen), [(None, 7, trail())]);
    // Its directory is that of its process.
    let cwd = |seen: &[Evidence]| match &seen[0].record {
        Reading::Read(record) => record.cwd.clone(),
        Reading::Absent | Reading::Failed { .. } => None,
    };
    let mut moved = other(7, 100);
    moved.cwd = Some("/moved".into());
    let seen = play().seen(&launched(vec![moved], Some("a")), History::Skip);
    assert_eq!(cwd(&seen), Some("/moved".into()));
    // It is gone, or an agent that carries its name is there, or another has the session.
    assert_eq!(held(&play(), &launched(Vec::new(), Some("a"))), NONE);
    let mut gone = other(7, 100);
    gone.gone = true;
    assert_eq!(held(&play(), &launched(vec![gone], Some("a"))), NONE);
    let child = runs(8, 110, &["run"]).with(VARIABLE, "one");
    assert_eq!(held(&play(), &launched(vec![other(7, 100), child], Some("a"))), a(8));
    let other_s = runs(8, 110, &["run", "--session", "a"]);
    assert_eq!(held(&play(), &launched(vec![other(7, 100), other_s], Some("a"))), a(8));
    let mut machine = launched(vec![other(7, 100)], Some("a"));
    machine.launches[0].agent = "another".into();
    assert_eq!(held(&play(), &machine), NONE);
}

#[test]
fn who_was_started_by_us_is_known_whatever_else_runs() {
    let play = || play().has("a", 200, record()).has("b", 200, record());
    let others = vec![other(7, 100), runs(9, 100, &["run", "--session", "b"])];
    let both = [("a".to_owned(), 7), ("b".to_owned(), 9)];
    assert_eq!(held(&play(), &launched(others, Some("a"))), both);
    // A claim that leads to nobody does not stand against it.
    let mut veiled = play();
    veiled.claims = Box::new(|| {
        let trail = Trail::Server { silent: "nobody answers" };
        let source = Source::File { path: "/claim".into(), shows: "a".into() };
        let claim = Claim { session: "a".into(), trail, source, about: About::default() };
        Ok(Claims { claims: vec![claim], ..Claims::default() })
    });
    assert_eq!(held(&veiled, &launched(vec![other(7, 100)], Some("a"))), a(7));
    // Of a launch without a session, whoever carries its name is the agent, or is it itself.
    let child = runs(8, 110, &["run"]).with(VARIABLE, "one");
    assert_eq!(nameless(&play(), &launched(vec![other(7, 100), child], None)), [8]);
    assert_eq!(nameless(&play(), &launched(vec![runs(7, 100, &["run"])], Some("a"))), [7]);
}

#[test]
fn who_is_known_by_a_trail_is_not_asked_for_its_words() {
    let mut play = play().has("a", 200, record()).has("b", 200, record());
    play.claims = Box::new(|| {
        let trail = Trail::Process { pid: 7, start: 100, written: at(150) };
        let source = Source::File { path: "/claim".into(), shows: "a".into() };
        let claim = Claim { session: "a".into(), trail, source, about: About::default() };
        Ok(Claims { claims: vec![claim], ..Claims::default() })
    });
    assert_eq!(held(&play, &machine(vec![runs(7, 100, &["run", "--session", "b"])])), a(7));
}

#[test]
fn what_we_launched_is_looked_for_in_the_store_that_it_uses() {
    let carries = runs(7, 100, &["run"]).with(VARIABLE, "one").with("PLAY_HOME", "/other");
    let mut machine = launched(vec![carries], Some("a"));
    machine.folder("/other", 2);
    let play = play().has("a", 50, record());
    let survey = play.survey(&machine, History::Skip);
    let stores: Vec<_> = survey.candidates.iter().map(|one| one.store.as_path()).collect();
    assert_eq!(stores, [Path::new("/other")]);
}

fn nameless(play: &Play, machine: &Machine) -> Vec<u32> {
    let seen = play.seen(machine, History::Skip);
    let all = seen.iter().filter(|one| one.id.is_none()).flat_map(|one| &one.holders);
    all.map(|holder| holder.key.pid).collect()
}

#[test]
fn a_terminal_beside_a_server_shows_what_that_runs() {
    let both = |words: &[&str], store: &str| {
        let server = runs(8, 100, &["serve"]).with("PLAY_HOME", store);
        let mut machine = machine(vec![runs(7, 100, words), server]);
        machine.folder("/other", 2);
        machine
    };
    assert_eq!(nameless(&play(), &both(&[], "/home/.play")), [0; 0]);
    assert_eq!(nameless(&play(), &both(&["run"], "/home/.play")), [7]);
    assert_eq!(nameless(&play(), &both(&[], "/other")), [7]);
    assert_eq!(nameless(&infers(), &both(&[], "/home/.play")), [7]);
}

#[test]
fn who_only_waits_for_the_same_script_is_no_second_process() {
    let script = |pid: u32, parent: u32, program: &str, words: &[&str]| {
        let mut proc = runs(pid, 100, &[]);
        let all = [&[program], words].concat();
        proc.argv = Some(all.into_iter().map(str::to_owned).collect());
        proc.of.parent = parent;
        proc
    };
    let both = |program: &str, words: &[&str], child: &[&str]| {
        let child = script(8, 7, "/usr/bin/node", child);
        nameless(&play(), &machine(vec![script(7, 1, program, words), child]))
    };
    let (words, more) = (["play.js", "run"], ["--flag", "play.js", "run"]);
    assert_eq!(both("/usr/bin/node", &words, &more), [8]);
    assert_eq!(both("/usr/bin/play", &words, &more), [7, 8]);
    assert_eq!(both("/usr/bin/node", &words, &["play.js"]), [7, 8]);
    assert_eq!(both("/usr/bin/node", &[], &more), [7, 8]);
    let apart = script(8, 1, "/usr/bin/node", &more);
    let apart = machine(vec![script(7, 1, "/usr/bin/node", &words), apart]);
    assert_eq!(nameless(&play(), &apart), [7, 8]);
}
