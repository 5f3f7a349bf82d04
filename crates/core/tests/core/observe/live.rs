//! Who is alive, and which stores there are.

use crate::{
    play::{Play, home, play, record},
    world::{Machine, Proc, STORE, at, launch, machine, other, runs},
};
use agentctl_core::{
    evidence::{Evidence, Role},
    host::CannotTell,
    observe::{History, Survey},
};
use std::path::PathBuf;

/// Processes that are the agent's and have named no session, with how they are run.
fn nameless(machine: &Machine) -> Vec<(u32, Option<Role>)> {
    let seen = play().seen(machine, History::Skip);
    let nameless = |one: &Evidence| one.id.is_none().then(|| one.holders[0].clone());
    let mut all: Vec<_> =
        seen.iter().filter_map(nameless).map(|one| (one.key.pid, one.role)).collect();
    all.sort_by_key(|(pid, _)| *pid);
    all
}

fn stores(play: &Play, machine: &Machine) -> Vec<PathBuf> {
    play.survey(machine, History::Skip).stores
}

#[test]
fn only_live_processes_of_the_agent_are_looked_at() {
    let mut zombie = runs(9, 100, &[]);
    zombie.of.zombie = true;
    let mut stranger = runs(10, 100, &[]);
    stranger.exe = Some("/bin/another".into());
    let procs = vec![
        runs(7, 100, &[]),
        runs(8, 100, &["wait"]),
        zombie,
        stranger,
        runs(11, 100, &["help"]),
    ];
    let all = [(7, Some(Role::Interactive)), (8, None)];
    assert_eq!(nameless(&machine([procs, vec![other(12, 100)]].concat())), all);
}

#[test]
fn a_machine_whose_processes_cannot_be_read_says_so() {
    let mut machine = machine(Vec::new());
    machine.table = Err(CannotTell("not here".into()));
    let play = play().has("a", 10, record());
    let seen = play.seen(&machine, History::All);
    let blind = seen[0].blind.as_deref();
    assert_eq!(blind, Some("the process table cannot be read: not here"));
    assert_eq!(play.survey(&machine, History::All).problems.len(), 1);
}

/// Of a session that was written at 200, in that store.
fn suspects(machine: &Machine) -> Vec<u32> {
    let mut seen = play().has("a", 200, record()).seen(machine, History::All);
    seen.retain(|one| one.id.is_some());
    seen.remove(0).suspects.iter().map(|one| one.key.pid).collect()
}

#[test]
fn who_tells_nothing_of_itself_may_be_an_agent_unless_it_ends() {
    let mut untold = runs(7, 100, &[]);
    untold.argv = None;
    assert_eq!(suspects(&machine(vec![untold.clone()])), [7]);
    assert_eq!(nameless(&machine(vec![untold.clone()])), []);
    untold.over = true;
    assert_eq!(suspects(&machine(vec![untold.clone()])), [0; 0]);
    untold.over = false;
    untold.mine = Some(false);
    assert_eq!(suspects(&machine(vec![untold.clone()])), [0; 0]);
    untold.mine = None;
    assert_eq!(suspects(&machine(vec![untold])), [7]);
}

#[test]
fn who_tells_only_a_part_of_itself_counts_unless_it_ends() {
    let pids = |proc: Proc| nameless(&machine(vec![proc])).len();
    let hidden = |env: bool, cwd: bool, over: bool| {
        let mut proc = runs(7, 100, &[]);
        proc.over = over;
        if !env {
            proc.env = None;
        }
        if !cwd {
            proc.cwd = None;
        }
        proc
    };
    assert_eq!(pids(hidden(true, true, true)), 1);
    assert_eq!(pids(hidden(false, true, false)), 1);
    assert_eq!(pids(hidden(true, false, false)), 1);
    assert_eq!(pids(hidden(false, true, true)), 0);
    assert_eq!(pids(hidden(true, false, true)), 0);
    // Another user's tells nothing to anybody but root.
    let mut another_s = hidden(false, true, false);
    another_s.mine = Some(false);
    assert_eq!(pids(another_s), 0);
}

#[test]
fn a_child_that_has_not_loaded_its_own_program_is_its_parent() {
    let child = |words: &[&str], forked| {
        let mut proc = runs(8, 101, words);
        proc.of.parent = 7;
        proc.of.forked = forked;
        proc
    };
    let pids = |parent: &[&str], child| {
        let found = nameless(&machine(vec![runs(7, 100, parent), child]));
        found.into_iter().map(|(pid, _)| pid).collect::<Vec<_>>()
    };
    assert_eq!(pids(&["run"], child(&["run"], false)), [7]);
    assert_eq!(pids(&["run"], child(&["run", "x"], false)), [7, 8]);
    assert_eq!(pids(&[], child(&[], false)), [7]);
    // Words that were erased look the same whatever they were; the kernel knows better.
    assert_eq!(pids(&["", ""], child(&["", ""], false)), [7, 8]);
    assert_eq!(pids(&["", ""], child(&["", ""], true)), [7]);
    let mut orphan = child(&["run"], false);
    orphan.of.parent = 1;
    assert_eq!(pids(&["run"], orphan), [7, 8]);
    // One word, and what that is run as is not told.
    let mut untold = child(&["wait"], false);
    untold.argv = Some(vec!["wait".into()]);
    let mut parent = runs(7, 100, &[]);
    parent.argv = Some(vec!["wait".into()]);
    assert_eq!(nameless(&machine(vec![parent, untold])).len(), 2);
}

#[test]
fn stores_are_those_of_the_caller_of_live_processes_and_of_launches() {
    let mut machine = machine(vec![runs(7, 100, &[]).with("PLAY_HOME", "/theirs")]);
    machine.folder("/theirs", 2);
    machine.folder("/launched", 3);
    machine.folder("/not-ours", 4);
    let mut one = launch("one", None, None);
    one.stores = vec!["/launched".into(), "/gone".into(), STORE.into()];
    let mut two = launch("two", None, None);
    two.agent = "another".into();
    two.stores = vec!["/not-ours".into()];
    machine.launches = vec![one, two];
    let all = [STORE, "/theirs", "/launched"].map(PathBuf::from);
    assert_eq!(stores(&play(), &machine), all);
}

#[test]
fn a_store_that_cannot_be_looked_at_is_a_problem_and_one_that_is_not_there_is_none() {
    let mut closed = machine(Vec::new());
    closed.closed = vec![STORE.into()];
    let play = play();
    let survey = play.survey(&closed, History::Skip);
    let paths: Vec<_> = survey.problems.iter().map(|one| one.path.clone()).collect();
    assert_eq!((survey.stores.len(), paths), (0, vec![Some(STORE.into())]));
    let mut empty = machine(Vec::new());
    empty.files.clear();
    let survey = play.survey(&empty, History::Skip);
    assert_eq!((survey.stores.len(), survey.problems.len()), (0, 0));
}

#[test]
fn one_directory_of_two_names_is_one_store_for_whoever_uses_it() {
    let mut machine = machine(vec![runs(7, 100, &[]).with("PLAY_HOME", "/mounted")]);
    machine.folder("/mounted", 1);
    assert_eq!(stores(&play(), &machine), [PathBuf::from(STORE)]);
    assert_eq!(suspects(&machine), [7]);
    let mut another = machine;
    another.folder("/mounted", 2);
    assert_eq!(suspects(&another), [0; 0]);
}

#[test]
fn a_relative_store_lies_where_its_process_works() {
    let mut machine = machine(vec![runs(7, 100, &[]).with("PLAY_HOME", "own")]);
    machine.folder("/work/own", 2);
    assert_eq!(stores(&play(), &machine), [STORE, "/work/own"].map(PathBuf::from));
}

#[test]
fn a_store_of_a_container_is_ours_only_if_it_is_the_same() {
    let inside = |identity| {
        let mut proc = runs(7, 100, &[]);
        proc.sees.insert(STORE.into(), identity);
        machine(vec![proc])
    };
    assert_eq!(suspects(&inside((1, 1))), [7]);
    assert_eq!(suspects(&inside((9, 9))), [0; 0]);
    let mut apart = inside((9, 9));
    apart.folder("/proc/7/root/home/.play", 9);
    assert_eq!(stores(&play(), &apart), [PathBuf::from(STORE)]);
}

#[test]
fn root_sees_others_only_where_they_use_what_he_asked_for() {
    let another_s = |store: &str| {
        let mut proc = runs(7, 100, &[]).with("PLAY_HOME", store);
        proc.mine = Some(false);
        let mut machine = machine(vec![proc]);
        machine.folder("/theirs", 2);
        machine
    };
    assert_eq!(stores(&play(), &another_s("/theirs")), [PathBuf::from(STORE)]);
    assert_eq!(nameless(&another_s("/theirs")), []);
    assert_eq!(nameless(&another_s(STORE)), [(7, Some(Role::Interactive))]);
}

#[test]
fn a_link_to_a_store_is_that_store() {
    let mut machine = machine(vec![runs(7, 100, &[]).with("PLAY_HOME", "/link")]);
    machine.links.insert("/link".into(), STORE.into());
    assert_eq!(stores(&play(), &machine), [PathBuf::from(STORE)]);
    assert_eq!(Survey::of(&play(), &machine, &home(), "x").stores, [PathBuf::from(STORE)]);
}

#[test]
fn who_began_before_a_clock_was_set_forward_may_hold_what_was_written_then() {
    let mut early = runs(7, 300, &[]);
    assert_eq!(suspects(&machine(vec![early.clone()])), [0; 0]);
    early.noted = Some(at(150));
    assert_eq!(suspects(&machine(vec![early])), [7]);
}
