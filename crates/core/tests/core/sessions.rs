//! What programs are shown of a session beside what its record says: its launch, its exit, its processes, a stall.

use crate::world::{at, key, launch};
use agentctl_core::{
    derive::derive,
    evidence::{Ending, Evidence, Holder, Pending, Reading, Record, Role, Say, Tool, Turn},
    proof::Source,
    receipt::{Callback, Exit, Launched},
    wire::{Around, Doing, Session, Stall, StateName},
};

fn somewhere() -> Source {
    Source::Lock { path: "/lock".into(), pid: 7 }
}

fn open(pending: Pending) -> Turn {
    Turn::Open { alive: at(190), pending, line: somewhere() }
}

fn ended(how: Ending) -> Turn {
    Turn::Ended { at: at(190), how, line: somewhere() }
}

/// Last written to at second 200.
fn with(turn: Turn) -> Evidence {
    let record = Record { updated: Some(at(200)), ..Record::of(turn) };
    Evidence { record: Reading::Read(Box::new(record)), ..Evidence::none("play", Some("a".into())) }
}

/// A person's process that has it loaded.
fn holder(pid: u32) -> Holder {
    Holder {
        key: key(pid, 100),
        since: at(100),
        role: Some(Role::Interactive),
        shared: false,
        halted: false,
        trail: somewhere(),
        says: None,
    }
}

fn held(seen: Evidence) -> Evidence {
    Evidence { holders: vec![holder(7)], ..seen }
}

/// As it is shown at second 1000.
fn shown(seen: Evidence, launch: Option<Launched>) -> Session {
    let verdict = derive(&seen);
    Session::new(seen, verdict, Around { launch, now: at(1000), ..Around::default() })
}

fn launched() -> Launched {
    launch("one", Some("a"), None)
}

const COMPLETED: Ending = Ending::Completed;

#[test]
fn how_its_process_exited_is_told_with_how_its_turn_ended() {
    let exit =
        |code, signal, second, overdue| Exit { schema: 1, code, signal, at: at(second), overdue };
    let told = |turn: Turn, exit: Exit| {
        let session = shown(with(turn), Some(Launched { exit: Some(exit), ..launched() }));
        (session.outcome.unwrap_or_default(), session.exit_code, session.ended_at)
    };
    let is = |outcome: &str, code, second| (outcome.to_owned(), code, Some(at(second)));
    let well = exit(Some(0), None, 210, false);
    assert_eq!(told(ended(COMPLETED), well), is("completed", Some(0), 210));
    let badly = exit(Some(3), None, 210, false);
    assert_eq!(told(ended(COMPLETED), badly), is("completed", Some(3), 210));
    let middle = "exited with code 3 in the middle of a turn";
    assert_eq!(told(open(Pending::Nothing), badly), is(middle, Some(3), 210));
    let killed = exit(None, Some(9), 210, false);
    assert_eq!(told(open(Pending::Nothing), killed), is("killed or crashed", Some(137), 210));
    // Its deadline ended a turn only if that turn was interrupted.
    let late = exit(None, Some(15), 210, true);
    assert_eq!(told(ended(Ending::Interrupted), late), is("timed out", Some(143), 210));
    assert_eq!(told(ended(COMPLETED), late), is("completed", Some(143), 210));
    assert_eq!(told(ended(Ending::Interrupted), killed), is("interrupted", Some(137), 210));
}

#[test]
fn an_exit_before_the_last_write_was_another_s() {
    let told = |turn: Turn, second| {
        let exit = Exit { schema: 1, code: Some(0), signal: None, at: at(second), overdue: false };
        let session = shown(with(turn), Some(Launched { exit: Some(exit), ..launched() }));
        (session.exit_code, session.ended_at)
    };
    assert_eq!(told(ended(COMPLETED), 200), (Some(0), Some(at(200))));
    assert_eq!(told(ended(COMPLETED), 199), (None, Some(at(190))));
    assert_eq!(told(open(Pending::Nothing), 199), (None, Some(at(200))));
}

#[test]
fn what_a_launch_was_given_is_shown_with_its_session() {
    let callback = Callback { session: Some("s".into()), agent: None };
    let given = Launched {
        group: Some("g".into()),
        labels: [("team".to_owned(), "a".to_owned())].into(),
        branch: Some("main".into()),
        callback: callback.clone(),
        ..launched()
    };
    let session = shown(with(ended(COMPLETED)), Some(given.clone()));
    assert_eq!((session.group, session.labels), (given.group.clone(), given.labels.clone()));
    assert_eq!((session.branch, session.callback), (given.branch.clone(), Some(callback)));
    // Its record knows better on which branch it is by now.
    let record = Record { branch: Some("own".into()), ..Record::of(ended(COMPLETED)) };
    let seen = Evidence { record: Reading::Read(Box::new(record)), ..with(Turn::None) };
    assert_eq!(shown(seen, Some(given)).branch.as_deref(), Some("own"));
    assert_eq!(shown(with(ended(COMPLETED)), Some(launched())).callback, None);
}

#[test]
fn only_who_lives_past_its_deadline_is_overdue() {
    let overdue = |seen: Evidence, deadline: Option<i64>| {
        let session = shown(seen, Some(Launched { deadline: deadline.map(at), ..launched() }));
        session.overdue
    };
    let live = || held(with(open(Pending::Nothing)));
    assert!(overdue(live(), Some(999)));
    assert!(!overdue(live(), Some(1000)) && !overdue(live(), Some(1001)));
    assert!(!overdue(live(), None));
    assert!(!overdue(with(open(Pending::Nothing)), Some(999)));
}

#[test]
fn all_processes_are_named_where_there_are_several() {
    let processes = |pids: &[u32]| {
        let holders = pids.iter().map(|pid| holder(*pid)).collect();
        let session = shown(Evidence { holders, ..with(open(Pending::Nothing)) }, None);
        (session.pid, session.processes)
    };
    assert_eq!(processes(&[]), (None, Vec::new()));
    assert_eq!(processes(&[7]), (Some(7), Vec::new()));
    assert_eq!(processes(&[7, 8]), (Some(7), vec![key(7, 100), key(8, 100)]));
}

#[test]
fn only_a_live_turn_of_which_nothing_comes_is_a_stall() {
    let told = |seen: Evidence| {
        let session = shown(seen, None);
        (session.state, session.stall)
    };
    let stalls = |doing| Some(Stall { since: at(200), doing, after: None });
    let working = StateName::Working;
    let tool = Evidence { tool: Tool::Runs(somewhere()), ..held(with(open(Pending::Unnamed))) };
    assert_eq!(told(tool), (working, stalls(Doing::Tool)));
    assert_eq!(told(held(with(open(Pending::Nothing)))), (working, stalls(Doing::Quiet)));
    // Nobody waits for one that is idle, asks something, or has ended.
    assert_eq!(told(held(with(ended(COMPLETED)))), (StateName::Idle, None));
    assert_eq!(told(held(with(open(Pending::Answer)))), (StateName::Waiting, None));
    assert_eq!(told(with(open(Pending::Retry("overloaded".into())))), (StateName::Failed, None));
    assert_eq!(told(with(open(Pending::Nothing))), (StateName::Died, None));
}

/// A tool that carries its id shows that it lives, and nothing of when it last did something.
#[test]
fn a_session_without_a_record_stalls_only_if_it_says_that_it_works() {
    let told = |holder: Holder| {
        let none = Evidence::none("play", Some("a".into()));
        let session = shown(Evidence { holders: vec![holder], ..none }, None);
        (session.state, session.stall.map(|stall| stall.doing))
    };
    let trail = Source::Variable { variable: "SESSION=a".into(), pid: 8 };
    assert_eq!(told(Holder { trail, ..holder(7) }), (StateName::Unknown, None));
    let says = Some((Say::Busy, somewhere()));
    let busy = Holder { says, ..holder(7) };
    assert_eq!(told(busy), (StateName::Working, Some(Doing::Quiet)));
}
