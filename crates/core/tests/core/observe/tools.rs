//! Whether the tool of a pending call runs: a process below the holder carries its mark.

use crate::{
    play::{play, record},
    world::{Machine, Proc, at, machine, other, runs},
};
use agentctl_core::{
    evidence::{Pending, Record, Tool, Turn},
    observe::History,
    proof::Source,
};

fn line() -> Source {
    Source::File { path: "/a".into(), shows: "a".into() }
}

fn open(pending: Pending) -> Record {
    Record { turn: Turn::Open { alive: at(100), pending, line: line() }, ..record() }
}

/// A call that asks for leave, unless a process carries `CALL=x`.
fn call() -> Record {
    let (variable, values) = ("CALL".into(), vec!["x".into(), "y".into()]);
    open(Pending::ApprovalUnless { variable, values })
}

/// A child of the holder, or of another.
fn child(pid: u32, parent: u32) -> Proc {
    let mut proc = other(pid, 150);
    proc.of.parent = parent;
    proc
}

fn held(procs: Vec<Proc>) -> Machine {
    machine([vec![runs(7, 100, &["run", "--session", "a"])], procs].concat())
}

fn tool(record: Record, machine: &Machine) -> Tool {
    let mut seen = play().has("a", 200, record).seen(machine, History::Skip);
    seen.retain(|one| one.id.is_some());
    seen.remove(0).tool
}

fn runs_in(value: &str, pid: u32) -> Tool {
    Tool::Runs(Source::Variable { variable: format!("CALL={value}"), pid })
}

fn absent() -> Tool {
    Tool::Absent(Source::NoVariable { variable: "CALL=x".into(), pid: 7 })
}

#[test]
fn a_tool_runs_if_a_process_below_carries_its_mark() {
    assert_eq!(tool(call(), &held(vec![child(8, 7).with("CALL", "x")])), runs_in("x", 8));
    let below = held(vec![child(8, 7), child(9, 8).with("CALL", "y")]);
    assert_eq!(tool(call(), &below), runs_in("y", 9));
}

#[test]
fn a_tool_is_absent_if_nobody_below_carries_its_mark() {
    assert_eq!(tool(call(), &held(Vec::new())), absent());
    let mut dead = child(8, 7).with("CALL", "x");
    dead.of.zombie = true;
    let others = vec![dead, child(9, 1).with("CALL", "x"), child(10, 7).with("CALL", "z")];
    assert_eq!(tool(call(), &held(others)), absent());
}

#[test]
fn a_process_that_does_not_tell_its_environment_may_be_the_tool() {
    let mut untold = child(8, 7);
    untold.env = None;
    let why = Tool::CannotTell("not allowed".into());
    assert_eq!(tool(call(), &held(vec![untold.clone()])), why);
    let found = held(vec![untold, child(9, 7).with("CALL", "x")]);
    assert_eq!(tool(call(), &found), runs_in("x", 9));
}

#[test]
fn who_carries_the_mark_itself_tells_nothing_of_its_tools() {
    let agent = |value| machine(vec![runs(7, 100, &["run", "--session", "a"]).with("CALL", value)]);
    let why = "it runs within a tool, and carries its mark itself";
    assert_eq!(tool(call(), &agent("y")), Tool::CannotTell(why.into()));
    assert_eq!(tool(call(), &agent("z")), absent());
}

#[test]
fn a_call_that_is_newer_than_the_pass_has_no_tool_in_it() {
    let call = |updated| Record { updated: Some(at(updated)), ..call() };
    let mut machine = held(Vec::new());
    machine.now = at(1010);
    let why = "its call is newer than the look at processes";
    assert_eq!(tool(call(1001), &machine), Tool::CannotTell(why.into()));
    assert_eq!(tool(call(1010), &machine), Tool::CannotTell(why.into()));
    assert_eq!(tool(call(1000), &machine), absent());
    // A time that is yet to come is of a wrong clock.
    assert_eq!(tool(call(1011), &machine), absent());
}

#[test]
fn nobody_asks_for_tools_without_a_turn_or_a_mark_or_a_holder() {
    let marked = |record: Record, machine: &Machine| {
        let mut play = play().has("a", 200, record);
        play.tool_mark = Some(("CALL", "x"));
        let mut seen = play.seen(machine, History::All);
        seen.retain(|one| one.id.is_some());
        seen.remove(0).tool
    };
    let machine = held(Vec::new());
    assert_eq!(marked(record(), &machine), Tool::NotAsked);
    assert_eq!(marked(open(Pending::Nothing), &machine), absent());
    assert_eq!(tool(open(Pending::Nothing), &machine), Tool::NotAsked);
    assert_eq!(marked(call(), &crate::world::machine(Vec::new())), Tool::NotAsked);
}
