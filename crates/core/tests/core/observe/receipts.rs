//! What our own receipts add to the evidence: launches, their output, and stops.

use crate::{
    play::{Play, home, play, record},
    world::{Machine, at, key, launch, machine, runs, stop},
};
use agentctl_core::{
    agent::Depth,
    evidence::{Ending, Evidence, Pending, Record, Role, Turn},
    ident::ProcKey,
    observe::{History, Survey},
    proof::Source,
    receipt::{Exit, VARIABLE},
    wire::Session,
};
use std::time::Duration;

fn of_a(play: &Play, machine: &Machine) -> Evidence {
    let mut all = play.seen(machine, History::All);
    all.retain(|one| one.id.as_deref() == Some("a"));
    all.remove(0)
}

fn session(play: &Play, machine: &Machine) -> Session {
    let survey = Survey::of(play, machine, &home(), "a");
    let one = survey.candidates.iter().find(|one| one.id.as_deref() == Some("a"));
    survey.session(one.expect("it is there"), Depth::Glance).0
}

/// Exited well at that second.
fn exit(second: i64) -> Option<Exit> {
    Some(Exit { schema: 1, code: Some(0), signal: None, at: at(second), overdue: false })
}

#[test]
fn the_last_stop_of_a_session_counts_and_no_other_s() {
    let mut machine = machine(Vec::new());
    machine.stops = vec![stop("a", key(7, 100), 160), stop("a", key(8, 100), 150)];
    machine.stops.extend([stop("b", key(9, 100), 170), stop("a", key(9, 100), 180)]);
    machine.stops[3].1.agent = "another".into();
    let source = Source::File { path: "/receipts/160".into(), shows: "a".into() };
    let stop = |machine: &Machine| of_a(&play().has("a", 140, record()), machine).stop;
    assert_eq!(stop(&machine), Some((at(160), source.clone())));
    // We had it go on: its last process is another one, which nobody stopped.
    machine.launches = vec![launch("again", Some("a"), None)];
    machine.launches[0].at = at(160);
    assert_eq!(stop(&machine), Some((at(160), source)));
    machine.launches[0].at = at(161);
    assert_eq!(stop(&machine), None);
    // No clock counts where the kernel tells which process was first: the one that was stopped began 100 ticks after boot.
    for (start, is_told) in [(99, true), (100, true), (101, false)] {
        machine.launches[0].process = Some(key(7, start));
        assert_eq!(stop(&machine).is_some(), is_told, "{start}");
    }
    // Across a restart nothing else does.
    for (second, is_told) in [(160, true), (161, false)] {
        machine.launches[0].process = Some(ProcKey { boot: "another".into(), ..key(7, 100) });
        machine.launches[0].at = at(second);
        assert_eq!(stop(&machine).is_some(), is_told, "{second}");
    }
}

#[test]
fn the_newest_launch_of_a_session_is_told_with_it() {
    let mut machine = machine(Vec::new());
    machine.launches =
        ["old", "new", "b", "another"].map(|name| launch(name, Some("a"), None)).into();
    machine.launches[0].at = at(40);
    machine.launches[2].session = Some("b".into());
    machine.launches[2].at = at(60);
    machine.launches[3].agent = "another".into();
    machine.launches[3].at = at(60);
    let session = session(&play().has("a", 140, record()), &machine);
    assert_eq!(session.launch_id.as_deref(), Some("new"));
}

#[test]
fn a_launch_whose_process_another_has_replaced_gives_only_its_names() {
    let with = |process, carries: bool| {
        let proc = runs(7, 100, &["run", "--session", "a"]);
        let mut machine = machine(vec![if carries { proc.with(VARIABLE, "one") } else { proc }]);
        machine.launches = vec![launch("one", Some("a"), process)];
        machine.launches[0].log = Some("/log".into());
        machine.launches[0].exit = exit(150);
        machine.launches[0].deadline = Some(at(2000));
        let hooks = serde_json::json!({ "on_create": "x", "cwd": "/", "limit": Duration::ZERO });
        machine.launches[0].hooks = serde_json::from_value(hooks).expect("hooks");
        let session = session(&play().has("a", 140, record()), &machine);
        let rest = (session.log, session.deadline, session.hooks.len());
        (session.launch_id, rest)
    };
    let log = (Some("/log".into()), Some(at(2000)), 1);
    let name = Some("one".to_owned());
    assert_eq!(with(Some(key(7, 100)), false), (name.clone(), log.clone()));
    assert_eq!(with(Some(key(6, 90)), true), (name.clone(), log.clone()));
    assert_eq!(with(None, false), (name.clone(), log.clone()));
    assert_eq!(with(Some(key(6, 90)), false), (name, (None, None, 0)));
}

#[test]
fn who_was_launched_for_more_than_one_prompt_was_given_the_first() {
    let with = |input: bool, process| {
        let mut machine = machine(vec![runs(7, 100, &["run", "--session", "a"])]);
        machine.launches = vec![launch("one", Some("a"), Some(process))];
        machine.launches[0].input = input.then(|| "/input".into());
        of_a(&play().has("a", 140, record()), &machine).prompted
    };
    let source = Source::Launch { launch: "one".into(), pid: 7 };
    assert_eq!(with(true, key(7, 100)), Some((key(7, 100), source)));
    assert_eq!(with(false, key(7, 100)), None);
    assert_eq!(with(true, key(6, 100)), None);
}

fn open() -> Record {
    let line = Source::File { path: "/a".into(), shows: "a".into() };
    let turn = Turn::Open { alive: at(100), pending: Pending::Nothing, line };
    Record { turn, updated: Some(at(140)), ..record() }
}

fn turned(how: Ending) -> Record {
    let line = Source::File { path: "/a".into(), shows: "a".into() };
    Record { turn: Turn::Ended { at: at(140), how, line }, ..open() }
}

/// Where in its output a launch that exited then says that it answered a prompt of this record.
fn answered(record: Record, log: &[u8], exit: Option<Exit>) -> Option<u64> {
    let mut machine = machine(Vec::new());
    machine.launches = vec![launch("one", Some("a"), Some(key(7, 100)))];
    machine.launches[0].log = Some("/log".into());
    machine.launches[0].exit = exit;
    machine.file("/log", log);
    match of_a(&play().has("a", 140, record), &machine).answered {
        Some(Source::Line { path, offset, shows, .. }) => {
            assert_eq!((path.to_str(), shows.as_str()), (Some("/log"), "answered"));
            Some(offset)
        }
        Some(other) => panic!("{other:?}"),
        None => None,
    }
}

#[test]
fn what_a_launch_printed_last_tells_whether_an_open_turn_was_answered() {
    assert_eq!(answered(open(), b"x\nanswered\nhook\n", exit(140)), Some(2));
    assert_eq!(answered(open(), b"answered\nfailed\n", exit(140)), None);
    assert_eq!(answered(open(), b"failed\nanswered\n", exit(140)), Some(7));
    assert_eq!(answered(open(), b"hook\n", exit(140)), None);
    assert_eq!(answered(turned(Ending::Interrupted), b"answered\n", exit(140)), Some(0));
    assert_eq!(answered(turned(Ending::Completed), b"answered\n", exit(140)), None);
    assert_eq!(answered(record(), b"answered\n", exit(140)), None);
}

#[test]
fn only_a_launch_that_exited_well_since_the_record_was_written_has_answered() {
    assert_eq!(answered(open(), b"answered\n", exit(139)), None);
    assert_eq!(answered(open(), b"answered\n", None), None);
    let failed = exit(140).map(|exit| Exit { code: Some(1), ..exit });
    assert_eq!(answered(open(), b"answered\n", failed), None);
}

#[test]
fn an_answer_is_looked_for_near_the_end_of_the_output() {
    // 256 KiB are looked through, wherever in the file they are.
    let log = |before: usize, after: usize| {
        [b"before\n".repeat(before), b"answered\n".to_vec(), b"1234567\n".repeat(after)].concat()
    };
    assert_eq!(answered(open(), &log(0, 32_767), exit(140)), Some(0));
    assert_eq!(answered(open(), &log(0, 32_768), exit(140)), None);
    assert_eq!(answered(open(), &log(100_000, 3), exit(140)), Some(700_000));
}

#[test]
fn who_was_launched_by_us_is_run_as_we_ran_it() {
    let with = |session: &str, input: bool| {
        let proc = runs(7, 100, &["--session", "a"]).with(VARIABLE, "one");
        let mut machine = machine(vec![proc]);
        machine.launches = vec![launch("one", Some(session), Some(key(7, 100)))];
        machine.launches[0].input = input.then(|| "/input".into());
        of_a(&play().has("a", 140, record()), &machine).holders[0].role
    };
    assert_eq!(with("a", true), Some(Role::Piped));
    assert_eq!(with("a", false), Some(Role::Headless));
    assert_eq!(with("b", false), Some(Role::Interactive));
}
