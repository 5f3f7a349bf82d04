//! Whoever is killed, and whenever: the list says what the kernel says, and nothing is left wrong.

use super::{Hall, STEPS, lives, parent, until};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::{os::unix::process::CommandExt, process::Stdio};

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    /// The process of `agentctl launch`.
    Caller,
    /// The same with all of its process group, as an orchestrator does whose time is up.
    Group,
    /// The agent's parent.
    Shim,
    /// The agent.
    Agent,
}

const SIGNALS: [Signal; 2] = [Signal::TERM, Signal::KILL];

#[test]
fn the_caller_may_be_killed_at_any_step() {
    each(Victim::Caller);
}

#[test]
fn the_callers_group_may_be_killed_at_any_step() {
    each(Victim::Group);
}

#[test]
fn the_shim_may_be_killed_at_any_step() {
    each(Victim::Shim);
}

#[test]
fn the_agent_may_be_killed_at_any_step() {
    each(Victim::Agent);
}

fn each(victim: Victim) {
    let hall = Hall::new();
    for step in STEPS {
        for signal in SIGNALS {
            cell(&hall, victim, step, signal);
        }
    }
}

fn cell(hall: &Hall, victim: Victim, step: &str, signal: Signal) {
    let what = format!("{victim:?} at {step} by {signal:?}");
    hall.hold_at(step);
    let mut call = hall.call();
    call.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut caller = call.spawn().expect("a launch");
    let agent = hall.reached(step);
    let shim = parent(agent);
    let pid = |pid: u32| Pid::from_raw(pid.cast_signed()).expect("a pid");
    let killed = match victim {
        Victim::Caller => kill_process(pid(caller.id()), signal),
        Victim::Group => kill_process_group(pid(caller.id()), signal),
        Victim::Shim => kill_process(pid(shim), signal),
        Victim::Agent => kill_process(pid(agent), signal),
    };
    // It may have done its work before, and be gone.
    assert!(killed.is_ok() || victim != Victim::Agent, "{what}: {killed:?}");
    if victim == Victim::Agent {
        until(&format!("{what}: end of the agent"), || (!lives(agent)).then_some(()));
    }
    truth(hall, agent, &what);
    for step in STEPS {
        hall.open(step);
    }
    until(&format!("{what}: end of the agent"), || (!lives(agent)).then_some(()));
    let _ = caller.wait();
    truth(hall, agent, &what);
    let again = hall.again();
    assert_eq!(again.code, Some(0), "{what}: the directory is free again: {again:?}");
    until(&format!("{what}: end of the second"), || {
        hall.listed().iter().all(|row| row["live"] == false).then_some(())
    });
}

/// The list says what the kernel says, and a directory is taken as long as somebody works in it.
fn truth(hall: &Hall, agent: u32, what: &str) {
    let (before, rows, after) = (lives(agent), hall.rows_of(agent), lives(agent));
    match (before, after) {
        (true, true) => {
            assert_eq!(rows.len(), 1, "{what}: {agent} lives and has {rows:#?}");
            let again = hall.again();
            assert_eq!(again.code, Some(5), "{what}: it is taken: {again:?}");
        }
        (false, false) => assert!(rows.is_empty(), "{what}: {agent} is gone and has {rows:#?}"),
        _ => {} // it went while we looked
    }
}
