//! What an agent wrote down of a process, and whom it leads to.

use crate::{
    play::{Play, card, play, read, record, stub},
    world::{Machine, STORE, at, key, launch, machine, other, runs},
};
use agentctl_core::{
    agent::{About, Card, Claim, Claims, Trail, Trouble, Untold},
    evidence::{Evidence, Ground, Holder, Record, Role, Say, Suspect},
    host::OpenFile,
    observe::History,
    proof::Source,
};

fn source(id: &str) -> Source {
    Source::File { path: format!("{STORE}/claims").into(), shows: id.into() }
}

fn claim(id: &str, trail: Trail) -> Claim {
    Claim { session: id.into(), trail, source: source(id), about: About::default() }
}

/// A process that was written down then.
fn process(pid: u32, start: u64, written: i64) -> Trail {
    Trail::Process { pid, start, written: at(written) }
}

/// An agent whose only session, `a`, was written at 200, and which claims this.
fn claims(all: &[Claim]) -> Play {
    let all = all.to_vec();
    let mut play = play().has("a", 200, record());
    play.claims = Box::new(move || Ok(Claims { claims: all.clone(), ..Claims::default() }));
    play
}

fn holder(pid: u32, trail: Source) -> Holder {
    Holder {
        key: key(pid, 100),
        since: at(100),
        role: Some(Role::Headless),
        shared: false,
        halted: false,
        trail,
        says: None,
    }
}

/// Nobody is known to have it.
fn ended() -> Evidence {
    let absence = Some(Source::Absence { check: "nobody has a".into() });
    Evidence { record: read(record()), absence, ..Evidence::none("play", Some("a".into())) }
}

fn held(holders: Vec<Holder>) -> Evidence {
    Evidence { holders, ..ended() }
}

fn lost(source: Source) -> Evidence {
    Evidence { lost: vec![source], absence: None, ..ended() }
}

fn hidden(why: &str) -> Evidence {
    Evidence { blind: Some(why.into()), ..ended() }
}

/// What is known of `a`.
fn of_a(play: &Play, machine: &Machine) -> Evidence {
    let mut all = play.seen(machine, History::All);
    all.retain(|one| one.id.as_deref() == Some("a"));
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn a_process_that_was_written_down_and_lives_holds_the_session() {
    let machine = machine(vec![runs(7, 100, &["run"])]);
    let play = claims(&[claim("a", process(7, 100, 150))]);
    assert_eq!(of_a(&play, &machine), held(vec![holder(7, source("a"))]));
}

#[test]
fn a_process_that_was_written_down_and_is_gone_has_left_the_session() {
    let gone = Source::Gone { process: key(7, 100) };
    let play = claims(&[claim("a", process(7, 100, 150)), claim("a", process(7, 100, 150))]);
    assert_eq!(of_a(&play, &machine(Vec::new())), lost(gone.clone()));
    // Another process has its pid.
    let machine = machine(vec![runs(7, 300, &["run"])]);
    let seen = of_a(&play, &machine);
    assert_eq!(seen.lost, [gone]);
}

#[test]
fn a_process_that_ended_since_the_pass_holds_nothing_more() {
    let mut proc = runs(7, 100, &["run"]);
    proc.gone = true;
    let seen = of_a(&claims(&[claim("a", process(7, 100, 150))]), &machine(vec![proc]));
    assert_eq!(seen, lost(Source::Gone { process: key(7, 100) }));
}

#[test]
fn whoever_is_no_such_agent_does_not_hold_what_is_claimed_for_it() {
    let play = claims(&[claim("a", process(7, 100, 150))]);
    let why = "pid 7 is not known to be such an agent";
    assert_eq!(of_a(&play, &machine(vec![other(7, 100)])), hidden(why));
    // A shell that we launched as the agent, a program of another name, and one that begins like it are.
    let mut launched = machine(vec![other(7, 100)]);
    launched.launches = vec![launch("one", None, Some(key(7, 100)))];
    assert_eq!(of_a(&play, &launched).holders[0].trail, source("a"));
    launched.launches[0].process = Some(key(7, 99));
    assert_eq!(of_a(&play, &launched), hidden(why));
    launched.launches[0].process = Some(key(7, 100));
    launched.launches[0].agent = "another".into();
    assert_eq!(of_a(&play, &launched), hidden(why));
    let mut renamed = other(7, 100);
    renamed.exe = Some("/opt/play".into());
    assert_eq!(of_a(&play, &machine(vec![renamed])).holders[0].trail, source("a"));
    let mut longer = other(7, 100);
    longer.of.comm = "play-2".into();
    assert_eq!(of_a(&play, &machine(vec![longer])).holders[0].trail, source("a"));
}

#[test]
fn what_was_written_before_this_boot_is_of_another_process() {
    // The same pid and ticks, and nothing shows that it is the agent's.
    let play = claims(&[claim("a", process(7, 100, -1))]);
    let mut stranger = other(7, 100);
    stranger.of.comm = "play-2".into();
    assert_eq!(of_a(&play, &machine(vec![stranger])), lost(source("a")));
    // It is the agent's: the clock was set since, unless the kernel saw it within this boot.
    assert_eq!(of_a(&play, &machine(vec![runs(7, 100, &["run"])])).holders.len(), 1);
    let mut noted = runs(7, 100, &["run"]);
    noted.noted = Some(at(-10));
    assert_eq!(of_a(&play, &machine(vec![noted.clone()])).holders.len(), 1);
    noted.noted = Some(at(0));
    let seen = of_a(&play, &machine(vec![noted]));
    assert_eq!(seen.blind.as_deref(), Some("pid 7 may hold it, or was another's before this boot"));
    let now = claims(&[claim("a", process(7, 100, 0))]);
    assert_eq!(of_a(&now, &machine(vec![runs(7, 100, &["run"])])).holders.len(), 1);
}

#[test]
fn where_starts_cannot_be_told_a_pid_of_this_boot_may_be_meant() {
    let with = |written, procs| {
        let mut machine = machine(procs);
        machine.starts_told = false;
        of_a(&claims(&[claim("a", process(7, 100, written))]), &machine)
    };
    let why = "pid 7 may hold it: no starts here";
    assert_eq!(with(-1, Vec::new()), lost(source("a")));
    assert_eq!(with(-1, vec![runs(8, 300, &["run"])]), lost(source("a")));
    assert_eq!(with(0, Vec::new()), hidden(why));
    assert_eq!(with(1, Vec::new()), hidden(why));
    assert_eq!(with(-1, vec![runs(7, 300, &["run"])]).blind.as_deref(), Some(why));
}

/// Ids of some agents are unique only per directory.
#[test]
fn a_second_trail_to_the_same_process_makes_no_second_session() {
    let mut first = claim("a", process(7, 100, 150));
    first.about.cwd = Some("/elsewhere".into());
    let mut play = claims(&[first]);
    let elsewhere = Record { cwd: Some("/elsewhere".into()), ..record() };
    play = play.has("a", 200, elsewhere);
    play.sessions[1].0.path = format!("{STORE}/copy").into();
    play.serves = Box::new(|_| Ok(None));
    play.spawned =
        Box::new(|id| Ok(if id == "a" { vec![(stub("a", 200), source("a"))] } else { Vec::new() }));
    let machine = machine(vec![runs(7, 100, &["run"])]);
    let survey = play.survey(&machine, History::Skip);
    let held = survey.candidates.iter().filter(|one| one.is_held());
    let paths: Vec<_> = held.map(|one| one.stub.clone().map(|stub| stub.path)).collect();
    assert_eq!(paths, [Some(format!("{STORE}/copy").into())]);
}

#[test]
fn a_lock_leads_to_whoever_holds_it() {
    let path = || "/lock".into();
    let play = claims(&[claim("a", Trail::Flock(path()))]);
    let with = |procs, pids: &[u32]| {
        let mut machine = machine(procs);
        machine.locks.insert(path(), pids.to_vec());
        of_a(&play, &machine)
    };
    assert_eq!(with(Vec::new(), &[]), lost(Source::NoLock { path: path() }));
    let agent = || runs(7, 100, &["run"]);
    let lock = Source::Lock { path: path(), pid: 7 };
    assert_eq!(with(vec![agent()], &[7]), held(vec![holder(7, lock)]));
    let why = "held by pid 9, which is not in the process table";
    assert_eq!(with(Vec::new(), &[9]), hidden(why));
    let mut zombie = agent();
    zombie.of.zombie = true;
    let why = "held by pid 7, which is not in the process table";
    assert_eq!(with(vec![zombie], &[7]), hidden(why));
    let why = "locked by pid 9, which is not known to be such an agent";
    assert_eq!(with(vec![other(9, 100)], &[9]), hidden(why));
}

/// The kernel's list of all locks is asked for only where none of them has it.
#[test]
fn a_process_tells_itself_what_it_has_locked() {
    let play = claims(&[claim("a", Trail::Flock("/lock".into()))]);
    let mut machine = machine(vec![other(9, 100), runs(7, 100, &["run"])]);
    machine.locks_told = false;
    machine.locks.insert("/lock".into(), vec![7]);
    let lock = Source::Lock { path: "/lock".into(), pid: 7 };
    assert_eq!(of_a(&play, &machine), held(vec![holder(7, lock)]));
}

#[test]
fn a_lock_that_cannot_be_asked_for_leaves_suspects() {
    let play = claims(&[claim("a", Trail::Flock("/lock".into()))]);
    let mut machine = machine(vec![runs(7, 100, &["run"])]);
    machine.locks_told = false;
    let seen = of_a(&play, &machine);
    assert_eq!((seen.blind, seen.suspects.len()), (None, 1));
}

#[test]
fn a_server_alone_can_tell_what_it_runs() {
    let mut play = claims(&[claim("a", Trail::Server { silent: "nobody answers" })]);
    assert_eq!(of_a(&play, &machine(Vec::new())), hidden("nobody answers"));
    // One that answers, and does not name it.
    play.serves = Box::new(|_| Ok(Some(Vec::new())));
    let served = machine(vec![runs(7, 300, &["serve"])]);
    assert_eq!(of_a(&play, &served), ended());
    // One of another store says nothing of this one.
    let mut elsewhere = machine(vec![runs(7, 300, &["serve"]).with("PLAY_HOME", "/other")]);
    elsewhere.folder("/other", 2);
    assert_eq!(of_a(&play, &elsewhere), hidden("nobody answers"));
}

#[test]
fn what_no_server_runs_and_nobody_wrote_down_is_no_session() {
    let mut play = play();
    let known = claim("b", Trail::Server { silent: "nobody answers" });
    play.claims = Box::new(move || Ok(Claims { claims: vec![known.clone()], ..Claims::default() }));
    play.serves = Box::new(|_| Ok(Some(Vec::new())));
    let machine = machine(vec![runs(7, 100, &["serve"])]);
    assert_eq!(play.seen(&machine, History::All), []);
}

#[test]
fn a_holder_began_when_it_says_or_when_the_kernel_does_whichever_was_first() {
    let began = |started: Option<i64>, noted: Option<i64>| {
        let mut said = claim("a", process(7, 100, 150));
        said.about.started = started.map(at);
        let mut proc = runs(7, 100, &["run"]);
        proc.noted = noted.map(at);
        of_a(&claims(&[said]), &machine(vec![proc])).holders[0].since
    };
    assert_eq!(began(None, None), at(100));
    assert_eq!(began(Some(90), None), at(90));
    assert_eq!(began(Some(110), None), at(100));
    assert_eq!(began(None, Some(80)), at(80));
    assert_eq!(began(None, Some(120)), at(100));
}

#[test]
fn who_serves_is_shared() {
    let machine = machine(vec![runs(7, 100, &["serve"])]);
    let seen = of_a(&claims(&[claim("a", process(7, 100, 150))]), &machine);
    assert_eq!((seen.holders[0].shared, seen.holders[0].role), (true, Some(Role::Server)));
}

/// The first of two that claim one session says what it is called.
#[test]
fn of_two_that_claim_a_session_the_one_that_began_first_tells_of_it() {
    let named = |pid: u32, started: Option<i64>, title: &str| {
        let mut claim = claim("a", process(pid, 100, 150));
        claim.about.title = Some(title.into());
        claim.about.started = started.map(at);
        claim
    };
    let title = |claimed: [Claim; 2]| {
        let machine = machine(vec![runs(7, 100, &["run"]), runs(8, 100, &["run"])]);
        let [one, two] = claimed;
        let both = [claims(&[one.clone(), two.clone()]), claims(&[two, one])];
        let titles = both.map(|play| match of_a(&play, &machine).record {
            agentctl_core::evidence::Reading::Read(record) => record.title,
            _ => None,
        });
        assert_eq!(titles[0], titles[1], "the order of names tells nothing");
        titles[0].clone().expect("a title")
    };
    assert_eq!(title([named(7, Some(120), "later"), named(8, Some(110), "first")]), "first");
    assert_eq!(title([named(7, None, "untold"), named(8, Some(110), "told")]), "told");
    assert_eq!(title([named(7, None, "seven"), named(8, None, "eight")]), "seven");
}

#[test]
fn what_a_process_says_is_kept_whichever_trail_led_to_it_first() {
    let mut says = claim("a", process(7, 100, 150));
    says.about.says = Some((Say::Busy, source("busy")));
    let mut play = claims(&[says]);
    play.card = card(Card { keeps_open: true, ..crate::play::CARD }).card;
    let mut proc = runs(7, 100, &["run"]);
    proc.open = Some(vec![OpenFile { path: format!("{STORE}/a").into(), writable: true }]);
    let expected = Holder { says: Some((Say::Busy, source("busy"))), ..holder(7, source("a")) };
    assert_eq!(of_a(&play, &machine(vec![proc])), held(vec![expected]));
}

#[test]
fn who_has_a_session_s_file_open_for_writing_holds_it() {
    let with = |writable, keeps_open| {
        let mut play = claims(&[]);
        play.card = card(Card { keeps_open, ..crate::play::CARD }).card;
        let mut proc = runs(7, 100, &["run"]);
        let path = format!("{STORE}/a").into();
        proc.open = Some(vec![OpenFile { path, writable }]);
        of_a(&play, &machine(vec![proc]))
    };
    let open = Source::OpenFile { path: format!("{STORE}/a").into(), pid: 7 };
    assert_eq!(with(true, true), held(vec![holder(7, open)]));
    assert_eq!(with(false, true), ended());
    assert_eq!(with(true, false).suspects.len(), 1);
}

/// An id that may be a throwaway.
#[test]
fn an_id_that_is_not_settled_counts_once_it_has_a_record_or_its_time_has_come() {
    let ids = |id: &str, settles: i64| {
        let mut claimed = claim(id, process(7, 100, 150));
        claimed.about.settles = Some(at(settles));
        let seen = claims(&[claimed]).seen(&machine(vec![runs(7, 100, &["run"])]), History::Skip);
        seen.into_iter().map(|one| one.id.unwrap_or_default()).collect::<Vec<_>>()
    };
    assert_eq!(ids("a", 2000), ["a"]);
    assert_eq!(ids("b", 1000), ["b"]);
    // Its process is there without a name, and may hold what was written since it began.
    assert_eq!(ids("b", 1001), ["", "a"]);
}

fn untold(pid: u32, empty: bool) -> Play {
    let mut play = claims(&[]);
    play.claims = Box::new(move || {
        let trouble = Trouble { path: "/claim".into(), why: "torn".into() };
        Ok(Claims { untold: vec![Untold { pid, empty, trouble }], ..Claims::default() })
    });
    play
}

#[test]
fn whoever_has_a_claim_that_cannot_be_read_may_hold_what_is_older_than_it() {
    let suspects = |play: &Play, proc| {
        let machine = machine(vec![proc]);
        let problems = play.survey(&machine, History::All).problems.len();
        let of = |one: Suspect| (one.key.pid, one.ground);
        (of_a(play, &machine).suspects.into_iter().map(of).collect::<Vec<_>>(), problems)
    };
    let late = |pid| runs(pid, 300, &["run"]);
    assert_eq!(suspects(&untold(7, false), late(7)), (vec![(7, Ground::Untold)], 1));
    assert_eq!(suspects(&untold(8, false), late(7)), (vec![], 0));
    assert_eq!(suspects(&untold(7, true), late(7)), (vec![(7, Ground::Untold)], 1));
    // It has only just begun, and writes its claim.
    assert_eq!(suspects(&untold(7, true), runs(7, 995, &["run"])), (vec![], 0));
    assert_eq!(suspects(&untold(7, true), runs(7, 994, &["run"])).1, 1);
    // A helper has no session by its words; a zombie has none at all.
    let helper = runs(7, 300, &["help"]);
    assert_eq!(suspects(&untold(7, false), helper.clone()), (vec![(7, Ground::Untold)], 1));
    assert_eq!(suspects(&untold(8, false), helper), (vec![], 0));
    let mut zombie = late(7);
    zombie.of.zombie = true;
    assert_eq!(suspects(&untold(7, false), zombie), (vec![], 0));
}

#[test]
fn a_claim_that_cannot_be_read_is_of_its_own_store() {
    let mut machine = machine(vec![runs(7, 300, &["help"])]);
    machine.folder("/other", 2);
    machine.launches = vec![launch("one", None, None)];
    machine.launches[0].stores = vec!["/other".into()];
    let mut play = untold(7, false).has("b", 200, record());
    play.sessions[1].0.path = "/other/b".into();
    let claims = std::mem::replace(&mut play.claims, Box::new(|| Ok(Claims::default())));
    let first = std::sync::atomic::AtomicBool::new(true);
    play.claims = Box::new(move || match first.swap(false, std::sync::atomic::Ordering::Relaxed) {
        true => claims(),
        false => Ok(Claims::default()),
    });
    let seen = play.seen(&machine, History::All);
    assert_eq!(seen.iter().map(|one| one.suspects.len()).collect::<Vec<_>>(), [1, 0]);
}

#[test]
fn where_no_claim_can_be_read_any_process_of_the_agent_may_have_one() {
    let mut play = claims(&[]);
    play.claims = Box::new(|| Ok(Claims { closed: true, ..Claims::default() }));
    let suspects = |proc| {
        let of = |one: Suspect| one.ground;
        of_a(&play, &machine(vec![proc])).suspects.into_iter().map(of).collect::<Vec<_>>()
    };
    let late = |words: &[&str]| runs(7, 300, words);
    assert_eq!(suspects(late(&["run"])), [Ground::Untold]);
    assert_eq!(suspects(late(&["help"])), [Ground::Untold]);
    let mut another_s = late(&["run"]);
    another_s.mine = Some(false);
    another_s.argv = None;
    another_s.exe = None;
    assert_eq!(suspects(another_s), [Ground::Untold]);
    assert_eq!(suspects(other(7, 300)), []);
    let mut namesake = late(&["run"]);
    namesake.exe = Some("/bin/another".into());
    assert_eq!(suspects(namesake), []);
}

#[test]
fn a_registered_agent_that_is_not_written_down_may_have_lost_that() {
    let mut open = record();
    open.cwd = Some("/elsewhere".into());
    open.turn = agentctl_core::evidence::Turn::Open {
        alive: at(190),
        pending: agentctl_core::evidence::Pending::Nothing,
        line: source("line"),
    };
    let suspects = |registers, start, written| {
        let mut play = play();
        play.sessions.push((stub("a", written), Some(open.clone())));
        play.registers = registers;
        of_a(&play, &machine(vec![runs(7, start, &["run"])])).suspects.len()
    };
    assert_eq!(suspects(true, 100, 200), 1);
    assert_eq!(suspects(false, 100, 200), 0);
    assert_eq!(suspects(true, 994, 1000), 1);
    assert_eq!(suspects(true, 995, 1000), 0);
}
