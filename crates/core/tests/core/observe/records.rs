//! What is read of a session, what could not be, and what its process adds.

use crate::{
    play::{Play, play, read, record, stub},
    world::{Machine, STORE, at, key, launch, machine, runs, stop},
};
use agentctl_core::{
    agent::{About, Claim, Claims, Depth, Trail},
    derive::{State, derive},
    evidence::{Ending, Evidence, Reading, Record, Role, Turn},
    host::{Kind, Stat},
    observe::{Candidate, History, Recall},
    proof::Source,
    wire::StateName,
};

fn source() -> Source {
    Source::File { path: "/claim".into(), shows: "a".into() }
}

/// `a` is claimed for pid 7, and this is said of it.
fn claimed(mut play: Play, about: About) -> Play {
    play.claims = Box::new(move || {
        let trail = Trail::Process { pid: 7, start: 100, written: at(150) };
        let claim = Claim { session: "a".into(), trail, source: source(), about: about.clone() };
        Ok(Claims { claims: vec![claim], ..Claims::default() })
    });
    play
}

fn of_a(play: &Play, machine: &Machine) -> Evidence {
    let mut all = play.seen(machine, History::All);
    all.retain(|one| one.id.as_deref() == Some("a"));
    all.remove(0)
}

fn agent() -> Machine {
    machine(vec![runs(7, 100, &["run"])])
}

#[test]
fn a_record_that_cannot_be_read_says_whether_its_file_can() {
    let mut play = play();
    play.sessions.push((stub("a", 200), None));
    let mut machine = machine(Vec::new());
    let failed = |source| Reading::Failed { why: "it is torn".into(), source };
    let path = || format!("{STORE}/a").into();
    assert_eq!(of_a(&play, &machine).record, failed(Source::Unreadable { path: path() }));
    machine.file(&format!("{STORE}/a"), b"{");
    assert_eq!(of_a(&play, &machine).record, failed(Source::Blind));
    let survey = play.survey(&machine, History::All);
    let (_, problem) = survey.session(&survey.candidates[0], Depth::Glance);
    let problem = problem.expect("it could not be read");
    assert_eq!((problem.path, problem.why), (Some(path()), "it is torn".to_owned()));
}

#[test]
fn what_was_removed_since_it_was_listed_is_no_session_unless_somebody_knows_of_it() {
    let removed = |play: &Play, machine: &Machine| {
        let survey = play.survey(machine, History::All);
        let of_a = |one: &&Candidate| one.id.as_deref() == Some("a");
        survey.candidates.iter().find(of_a).map(|one| survey.is_removed(one))
    };
    let mut play = play();
    play.sessions.push((stub("a", 200), None));
    let mut there = agent();
    there.file(&format!("{STORE}/a"), b"{");
    assert_eq!(removed(&play, &agent()), Some(true));
    assert_eq!(removed(&play, &there), Some(false));
    let mut stopped = agent();
    stopped.stops = vec![stop("a", key(8, 100), 150)];
    assert_eq!(removed(&play, &stopped), Some(false));
    assert_eq!(removed(&claimed(play, About::default()), &agent()), Some(false));
}

#[test]
fn a_session_without_a_record_may_have_one_where_the_store_is_closed() {
    let play = claimed(play(), About::default());
    assert_eq!(of_a(&play, &agent()).record, Reading::Absent);
    let mut shut = agent();
    shut.shut = true;
    let (why, path) = ("permission denied".into(), STORE.into());
    let failed = Reading::Failed { why, source: Source::Unreadable { path } };
    assert_eq!(of_a(&play, &shut).record, failed);
    // A store that is gone has none.
    let mut emptied = launched(agent());
    emptied.files.clear();
    assert_eq!(of_a(&play, &emptied).record, Reading::Absent);
}

/// The session `a` was launched by us.
fn launched(mut machine: Machine) -> Machine {
    machine.launches = vec![launch("one", Some("a"), Some(key(7, 100)))];
    machine.procs[0].of.comm = "sh".into();
    if let Ok(table) = &mut machine.table {
        table.processes[0].comm = "sh".into();
    }
    machine
}

#[test]
fn a_gap_in_a_record_is_a_problem_and_its_state_stands() {
    let with = |counts_apart| {
        let mut play = play().has("a", 200, record());
        (play.count_fails, play.counts_apart) = (true, counts_apart);
        let machine = machine(Vec::new());
        let survey = play.survey(&machine, History::All);
        let (whole, problem) = survey.session(&survey.candidates[0], Depth::Whole);
        let (glance, none) = survey.session(&survey.candidates[0], Depth::Glance);
        assert_eq!((whole.state, none), (glance.state, None));
        problem.map(|problem| problem.why)
    };
    let why = Some("tokens cannot be counted: no numbers".to_owned());
    assert_eq!((with(false), with(true)), (why.clone(), why));
}

#[test]
fn what_can_be_counted_is() {
    for counts_apart in [false, true] {
        let mut play = play().has("a", 200, record());
        play.counts_apart = counts_apart;
        let machine = machine(Vec::new());
        let survey = play.survey(&machine, History::All);
        let (session, problem) = survey.session(&survey.candidates[0], Depth::Whole);
        assert_eq!((session.tokens.is_some(), problem), (true, None));
    }
}

#[test]
fn a_process_tells_what_the_record_does_not() {
    let about = About {
        title: Some("named".into()),
        cwd: Some("/there".into()),
        version: Some("2".into()),
        role: Some(Role::Background),
        ..About::default()
    };
    let own = Record { title: Some("own".into()), version: Some("1".into()), ..record() };
    let filled =
        |record: Record| of_a(&claimed(play().has("a", 200, record), about.clone()), &agent());
    let cwd = Some("/there".into());
    let version = Some("2".to_owned());
    let titled = |title: &str| Record {
        title: Some(title.into()),
        cwd: cwd.clone(),
        version: version.clone(),
        ..record()
    };
    assert_eq!(filled(own.clone()).record, read(titled("own")));
    assert_eq!(filled(record()).record, read(titled("named")));
    assert_eq!(filled(record()).holders[0].role, Some(Role::Background));
    assert_eq!(of_a(&play().has("a", 200, own.clone()), &machine(Vec::new())).record, read(own));
}

#[test]
fn a_session_that_was_written_to_since_the_pass_is_not_known_to_have_ended() {
    let blind = |updated: i64, line: Option<i64>, procs: bool| {
        let record = Record { updated: line.map(at), ..record() };
        let mut machine = if procs { agent() } else { machine(Vec::new()) };
        machine.now = at(1010);
        let play = play().has("a", updated, record);
        let play = if procs { claimed(play, About::default()) } else { play };
        of_a(&play, &machine).blind
    };
    let why = Some("written to while processes were read".to_owned());
    assert_eq!(blind(1000, None, false), None);
    assert_eq!(blind(1001, None, false), why);
    assert_eq!(blind(1010, None, false), why);
    assert_eq!(blind(1011, None, false), None);
    assert_eq!(blind(900, Some(1005), false), why);
    assert_eq!(blind(1005, Some(900), false), why);
    assert_eq!(blind(1005, None, true), None);
}

#[test]
fn a_holder_that_a_signal_halted_is_told_as_such() {
    let mut proc = runs(7, 100, &["run"]);
    proc.of.halted = true;
    let play = claimed(play().has("a", 200, record()), About::default());
    assert!(of_a(&play, &machine(vec![proc])).holders[0].halted);
    assert!(!of_a(&play, &agent()).holders[0].halted);
}

#[test]
fn who_holds_a_sub_agent_and_its_parent_is_shared_by_them() {
    let shared = |parent: Option<&str>, spawns: bool| {
        let child = Record { parent: parent.map(str::to_owned), ..record() };
        let play = play().has("a", 200, record()).has("b", 200, child);
        let mut play = claimed(play, About::default());
        if spawns {
            play.spawned = Box::new(|id| {
                Ok(if id == "a" { vec![(stub("b", 200), source())] } else { Vec::new() })
            });
        }
        let seen = play.seen(&agent(), History::All);
        seen.iter().map(|one| one.holders.first().map(|one| one.shared)).collect::<Vec<_>>()
    };
    assert_eq!(shared(Some("a"), true), [Some(false), Some(true)]);
    assert_eq!(shared(None, true), [Some(false), Some(false)]);
    assert_eq!(shared(Some("a"), false), [Some(false), None]);
    // A sub-agent that alone is held has its process for itself.
    let child = Record { parent: Some("gone".into()), ..record() };
    let alone = claimed(play().has("a", 200, child), About::default());
    assert!(!of_a(&alone, &agent()).holders[0].shared);
}

#[test]
fn a_table_wants_no_proof_of_how_a_session_ended() {
    let line = Source::Line { path: "/a".into(), offset: 0, shows: "a".into(), without: vec![] };
    let turn = Turn::Ended { at: at(200), how: Ending::Completed, line };
    let play = play().has("a", 200, Record { turn, ..record() });
    let because = |machine: &Machine, brief| {
        let mut survey = play.survey(machine, History::All);
        survey.brief = brief;
        let one = survey.candidates.iter().find(|one| one.id.is_some()).expect("it is there");
        let session = survey.session(one, Depth::Glance).0;
        (session.state, session.because.is_empty())
    };
    let nobody = machine(Vec::new());
    assert_eq!(because(&nobody, false), (StateName::Done, false));
    assert_eq!(because(&nobody, true), (StateName::Done, true));
    let mut late = machine(Vec::new());
    (late.now, late.table.as_mut().expect("a table").taken) = (at(1000), at(199));
    assert_eq!(because(&late, true), (StateName::Unknown, false));
}

/// Somebody emptied it: nobody can say how it ended. Of one that is held its process tells.
#[test]
fn an_empty_record_says_nothing_of_an_end() {
    let with = |size: u64| {
        let mut play = play().has("a", 140, record());
        play.sessions[0].0.stat = Some(Stat { size, ..stat(1) });
        play
    };
    let state = |play: &Play, machine: &Machine| derive(&of_a(play, machine)).state;
    assert_eq!(state(&with(1), &machine(Vec::new())), State::Done);
    let why = "cannot read its record: it is empty".to_owned();
    assert_eq!(state(&with(0), &machine(Vec::new())), State::Unknown(why));
    let held = claimed(with(0), About::default());
    assert!(matches!(of_a(&held, &agent()).record, Reading::Read(_)));
}

fn stat(number: u64) -> Stat {
    let (modified, touched) = (at(0), at(0));
    Stat { kind: Kind::File, modified, touched, identity: (1, number), size: 3 }
}

/// What was kept of `a`, and of what other files beside it.
fn kept(play: &Play, machine: &Machine, recalls: Recall) -> Vec<usize> {
    let mut survey = play.survey(machine, History::All);
    survey.recalls = recalls;
    for one in &survey.candidates {
        let _ = survey.look(one, Depth::Glance);
    }
    let kept = machine.kept.lock().expect("one thread");
    kept.iter().map(|(_, beside)| beside.iter().flatten().count()).collect()
}

#[test]
fn what_was_read_is_kept_with_all_that_tells_it() {
    let play = |beside: &[&str]| {
        let mut play = play().has("a", 200, record());
        play.sessions[0].0.stat = Some(stat(5));
        play.told_by = Some(beside.iter().map(Into::into).collect());
        play
    };
    let with_file = || {
        let mut machine = machine(Vec::new());
        machine.file("/beside", b"x");
        machine
    };
    assert_eq!(kept(&play(&[]), &with_file(), Recall::Records), [0]);
    assert_eq!(kept(&play(&["/beside"]), &with_file(), Recall::Records), [1]);
    assert_eq!(kept(&play(&["/gone", "/beside"]), &with_file(), Recall::Records), [1]);
    assert_eq!(kept(&play(&["/beside"]), &with_file(), Recall::Counts), [0; 0]);
    // What cannot be looked at may be anything.
    let mut closed = with_file();
    closed.closed = vec!["/beside".into()];
    assert_eq!(kept(&play(&["/beside"]), &closed, Recall::Records), [0; 0]);
    // What was told by another file too is of no content that is known.
    let mut elsewhere = play(&[]);
    elsewhere.sessions[0].1 = Some(Record { elsewhere: true, ..record() });
    assert_eq!(kept(&elsewhere, &with_file(), Recall::Records), [0; 0]);
}

#[test]
fn what_every_list_asks_for_is_kept_apart_from_history() {
    let apart = |recalls| {
        let mut play = play().has("a", 200, record());
        play.sessions[0].0.stat = Some(stat(5));
        play.told_by = Some(Vec::new());
        let machine = machine(Vec::new());
        assert_eq!(kept(&play, &machine, recalls), [0]);
        machine.kept_live.lock().expect("one thread").clone()
    };
    assert_eq!((apart(Recall::Live), apart(Recall::Records)), (vec![true], vec![false]));
}

#[test]
fn a_file_of_many_sessions_is_looked_at_once() {
    let mut play = play().has("a", 200, record()).has("b", 200, record());
    play.told_by = Some(Vec::new());
    for (stub, _) in &mut play.sessions {
        stub.path = format!("{STORE}/database").into();
    }
    let mut machine = machine(Vec::new());
    assert_eq!(kept(&play, &machine, Recall::Records), [0; 0]);
    machine.file(&format!("{STORE}/database"), b"x");
    assert_eq!(kept(&play, &machine, Recall::Records), [0, 0]);
}

#[test]
fn what_was_kept_is_told_in_place_of_what_would_be_read() {
    let mut play = play().has("a", 200, record());
    play.sessions[0].0.stat = Some(stat(5));
    play.told_by = Some(Vec::new());
    let mut machine = machine(Vec::new());
    machine.recalls = Some(Record { title: Some("kept".into()), ..record() });
    let mut survey = play.survey(&machine, History::All);
    assert_eq!(survey.look(&survey.candidates[0], Depth::Glance).record, read(record()));
    survey.recalls = Recall::Records;
    let record = Record { title: Some("kept".into()), ..record() };
    assert_eq!(survey.look(&survey.candidates[0], Depth::Glance).record, read(record));
}
