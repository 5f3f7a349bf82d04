//! What a launch leaves behind once its session has ended.

use crate::{
    play::{play, record},
    world::{Machine, Proc, key, launch, machine, other, runs},
};
use agentctl_core::{
    agent::Depth,
    host::CannotTell,
    observe::{History, orphans},
    receipt::VARIABLE,
    wire::{Orphan, Session},
};

const NOBODY: &[Session] = &[];

/// A process that the launch `one` started, or one of its own did.
fn left(pid: u32, start: u64, parent: u32) -> Proc {
    let mut proc = other(pid, start).with(VARIABLE, "one");
    proc.of.parent = parent;
    proc
}

/// The agent of the launch `one` had pid 7, and is gone.
fn after(procs: Vec<Proc>) -> Machine {
    let mut machine = machine(procs);
    machine.launches = vec![launch("one", Some("a"), Some(key(7, 100)))];
    machine
}

fn orphan(pid: u32, start: u64) -> Orphan {
    Orphan {
        process: key(pid, start),
        command: "sh".into(),
        launch_id: "one".into(),
        agent: "play".into(),
        session_id: Some("a".into()),
    }
}

/// A session that lives, of this process, launched by us or not.
fn session(pid: u32, launch_id: Option<&str>) -> Session {
    let (machine, play) = (machine(vec![runs(pid, 100, &["--session", "b"])]), play());
    let play = play.has("b", 200, record());
    let survey = play.survey(&machine, History::Skip);
    let (session, _) = survey.session(&survey.candidates[0], Depth::Glance);
    assert!(session.live && session.pid == Some(pid), "{session:?}");
    Session { launch_id: launch_id.map(str::to_owned), ..session }
}

#[test]
fn what_carries_a_launch_that_is_over_is_an_orphan() {
    let found = orphans(&after(vec![left(20, 100, 1), left(21, 150, 20)]), NOBODY);
    assert_eq!(found, [orphan(20, 100), orphan(21, 150)]);
}

#[test]
fn what_is_older_dead_another_s_or_without_a_launch_is_none() {
    let mut dead = left(22, 150, 1);
    dead.of.zombie = true;
    let mut another_s = left(23, 150, 1);
    another_s.mine = Some(false);
    let elsewhere = other(24, 150).with(VARIABLE, "two");
    let procs = vec![left(20, 99, 1), other(21, 150), dead, another_s, elsewhere];
    assert_eq!(orphans(&after(procs), NOBODY), []);
}

#[test]
fn a_launch_that_lives_or_was_of_another_boot_has_no_orphans() {
    let lives = after(vec![runs(7, 100, &["run"]), left(20, 150, 7)]);
    assert_eq!(orphans(&lives, NOBODY), []);
    let mut before = after(vec![left(20, 150, 1)]);
    before.launches[0].process.as_mut().expect("a process").boot = "before".into();
    assert_eq!(orphans(&before, NOBODY), []);
    let mut blind = after(vec![left(20, 150, 1)]);
    blind.table = Err(CannotTell("no processes".into()));
    assert_eq!(orphans(&blind, NOBODY), []);
}

#[test]
fn whoever_has_a_live_session_is_shown_with_that_and_so_is_its_kin() {
    // 20 started 21, whose child 22 has a session; 23 is none of theirs.
    let procs = vec![left(20, 150, 1), left(21, 150, 20), left(22, 150, 21), left(23, 150, 1)];
    let mut below = left(24, 160, 22);
    below.of.comm = "make".into();
    let machine = after([procs, vec![below]].concat());
    let all = [20, 21, 22, 23].map(|pid| orphan(pid, 150));
    assert_eq!(orphans(&machine, NOBODY)[..4], all);
    assert_eq!(orphans(&machine, &[session(22, None)]), [orphan(23, 150)]);
    let ended = Session { live: false, ..session(22, None) };
    assert_eq!(orphans(&machine, &[ended]).len(), 5);
    // A session of the launch itself lives: what it started is not left behind.
    assert_eq!(orphans(&machine, &[session(99, Some("one"))]), []);
    assert_eq!(orphans(&machine, &[session(99, Some("two"))]).len(), 5);
}

#[test]
fn orphans_are_as_young_as_the_oldest_launch_that_is_over() {
    let mut machine = after(vec![other(20, 60).with(VARIABLE, "two"), left(21, 60, 1)]);
    machine.launches.push(launch("two", None, Some(key(8, 50))));
    let two = Orphan { launch_id: "two".into(), session_id: None, ..orphan(20, 60) };
    assert_eq!(orphans(&machine, NOBODY), [two, orphan(21, 60)]);
}
