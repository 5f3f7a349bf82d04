//! When a session that is not found has ended, and what is told of locks and fuses meanwhile.

use super::world::at;
use agentctl_core::{
    derive::{Idle, State, Verdict},
    event::{Cursor, Key, Look, Mark, Seen, Step, Story, What, witnessed},
    evidence::{Evidence, Holder, Need},
    fuse::{Action, Fuse, SCHEMA, Target},
    ident::ProcKey,
    proof::{Fact, Rule, Source},
    receipt::{Exit, Launched, Stopped},
    wire::{Around, Event, EventKind, Lock, LockKind, Session, StateName},
};

pub(super) const AGENT: &str = "claude-code";

pub(super) fn agent(mut seen: Seen, agent: &str) -> Seen {
    seen.key.agent = agent.to_owned();
    seen.session.agent = agent.to_owned();
    seen
}

fn process(pid: u32) -> ProcKey {
    ProcKey { pid, start: 7, boot: "b".into() }
}

/// A session that these processes have loaded, each with the second in which it began.
pub(super) fn session(id: Option<&str>, state: State, holders: &[(u32, i64)]) -> Session {
    let holder = |(pid, began): &(u32, i64)| {
        let trail = Source::Alive { process: process(*pid) };
        let (key, since) = (process(*pid), at(*began));
        Holder { key, since, role: None, shared: false, halted: false, trail, says: None }
    };
    let began = |(pid, began): &(u32, i64)| {
        let source = Source::Alive { process: process(*pid) };
        Fact::new(Rule::HolderAlive, "alive", source).at(at(*began))
    };
    let seen = Evidence {
        holders: holders.iter().map(holder).collect(),
        ..Evidence::none(AGENT, id.map(str::to_owned))
    };
    let because = holders.iter().map(began).collect();
    let verdict = Verdict { state, live: !holders.is_empty(), because };
    Session::new(seen, verdict, Around::default())
}

pub(super) fn seen(session: Session, steps: &[(i64, What)]) -> Seen {
    let step = |(second, what): &(i64, What)| Step { at: at(*second), what: *what, upto: 0 };
    let story = Story { steps: steps.iter().map(step).collect(), ..Story::default() };
    Seen { key: Key::of(&session, false), session, story, settled: true }
}

/// What is seen while these processes live.
pub(super) fn look(second: i64, sessions: &[Seen], live: Option<&[u32]>) -> Look {
    Look {
        agents: vec![AGENT.into()],
        full: true,
        processes: live.map(|live| live.iter().map(|pid| process(*pid)).collect()),
        sessions: sessions.to_vec(),
        ..Look::nothing(at(second))
    }
}

pub(super) fn told(events: &[Event]) -> Vec<(EventKind, Option<StateName>)> {
    events.iter().map(|event| (event.kind, event.after)).collect()
}

pub(super) const IDLE: State = State::Idle(Idle::BetweenTurns);

pub(super) fn unnamed() -> State {
    State::Unknown("its process has named no session".into())
}

/// A session by its id and state, who lives later, and what is told then.
type Case = (Option<&'static str>, State, Option<&'static [u32]>, EventKind, StateName);

/// Whoever is not found has ended only if the kernel shows that its process is gone.
#[test]
fn who_is_missing_has_ended_if_its_process_has() {
    let (ended, changed) = (EventKind::Ended, EventKind::Changed);
    let table: [Case; 8] = [
        (Some("s"), IDLE, Some(&[2]), ended, StateName::Done),
        (Some("s"), State::Working, Some(&[2]), ended, StateName::Died),
        (None, unnamed(), Some(&[2]), ended, StateName::Unknown),
        (Some("s"), State::Unknown("x".into()), Some(&[2]), ended, StateName::Unknown),
        (Some("s"), IDLE, Some(&[1, 2]), changed, StateName::Unknown),
        (Some("s"), State::Working, Some(&[1]), changed, StateName::Unknown),
        (Some("s"), IDLE, None, changed, StateName::Unknown),
        (Some("s"), State::Working, None, changed, StateName::Unknown),
    ];
    for (id, state, live, kind, after) in table {
        let before = seen(session(id, state.clone(), &[(1, 0)]), &[]);
        let mut cursor = Cursor::now(&look(10, &[before], Some(&[1, 2])));
        let events = cursor.tell(&look(20, &[], live));
        assert_eq!(told(&events), [(kind, Some(after))], "{id:?} {state:?} {live:?}");
        assert_eq!(cursor.tell(&look(30, &[], live)), [], "{id:?} {state:?} {live:?}");
        if kind == changed {
            let events = cursor.tell(&look(40, &[], Some(&[])));
            assert_eq!(told(&events), [(ended, Some(StateName::Unknown))]);
        }
        assert_eq!(cursor.tell(&look(50, &[], Some(&[]))), []);
        assert!(cursor.marks.values().all(|mark| mark.is_over()), "{:?}", cursor.marks);
    }
}

/// An agent whose store cannot all be read hides no end of a process that named nothing.
#[test]
fn a_store_that_is_closed_hides_ends_of_sessions_alone() {
    let named = seen(session(Some("s"), IDLE, &[(1, 0)]), &[]);
    let nobody = seen(session(None, unnamed(), &[(2, 0)]), &[]);
    let mut cursor = Cursor::now(&look(10, &[named, nobody], Some(&[1, 2])));
    let closed = Look { agents: Vec::new(), full: false, ..look(20, &[], Some(&[])) };
    let events = cursor.tell(&closed);
    assert_eq!(told(&events), [(EventKind::Ended, Some(StateName::Unknown))]);
    let events = cursor.tell(&look(30, &[], Some(&[])));
    assert_eq!(told(&events), [(EventKind::Ended, Some(StateName::Done))]);
}

/// A process that has loaded another session has left this one.
#[test]
fn who_went_on_with_another_has_left() {
    let before = seen(session(Some("s"), IDLE, &[(1, 0)]), &[]);
    let after = seen(session(Some("t"), IDLE, &[(1, 0)]), &[]);
    let mut cursor = Cursor::now(&look(10, &[before], Some(&[1])));
    let events = cursor.tell(&look(20, &[after], Some(&[1])));
    let kinds: Vec<_> = events.iter().map(|event| event.kind).collect();
    assert!(kinds.contains(&EventKind::Ended) && kinds.contains(&EventKind::Started), "{kinds:?}");
}

/// What one process leaves and another has had loaded meanwhile goes on.
#[test]
fn no_exit_ends_what_another_has_loaded() {
    let both = seen(session(Some("s"), IDLE, &[(1, 0), (2, 5)]), &[]);
    let exited = [(15, What::Exited)];
    for (holder, live, ends) in [
        ((2, 5), &[2][..], false), // it was there before
        ((2, 18), &[2], true),     // it came after
        ((3, 18), &[1, 3], false), // the exit is another launch's: the one that was told lives
    ] {
        let mut cursor = Cursor::now(&look(10, std::slice::from_ref(&both), Some(&[1, 2])));
        let steps = if live.contains(&1) { &[][..] } else { &exited[..] };
        let rest = seen(session(Some("s"), IDLE, &[holder]), steps);
        let events = cursor.tell(&look(20, &[rest], Some(live)));
        let kinds: Vec<_> = events.iter().map(|event| event.kind).collect();
        let expected = if ends { vec![EventKind::Ended, EventKind::Started] } else { vec![] };
        assert_eq!(kinds, expected, "{holder:?}");
    }
}

pub(super) fn lock(kind: LockKind, whose: Option<&str>) -> Lock {
    let manual = kind == LockKind::Manual;
    Lock {
        directory: "/work".into(),
        kind,
        session_id: whose.filter(|_| !manual).map(str::to_owned),
        agent: (!manual).then(|| AGENT.to_owned()),
        pid: None,
        by: whose.filter(|_| manual).map(str::to_owned),
        reason: None,
        since: at(1),
    }
}

/// A lock is released when that is known, and not when nobody could look.
#[test]
fn a_lock_that_is_not_seen_is_not_released() {
    let here = |cwd: Option<&str>, state: State, holders: &[(u32, i64)]| {
        let session = session(Some("s"), state, holders);
        seen(Session { cwd: cwd.map(Into::into), ..session }, &[])
    };
    let works = here(Some("/work"), IDLE, &[(1, 0)]);
    let nobody = seen(session(None, unnamed(), &[(2, 0)]), &[]);
    let locks = vec![
        lock(LockKind::Session, Some("s")),
        lock(LockKind::Session, None),
        lock(LockKind::Manual, Some("ada")),
    ];
    let first = Look { locks, ..look(10, &[works, nobody.clone()], Some(&[1, 2])) };
    let released = |sessions: &[Seen], live: &[u32], people: bool| {
        let mut cursor = Cursor::now(&first);
        assert_eq!(Cursor::from_text(&cursor.to_text()), Ok(cursor.clone()));
        let events = cursor.tell(&Look { people, ..look(20, sessions, Some(live)) });
        let events = events.into_iter().filter(|event| event.kind == EventKind::LockReleased);
        let whose = events.filter_map(|event| event.lock.map(|lock| lock.session_id.or(lock.by)));
        whose.flatten().collect::<Vec<_>>()
    };
    let unseen = here(None, IDLE, &[(1, 0)]);
    assert_eq!(released(&[unseen.clone(), nobody.clone()], &[1, 2], false), [""; 0]);
    assert_eq!(released(&[unseen, nobody.clone()], &[1, 2], true), ["ada"]);
    let elsewhere = here(Some("/other"), IDLE, &[(1, 0)]);
    assert_eq!(released(&[elsewhere, nobody.clone()], &[1, 2], false), ["s"]);
    assert_eq!(released(&[here(Some("/work"), State::Done, &[])], &[2], false), ["s"]);
    assert_eq!(released(std::slice::from_ref(&nobody), &[2], false), ["s"], "its process is gone");
    assert_eq!(released(&[nobody], &[1, 2], false), [""; 0], "its process lives");
}

/// From a time on, what people asked for between two steps of sessions is told with them.
#[test]
fn a_fuse_is_told_however_far_sessions_are() {
    let first =
        seen(session(Some("a"), State::Done, &[]), &[(100, What::Opened), (101, What::Closed)]);
    let last =
        seen(session(Some("b"), State::Done, &[]), &[(300, What::Opened), (301, What::Closed)]);
    let fuse = Fuse {
        schema: SCHEMA,
        id: "f-1".into(),
        target: Target::Directory("/work".into()),
        set_at: at(200),
        deadline: at(900),
        extended_at: None,
        action: Action::Event,
        limit: None,
        label: None,
        fired: None,
        cancelled_at: None,
    };
    let locks = vec![lock(LockKind::Manual, Some("ada"))];
    let look =
        Look { fuses: vec![fuse], locks, people: true, ..look(500, &[first, last], Some(&[])) };
    let mut cursor = Cursor::since(at(0));
    let events = cursor.tell(&look);
    let kinds = |events: &[Event]| events.iter().map(|event| event.kind).collect::<Vec<_>>();
    assert!(kinds(&events).ends_with(&[EventKind::LockTaken, EventKind::FuseSet]), "{events:#?}");
    let sessions = events.iter().filter(|event| event.session.is_some());
    for event in sessions {
        let mut rest = Cursor::from_text(&event.cursor).expect("our own text");
        let rest = kinds(&rest.tell(&look));
        assert!(rest.ends_with(&[EventKind::LockTaken, EventKind::FuseSet]), "{rest:?}");
    }
    assert_eq!(cursor.tell(&Look { sessions: Vec::new(), ..look }), []);
}

/// A store that cannot be read holds nobody back but its own agent.
#[test]
fn only_who_cannot_be_read_stays_behind() {
    let mut cursor = Cursor::now(&Look { unread: vec!["codex".into()], ..look(0, &[], Some(&[])) });
    let ended =
        seen(session(Some("a"), State::Done, &[]), &[(100, What::Opened), (101, What::Closed)]);
    let closed = |second, sessions: &[Seen]| Look {
        unread: vec!["codex".into()],
        ..look(second, sessions, Some(&[]))
    };
    assert!(!cursor.tell(&closed(110, std::slice::from_ref(&ended))).is_empty());
    assert_eq!(cursor.tell(&closed(1000, &[])), []);
    assert!(cursor.marks.is_empty(), "it is over, and below the floor");
    assert_eq!((cursor.floor_of(AGENT), cursor.floor_of("codex")), (at(940), at(0)));
    let mut cursor = Cursor::from_text(&cursor.to_text()).expect("our own text");
    let hidden = agent(ended, "codex");
    let open =
        Look { agents: vec![AGENT.into(), "codex".into()], ..look(1010, &[hidden], Some(&[])) };
    let events = cursor.tell(&open);
    let kinds: Vec<_> = events.iter().map(|event| event.kind).collect();
    assert!(kinds.contains(&EventKind::Working) && kinds.contains(&EventKind::Idle), "{kinds:?}");
    assert_eq!(cursor.floor_of("codex"), cursor.floor_of(AGENT));
    let first = Cursor::from_text(&events[0].cursor).expect("our own text");
    assert_eq!((first.floor_of(AGENT), first.floor_of("codex")), (at(940), events[0].at));
}

/// A process that ends takes its name away before it is gone: until then its session is not over.
#[test]
fn who_takes_its_name_away_lingers_until_it_is_gone() {
    let before = seen(session(Some("s"), IDLE, &[(1, 0)]), &[]);
    let cursor = Cursor::now(&look(10, &[before], Some(&[1, 2])));
    let mark = cursor.marks.values().next().expect("it was seen").clone();
    let lingers = |sessions: &[Seen], live| look(20, sessions, live).lingers(&mark);
    assert!(lingers(&[], Some(&[1])));
    assert!(!lingers(&[], Some(&[2])), "it is gone");
    assert!(!lingers(&[], None), "nobody knows");
    let other = |id, shared| seen(Session { shared, ..session(id, IDLE, &[(1, 0)]) }, &[]);
    assert!(!lingers(&[other(Some("t"), false)], Some(&[1])), "it has loaded another");
    assert!(!lingers(&[other(Some("t"), false)], Some(&[2])));
    assert!(lingers(&[other(Some("t"), true)], Some(&[1])), "it has many");
    assert!(lingers(&[other(None, false)], Some(&[1])), "it has named no other yet");
    for live in [Some(false), None] {
        let over = Mark { live, ..mark.clone() };
        assert!(!look(20, &[], Some(&[1])).lingers(&over), "it was not loaded");
    }
}

/// What was told last of a session of process 1, in this state and alive or not.
pub(super) fn mark(state: State, live: bool) -> Mark {
    let before = seen(session(Some("s"), state, &[(1, 0)]), &[]);
    let cursor = Cursor::now(&look(10, &[before], Some(&[1])));
    let mark = cursor.marks.values().next().expect("it lives").clone();
    Mark { live: Some(live), ..mark }
}

/// Files and processes contradict each other for a moment while something happens.
#[test]
fn what_contradicts_itself_is_looked_at_again() {
    let lost = State::Unknown("torn".into());
    let here = |state| session(Some("s"), state, &[(1, 0)]);
    let unsettled = |session: Session, mark: Option<&Mark>| seen(session, &[]).is_unsettled(mark);
    let (idle, unknown) = (mark(IDLE, true), mark(lost.clone(), true));
    assert!(unsettled(here(lost.clone()), None) && unsettled(here(lost.clone()), Some(&idle)));
    assert!(!unsettled(here(lost), Some(&unknown)), "it is so for longer");
    let nobody = || session(None, unnamed(), &[(1, 0)]);
    assert!(unsettled(nobody(), None), "a wrapper looks like what it starts");
    assert!(!unsettled(nobody(), Some(&unknown)));
    assert!(unsettled(session(Some("s"), IDLE, &[(2, 0)]), Some(&idle)), "it was handed over");
    assert!(!unsettled(here(IDLE), Some(&idle)) && !unsettled(here(State::Working), Some(&idle)));

    let moved = |state, open, steps: &[(i64, What)]| {
        let mut seen = seen(here(state), steps);
        seen.story.open = Some(open);
        seen.is_unsettled(Some(&idle))
    };
    let step = [(11, What::Opened)];
    for open in [true, false] {
        assert_eq!(moved(State::Working, open, &step), !open);
        assert_eq!(moved(IDLE, open, &step), open);
        assert!(!moved(State::Working, open, &[]) && !moved(IDLE, open, &[]));
    }

    let asks = |rule| {
        let because = vec![Fact::new(rule, "", Source::Blind)];
        let verdict = Verdict { state: IDLE, live: true, because };
        let facts = Session::new(Evidence::none(AGENT, None), verdict, Around::default());
        Session { because: facts.because, ..here(State::Waiting(Need::Approval)) }
    };
    assert!(unsettled(asks(Rule::ToolNotRunning), None), "its tool may start in a moment");
    assert!(!unsettled(asks(Rule::AgentSays), None));
    let waits = mark(State::Waiting(Need::Approval), true);
    assert!(!unsettled(asks(Rule::ToolNotRunning), Some(&waits)));
}

/// Its parent writes down how it exited, a moment after it ended.
#[test]
fn an_exit_is_waited_for_where_it_will_be_told() {
    let (lived, over) = (mark(IDLE, true), mark(IDLE, false));
    let ended = |launch: Option<&str>, exit_code| Session {
        launch_id: launch.map(Into::into),
        exit_code,
        ..session(Some("s"), State::Done, &[])
    };
    let awaits = |session: Session, mark: Option<&Mark>| {
        let seen = seen(session, &[]);
        assert!(seen.session.live || seen.is_unsettled(mark) == seen.awaits_exit(mark));
        seen.awaits_exit(mark)
    };
    assert!(awaits(ended(Some("l"), None), Some(&lived)));
    assert!(!awaits(ended(Some("l"), Some(0)), Some(&lived)), "it is told");
    assert!(!awaits(ended(None, None), Some(&lived)), "nobody will tell");
    assert!(!awaits(ended(None, Some(0)), Some(&lived)));
    assert!(!awaits(ended(Some("l"), None), Some(&over)), "it was over before");
    assert!(!awaits(ended(Some("l"), None), None));
    let lives = Session { live: true, ..ended(Some("l"), None) };
    assert!(!awaits(lives, Some(&lived)));
}

/// Whoever could not be read may have been there all the time, until it was read.
#[test]
fn who_was_not_read_is_not_told_as_new() {
    let codex = |id| agent(seen(session(Some(id), IDLE, &[(1, 0)]), &[]), "codex");
    let both = |second, sessions: &[Seen]| Look {
        agents: vec![AGENT.into(), "codex".into()],
        ..look(second, sessions, Some(&[1]))
    };
    let closed = Look { unread: vec!["codex".into()], ..both(0, &[]) };
    let mut cursor = Cursor::now(&closed);
    let own = seen(session(Some("own"), IDLE, &[(1, 0)]), &[]);
    let started = [(EventKind::Started, Some(StateName::Idle))];
    assert_eq!(told(&cursor.clone().tell(&both(10, &[own]))), started);
    assert_eq!(cursor.tell(&both(10, &[codex("a")])), []);
    assert_eq!(told(&cursor.tell(&both(20, &[codex("a"), codex("b")]))), started);
}

/// Found twice, it is what lives.
#[test]
fn a_session_that_is_found_twice_lives_if_one_does() {
    let copies = [State::Done, IDLE].map(|state| {
        let holders: &[(u32, i64)] = if state == IDLE { &[(1, 0)] } else { &[] };
        seen(session(Some("s"), state, holders), &[])
    });
    let [ended, lives] = copies;
    for both in [[ended.clone(), lives.clone()], [lives, ended]] {
        let cursor = Cursor::now(&look(10, &both, Some(&[1])));
        assert!(cursor.marks.values().all(|mark| mark.live == Some(true)));
        assert_eq!(cursor.marks.len(), 1);
    }
}

/// A cursor is known as one in any version, and holds any time that a clock may show.
#[test]
fn cursors_are_told_from_times() {
    let meant = ["c1.x", "c27.", "c1", "c.x", "now", "2026-01-02T03:04:05Z"].map(Cursor::is_meant);
    assert_eq!(meant, [true, true, false, false, false, false]);
    let read = |at| Cursor::from_text(&Cursor::since(at).to_text()).map(|cursor| cursor.floor);
    assert_eq!(read(at(-5)), Ok(at(-5)));
    assert!(read(jiff::Timestamp::MIN).is_ok_and(|floor| floor < at(-5_000_000)));
    assert!(read(jiff::Timestamp::MAX).is_ok_and(|floor| floor > at(5_000_000)));
}

/// A directory that cannot be read for once, or is told late, makes no other session.
#[test]
fn a_session_keeps_its_key() {
    let of = |id: &str, cwd: Option<&str>| {
        let session = session(Some(id), IDLE, &[(1, 0)]);
        Session { cwd: cwd.map(Into::into), ..session }
    };
    let marked = |sessions: &[Session]| {
        let keyed =
            |session: &Session| Seen { key: Key::of(session, true), ..seen(session.clone(), &[]) };
        let sessions: Vec<Seen> = sessions.iter().map(keyed).collect();
        Cursor::now(&look(10, &sessions, Some(&[1])))
    };
    let uuid = "0198c0de-0000-7000-8000-00000000abcd";
    assert_eq!(Key::of(&of(uuid, Some("/a")), true).dir, None, "it is unique by itself");
    let (here, there, nowhere) = (of("fix", Some("/a")), of("fix", Some("/b")), of("fix", None));
    assert_ne!(Key::of(&here, true), Key::of(&there, true));
    assert_eq!(Key::of(&here, false), Key::of(&there, false));
    for (known, seen) in [(&here, &nowhere), (&nowhere, &here), (&here, &here)] {
        let cursor = marked(std::slice::from_ref(known));
        assert_eq!(cursor.key_of(seen, true), Key::of(known, true));
    }
    let both = marked(&[here.clone(), there.clone()]);
    assert_eq!(both.key_of(&there, true), Key::of(&there, true));
    assert_eq!(marked(&[here]).key_of(&there, true), Key::of(&there, true));
}

/// Of who is gone, what was seen last is told, and that of nobody else.
#[test]
fn who_is_gone_is_told_as_it_was_known() {
    let before = seen(session(Some("s"), IDLE, &[(1, 0)]), &[]);
    let known = |title: &str| Session {
        cwd: Some("/work".into()),
        title: Some(title.into()),
        started_at: Some(at(5)),
        ..before.session.clone()
    };
    let other = Key { id: "other".into(), ..before.key.clone() };
    let missed = vec![(other, known("other")), (before.key.clone(), known("own"))];
    let mut cursor = Cursor::now(&look(10, std::slice::from_ref(&before), Some(&[1])));
    let gone = Look { missed, machine: "here".into(), ..look(20, &[], Some(&[])) };
    let events = cursor.tell(&gone);
    let [Event { session: Some(told), .. }] = &events[..] else { panic!("{events:#?}") };
    assert_eq!((told.id.as_deref(), told.host.as_str()), (Some("s"), "here"));
    assert_eq!((told.live, told.state), (false, StateName::Done));
    assert_eq!((told.cwd.as_deref(), told.title.as_deref()), (Some("/work".as_ref()), Some("own")));
    assert_eq!(told.started_at, Some(at(5)));
}

/// What we stopped is told as stopped, whatever it exited with.
#[test]
fn what_we_stopped_has_not_failed() {
    let launch = |code, overdue| {
        let exit = Exit { schema: 1, code, signal: None, at: at(9), overdue };
        let json = serde_json::json!({
            "schema": 1, "launch": "l", "agent": AGENT, "session": "s", "at": at(1),
        });
        let launch: Launched = serde_json::from_value(json).expect("a receipt");
        Launched { exit: Some(exit), ..launch }
    };
    let stop_of = |agent: &str, session: &str, second| {
        let (agent, session, process) = (agent.to_owned(), session.to_owned(), process(1));
        ("/stop".into(), Stopped { schema: 1, agent, session, process, at: at(second) })
    };
    let stop = |second| stop_of(AGENT, "s", second);
    for (code, overdue, stops, state) in [
        (Some(0), false, vec![], StateName::Done),
        (Some(143), false, vec![], StateName::Failed),
        (None, false, vec![], StateName::Died),
        (Some(143), true, vec![], StateName::Stopped),
        (Some(143), false, vec![stop(8)], StateName::Stopped),
        (None, false, vec![stop(8)], StateName::Stopped),
        (Some(143), false, vec![stop(0)], StateName::Failed), // another run of it
        (Some(143), false, vec![stop_of(AGENT, "t", 8)], StateName::Failed),
        (Some(143), false, vec![stop_of("codex", "s", 8)], StateName::Failed),
    ] {
        let session = witnessed(&launch(code, overdue), &stops, "here").expect("it exited");
        assert_eq!((session.host.as_str(), session.launch_id.as_deref()), ("here", Some("l")));
        assert_eq!((session.started_at, session.updated_at), (Some(at(1)), Some(at(1))));
        assert_eq!(session.ended_at, Some(at(9)));
        assert_eq!((session.state, session.live), (state, false), "{code:?} {overdue} {stops:?}");
    }
}
