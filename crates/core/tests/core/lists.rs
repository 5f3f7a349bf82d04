//! Which sessions a list shows, and in which order.

use crate::some;
use agentctl_core::{
    derive::derive,
    evidence::Evidence,
    ident::ProcKey,
    proof::{Fact, Rule, Source},
    select::{Filter, Name, Order, Wanted, join_unnamed, sort},
    wire::{Around, Doing, Session, Stall, StateName, Status},
};
use jiff::Timestamp;
use proptest::prelude::*;
use std::path::PathBuf;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a small number of seconds")
}

fn of(seen: Evidence) -> Session {
    let verdict = derive(&seen);
    Session::new(seen, verdict, Around::default())
}

/// A session of which nothing is known but what a test says.
fn named(id: &str) -> Session {
    of(Evidence::none("pi", Some(id.to_owned())))
}

fn ids(sessions: &[Session]) -> Vec<&str> {
    sessions.iter().filter_map(|session| session.id.as_deref()).collect()
}

#[test]
fn every_word_is_there_once() {
    let words = Wanted::words();
    let states = ["waiting", "working", "idle", "unknown", "failed", "died", "stopped", "done"];
    assert_eq!(words, [&states[..], &["running", "error"]].concat());
    assert!(
        words.iter().all(|word| Wanted::state(word).is_some() && Wanted::status(word).is_some())
    );
    let past = |word: &&&str| Wanted::state(word).is_some_and(Wanted::is_of_the_past);
    let live: Vec<&&str> = words.iter().filter(|word| !past(word)).collect();
    assert_eq!(live, [&"waiting", &"working", &"idle", &"running"]);
}

proptest! {
    #![proptest_config(some::plain(256))]

    /// A word keeps whoever is called so, by the state or by its summary.
    #[test]
    fn a_word_keeps_whoever_is_called_so(seen in some::evidence(), word in prop::sample::select(Wanted::words())) {
        let session = of(seen);
        let keeps = |wanted| Filter { wanted: vec![wanted], ..Filter::default() }.keeps(&session);
        let (state, status) = (session.state.name() == word, session.status.name() == word);
        let is = |names: &[&str]| names.contains(&word);
        let by_state = if is(&StateName::ALL.map(StateName::name)) { state } else { status };
        let by_status = if is(&Status::ALL.map(Status::name)) { status } else { state };
        prop_assert_eq!(Wanted::state(word).map(keeps), Some(by_state));
        prop_assert_eq!(Wanted::status(word).map(keeps), Some(by_status));
    }
}

#[test]
fn a_filter_keeps_what_each_of_its_parts_keeps() {
    let stall = Stall { since: at(1), doing: Doing::Tool, after: None };
    let here = Session {
        cwd: Some("/work/a".into()),
        group: Some("g".into()),
        stall: Some(stall),
        ..named("here")
    };
    let nowhere = named("nowhere");
    let keeps = |filter: Filter| [&here, &nowhere].map(|session| filter.keeps(session));
    let dirs = |dirs: &[&str]| Filter {
        dirs: dirs.iter().map(PathBuf::from).collect(),
        ..Filter::default()
    };
    let groups = |groups: &[&str]| Filter {
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        ..Filter::default()
    };
    assert_eq!(keeps(Filter::default()), [true, true]);
    assert_eq!(keeps(dirs(&["/work"])), [true, false]);
    assert_eq!(keeps(dirs(&["/other", "/work/a"])), [true, false]);
    assert_eq!(keeps(dirs(&["/wor"])), [false, false]);
    assert_eq!(keeps(groups(&["f", "g"])), [true, false]);
    assert_eq!(keeps(groups(&["f"])), [false, false]);
    let stalled = Filter { stalled: true, ..Filter::default() };
    assert_eq!(keeps(stalled.clone()), [true, false]);
    // One part that does not keep it is enough.
    assert_eq!(keeps(Filter { groups: vec!["f".into()], ..stalled.clone() }), [false, false]);
    assert_eq!(keeps(Filter { groups: vec!["f".into()], ..dirs(&["/work"]) }), [false, false]);
    let wanted = vec![Wanted::State(StateName::Done)];
    assert_eq!(keeps(Filter { wanted, ..stalled }), [false, false]);
}

/// Whoever needs a person stands at the top, and what has ended is told apart by its age alone.
#[test]
fn lists_are_sorted_by_what_is_asked_for() {
    let one = |id: &str, live, state, (updated, started): (i64, i64)| Session {
        live,
        state,
        started_at: Some(at(started)),
        updated_at: Some(at(updated)),
        ..named(id)
    };
    let all = [
        one("died", false, StateName::Died, (8, 1)),
        one("done", false, StateName::Done, (9, 2)),
        one("idle", true, StateName::Idle, (7, 3)),
        one("lost", false, StateName::Unknown, (1, 4)),
        one("wait", true, StateName::Waiting, (2, 5)),
        one("what", true, StateName::Unknown, (3, 6)),
        one("work", true, StateName::Working, (4, 7)),
        one("xork", true, StateName::Working, (5, 8)),
    ];
    let sorted = |order| {
        let mut sessions = all.to_vec();
        sort(&mut sessions, order);
        ids(&sessions).join(" ")
    };
    assert_eq!(sorted(Order::Attention), "wait xork work idle what lost done died");
    assert_eq!(sorted(Order::Updated), "done died idle xork work what wait lost");
    assert_eq!(sorted(Order::Started), "xork work what wait lost idle done died");
    assert_eq!(sorted(Order::State), "wait xork work idle what lost died done");
    assert_eq!(sorted(Order::Agent), sorted(Order::Updated));
    let mut by_place = [("b", "/2"), ("a", "/2"), ("c", "/1")]
        .map(|(id, dir)| Session { cwd: Some(dir.into()), ..named(id) });
    sort(&mut by_place, Order::Cwd);
    assert_eq!(ids(&by_place), ["c", "a", "b"]);
}

fn process(pid: u32) -> ProcKey {
    ProcKey { pid, start: 1, boot: "boot".into() }
}

fn unnamed(pid: u32) -> Session {
    let session = Session { id: None, ..named("") };
    Session { pid: Some(pid), process: Some(process(pid)), ..session }
}

/// A process without a name is left out where exactly one session may be all that it holds.
#[test]
fn a_process_is_listed_once() {
    let may = |pid| Fact {
        fact: String::new(),
        rule: Rule::MayBeHeld,
        source: Source::Alive { process: process(pid) },
        at: None,
    };
    let suspected = |id: &str, pids: &[u32]| Session {
        because: pids.iter().copied().map(may).collect(),
        ..named(id)
    };
    let left = |sessions: &[Session], stays: bool| {
        let mut sessions = sessions.to_vec();
        join_unnamed(&mut sessions, |_| stays);
        sessions.iter().filter(|session| session.id.is_none()).count()
    };
    let (only, both) = (suspected("a", &[7]), suspected("b", &[7, 8]));
    assert_eq!(left(&[unnamed(7), only.clone()], false), 0);
    assert_eq!(left(&[unnamed(7), only.clone()], true), 1, "such processes never name one");
    assert_eq!(left(&[unnamed(8), only.clone()], false), 1, "another process");
    assert_eq!(left(&[unnamed(7), both], false), 1, "it may as well be the other's");
    assert_eq!(left(&[unnamed(7), only.clone(), suspected("c", &[7])], false), 1, "one of two");
    let alive = Fact { rule: Rule::HolderAlive, ..may(7) };
    let held = Session { because: vec![alive], ..named("d") };
    assert_eq!(left(&[unnamed(7), held], false), 1);
    let mut named = vec![Session { process: Some(process(7)), ..only.clone() }, only];
    join_unnamed(&mut named, |_| false);
    assert_eq!(ids(&named), ["a", "a"], "whoever has a name stays");
}

#[test]
fn a_pid_means_whoever_that_process_holds() {
    let session = Session { processes: vec![process(8)], ..unnamed(7) };
    let means = |name: Name| name.means(&session);
    assert_eq!([7, 8, 9].map(|pid| means(Name::Pid(pid))), [true, true, false]);
    assert!(!Name::Pid(7).fits("7"));
}
