//! What each step of a session tells, from each thing that was told before.

use super::{
    ends::{IDLE, look, mark, seen, session},
    world::at,
};
use agentctl_core::{
    derive::State,
    event::{Cursor, Look, Mark, What},
    evidence::Need,
    proof::{Fact, Rule, Source},
    wire::{Event, EventKind, Session, StateName},
};

const ASKS: State = State::Waiting(Need::Answer);
const HERE: &[(u32, i64)] = &[(1, 0)];

/// Kind, second and state of each event.
type Told = Vec<(EventKind, i64, StateName)>;

fn short(events: &[Event]) -> Told {
    let second = |event: &Event| event.at.as_second() - at(0).as_second();
    events.iter().filter_map(|event| Some((event.kind, second(event), event.after?))).collect()
}

/// What a look tells of a session with this mark, and its mark then.
fn from(mark: &Mark, look: &Look) -> (Told, Mark) {
    let key = &look.sessions[0].key;
    let mut cursor = Cursor::since(at(0));
    cursor.marks.insert(key.clone(), mark.clone());
    let events = cursor.tell(look);
    (short(&events), cursor.marks[key].clone())
}

/// What is told at twenty of a session that process 1 has loaded, or nobody.
fn next(mark: &Mark, state: State, steps: &[(i64, What)]) -> Told {
    let ended = matches!(state, State::Done | State::Failed(_) | State::Died);
    let holders = if ended { &[] } else { HERE };
    from(mark, &now(session(Some("s"), state, holders), steps)).0
}

/// At twenty, its processes live and no others.
fn now(session: Session, steps: &[(i64, What)]) -> Look {
    let live: Vec<u32> = session.pid.into_iter().collect();
    look(20, &[seen(session, steps)], Some(&live))
}

fn because(rule: Rule, second: i64, pid: u32) -> Fact {
    let mut all = session(Some("s"), IDLE, &[(pid, second)]).because;
    Fact { rule, ..all.remove(0) }
}

/// Whoever lives again began with the first thing that is known of it, or as we launched it.
#[test]
fn who_lives_again_began_with_its_first_step() {
    let over = Mark { state: Some(StateName::Done), process: 0, ..mark(IDLE, false) };
    let started = |second| (EventKind::Started, second, StateName::Idle);
    assert_eq!(next(&over, IDLE, &[]), [started(20)]);
    assert_eq!(next(&over, IDLE, &[(12, What::Refined)]), [started(12)]);
    assert_eq!(next(&over, IDLE, &[(12, What::Refined), (15, What::Began)]), [started(15)]);
    assert_eq!(next(&over, State::Done, &[]), []);
    let lost = || State::Unknown("torn".into());
    assert_eq!(next(&over, lost(), &[]), [(EventKind::Started, 20, StateName::Unknown)]);
    let moved = next(&over, lost(), &[(12, What::Began)]);
    assert_eq!(moved, [started(12), (EventKind::Changed, 20, StateName::Unknown)]);
}

/// Of several exits only the last one is of the end that is seen.
#[test]
fn only_the_last_exit_is_the_end_that_is_seen() {
    let runs = [(12, What::Exited), (13, What::Began), (15, What::Exited)];
    let told = next(&mark(IDLE, true), State::Failed("503".into()), &runs);
    let expected = [
        (EventKind::Ended, 12, StateName::Done),
        (EventKind::Started, 13, StateName::Idle),
        (EventKind::Ended, 15, StateName::Failed),
    ];
    assert_eq!(told, expected);
    let lives = next(&mark(State::Working, true), IDLE, &[(12, What::Exited)]);
    assert_eq!(lives, [(EventKind::Idle, 20, StateName::Idle)], "another launch's");
}

/// What lives is as of the look; what is over is as of its end, and forgotten soon.
#[test]
fn a_mark_is_of_the_look_while_it_lives() {
    let lives = from(&mark(IDLE, true), &now(session(Some("s"), IDLE, HERE), &[]));
    assert_eq!(lives, (vec![], Mark { at: at(20), ..mark(IDLE, true) }));
    let gone = session(Some("s"), State::Done, &[]);
    let (told, mark) = from(&mark(IDLE, true), &now(gone, &[(15, What::Exited)]));
    assert_eq!(told, [(EventKind::Ended, 15, StateName::Done)]);
    assert_eq!((mark.at, mark.live, mark.process), (at(15), Some(false), 0));
}

/// Agents write turns down late: what began before it was seen at rest is no news.
#[test]
fn a_turn_that_is_written_late_is_past() {
    let (working, idle) = (EventKind::Working, (EventKind::Idle, 20, StateName::Idle));
    let rests = mark(IDLE, true);
    assert_eq!(next(&rests, IDLE, &[(9, What::Opened)]), []);
    assert_eq!(next(&rests, IDLE, &[(9, What::Asked(Need::Answer))]), []);
    for second in [10, 12] {
        let told = next(&rests, IDLE, &[(second, What::Opened)]);
        assert_eq!(told, [(working, second, StateName::Working), idle]);
    }
    let asked = mark(ASKS, true);
    let works = |second| vec![(working, second, StateName::Working)];
    assert_eq!(next(&asked, State::Working, &[(9, What::Opened)]), works(9));
    let ended = Mark { turn: Some(at(12)), ..asked };
    assert_eq!(next(&ended, ASKS, &[(11, What::Opened)]), []);
    assert_eq!(next(&ended, State::Working, &[(12, What::Opened)]), works(12));
}

/// A turn of which only the end is seen has begun as well, unless that end was told.
#[test]
fn an_end_alone_tells_its_turn() {
    let closed = [(15, What::Closed)];
    let both =
        [(EventKind::Working, 15, StateName::Working), (EventKind::Idle, 15, StateName::Idle)];
    let rests = mark(IDLE, true);
    assert_eq!(next(&rests, IDLE, &closed), both);
    let told = Mark { turn: Some(at(15)), ..rests.clone() };
    assert_eq!(next(&told, IDLE, &closed), []);
    let mut told = rests;
    told.counts.idle = 1;
    assert_eq!(next(&told, IDLE, &closed), []);
    for state in [State::Working, ASKS] {
        assert_eq!(next(&mark(state, true), IDLE, &closed), both[1..]);
    }
}

/// Whoever goes on from a line knows all that its step said.
#[test]
fn what_a_step_says_goes_with_its_last_event() {
    let steps = [(12, What::Opened), (15, What::Closed), (18, What::Opened)];
    let mut seen = seen(session(Some("s"), State::Working, HERE), &steps);
    for (step, upto) in seen.story.steps.iter_mut().zip(1..) {
        step.upto = upto;
    }
    let mut cursor = Cursor::since(at(0));
    cursor.marks.insert(seen.key.clone(), mark(IDLE, true));
    let events = cursor.tell(&look(20, std::slice::from_ref(&seen), Some(&[1])));
    let marks = events.iter().map(|event| {
        let mark = Cursor::from_text(&event.cursor).expect("our own text").marks[&seen.key].clone();
        (event.kind, mark.turn, mark.upto)
    });
    let expected = [
        (EventKind::Working, None, 1),
        (EventKind::Idle, Some(at(15)), 2),
        (EventKind::Working, Some(at(15)), 0), // the newest line is of the whole look
    ];
    assert_eq!(marks.collect::<Vec<_>>(), expected);
}

/// The turn that runs is the new process's: it took over as that turn began.
#[test]
fn who_took_over_did_so_with_its_turn() {
    let steps = [(12, What::Closed), (15, What::Opened)];
    let told = from(
        &mark(State::Working, true),
        &now(session(Some("s"), State::Working, &[(2, 14)]), &steps),
    );
    let expected = [
        (EventKind::Idle, 12, StateName::Idle),
        (EventKind::Ended, 15, StateName::Done),
        (EventKind::Started, 15, StateName::Idle),
        (EventKind::Working, 15, StateName::Working),
    ];
    assert_eq!(told.0, expected);
}

/// A turn that an earlier process left open shows that it died, though nobody saw which it was.
#[test]
fn a_stale_turn_shows_that_its_process_died() {
    let unseen = |state, live| Mark { process: 0, ..mark(state, live) };
    let stale = |state, holders: &[(u32, i64)]| {
        let mut session = session(Some("s"), state, holders);
        session.because.push(because(Rule::TurnOlderThanHolder, 5, 2));
        session
    };
    let (other, started) = ([(2, 15)], (EventKind::Started, 20, StateName::Idle));
    let (told, _) = from(&unseen(State::Working, true), &now(stale(IDLE, &other), &[]));
    assert_eq!(told, [(EventKind::Ended, 20, StateName::Died), started]);
    let (told, _) = from(&unseen(IDLE, true), &now(stale(IDLE, &other), &[]));
    assert_eq!(told, [], "no turn was open");
    let fresh = session(Some("s"), IDLE, &other);
    let (told, _) = from(&unseen(State::Working, true), &now(fresh, &[]));
    assert_eq!(told, [(EventKind::Idle, 20, StateName::Idle)], "its turn has ended");
    let (told, _) = from(&unseen(State::Working, true), &now(stale(State::Died, &[]), &[]));
    assert_eq!(told, [(EventKind::Ended, 20, StateName::Died)], "nobody took it over");
    let died = Mark { state: Some(StateName::Died), ..unseen(IDLE, false) };
    let steps = [(12, What::Opened), (15, What::Began)];
    let (told, _) = from(&died, &now(stale(State::Working, &other), &steps));
    let twice = [
        (EventKind::Started, 12, StateName::Idle),
        (EventKind::Working, 12, StateName::Working),
        (EventKind::Ended, 20, StateName::Died),
        started,
        (EventKind::Working, 20, StateName::Working),
    ];
    assert_eq!(told, twice, "it lived twice since it was told as over");
}

/// Without a step, what is seen is told if it is another state.
#[test]
fn what_is_seen_is_told_once() {
    let lost = || State::Unknown("torn".into());
    let changed = |state| (EventKind::Changed, 20, state);
    let table = [
        (IDLE, State::Working, vec![(EventKind::Working, 20, StateName::Working)]),
        (IDLE, lost(), vec![changed(StateName::Unknown)]),
        (lost(), lost(), vec![]),
        (lost(), IDLE, vec![changed(StateName::Idle)]),
        (ASKS, ASKS, vec![]),
        (ASKS, State::Waiting(Need::Approval), vec![(EventKind::Waiting, 20, StateName::Waiting)]),
    ];
    for (before, after, told) in table {
        assert_eq!(
            next(&mark(before.clone(), true), after.clone(), &[]),
            told,
            "{before:?} {after:?}"
        );
    }
    let over = Mark { state: Some(StateName::Done), process: 0, ..mark(IDLE, false) };
    assert_eq!(next(&over, State::Failed("503".into()), &[]), [changed(StateName::Failed)]);
}

/// It ended when its parent says; else when that was seen, or its record ended if nobody saw it alive.
#[test]
fn when_it_ended_is_when_that_is_known() {
    let ended = |exit_code| {
        let session = session(Some("s"), State::Done, &[]);
        Session { exit_code, ended_at: Some(at(15)), ..session }
    };
    let over = |second| vec![(EventKind::Ended, second, StateName::Done)];
    assert_eq!(from(&mark(IDLE, true), &now(ended(Some(0)), &[])).0, over(15));
    assert_eq!(from(&mark(IDLE, true), &now(ended(None), &[])).0, over(20));
    let born = Session { started_at: Some(at(12)), ..ended(None) };
    let told = short(&Cursor::since(at(10)).tell(&now(born, &[])));
    assert_eq!(told, [(EventKind::Started, 12, StateName::Idle), over(15)[0]]);
}

/// A question asked out of rest is of a turn that began unseen, which is counted with it.
#[test]
fn a_question_out_of_rest_counts_its_turn() {
    let counts = |before| {
        let (_, mark) = from(&mark(before, true), &now(session(Some("s"), ASKS, HERE), &[]));
        (mark.counts.working, mark.counts.waiting)
    };
    assert_eq!(counts(IDLE), (1, 1));
    assert_eq!(counts(State::Working), (1, 1));
    assert_eq!(counts(State::Waiting(Need::Approval)), (1, 1));
    let (_, works) = from(&mark(IDLE, true), &now(session(Some("s"), State::Working, HERE), &[]));
    assert_eq!((works.counts.working, works.counts.waiting), (1, 0));
}

/// Who has it now surely had it at the exit of another only if it is itself known to be older.
#[test]
fn an_exit_ends_what_nobody_surely_had() {
    let exited = [(15, What::Exited)];
    let kinds = |began, more: Option<Fact>| {
        let mut session = session(Some("s"), IDLE, &[(2, began)]);
        session.because.splice(..0, more);
        let told = from(&mark(IDLE, true), &now(session, &exited)).0;
        told.into_iter().map(|(kind, second, _)| (kind, second)).collect::<Vec<_>>()
    };
    let ends = [(EventKind::Ended, 15), (EventKind::Started, 20)];
    assert_eq!(kinds(14, None), []);
    assert_eq!(kinds(15, None), ends, "within one second nobody knows");
    assert_eq!(kinds(18, None), ends);
    assert_eq!(kinds(18, Some(because(Rule::HolderAlive, 5, 3))), ends, "that is another");
    assert_eq!(kinds(18, Some(because(Rule::AgentSays, 5, 2))), ends, "that is no beginning");
    let blind = Fact { source: Source::Blind, ..because(Rule::HolderAlive, 5, 2) };
    assert_eq!(kinds(18, Some(blind)), ends);
}
