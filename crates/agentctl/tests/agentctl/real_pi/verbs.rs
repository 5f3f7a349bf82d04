//! Pi of both lines launched, waited for, stopped and resumed by agentctl.

use rustix::process::Signal;

use super::{Line, NEW, OLD};
use crate::driven::Driven;
use crate::kills::{self, Step, Victim};
use crate::support::Stage;

/// Runs a test with both lines, each on a stage of its own.
fn both(test: impl Fn(&Driven<'_>)) {
    for line in [&NEW, &OLD] {
        one(line, &test);
    }
}

fn one(line: &Line, test: impl Fn(&Driven<'_>)) {
    let stage = Stage::new();
    let is_real = |session: &_| line.is_real(session);
    let set = stage.pi_set(line);
    test(&Driven { stage: &stage, agent: "pi", set, is_real: &is_real, own: &[] });
}

#[test]
fn launch_returns_a_session_that_is_there() {
    both(|pi| pi.launches());
}

#[test]
fn launch_of_two_in_one_directory_is_two() {
    both(|pi| pi.launches_two());
}

#[test]
fn launch_of_what_dies_at_once_leaves_nothing() {
    both(|pi| pi.fails("--bogus"));
}

#[test]
fn stop_while_the_model_is_silent() {
    both(|pi| pi.stops());
}

#[test]
fn resume_goes_on_with_what_stop_ended_in_a_tool() {
    both(|pi| pi.resumes());
}

#[test]
fn launch_with_leave_to_read_changes_nothing() {
    both(|pi| pi.reads());
}

/// It asks nobody, so with leave to edit it has no shell at all.
#[test]
fn launch_with_leave_to_edit_has_no_shell() {
    both(|pi| pi.runs_nothing("edit"));
}

#[test]
fn resume_in_a_copy_leaves_the_session() {
    both(|pi| pi.forks());
}

#[test]
fn kills_of_the_agent_in_a_tool() {
    let cell = (Victim::Agent, Step::Tool, Signal::KILL);
    kills::one("pi", cell, |cell| one(&NEW, |pi| kills::real(pi, cell)));
}

#[test]
#[ignore = "`cargo xtask prove --full` runs it"]
fn kills_of_everybody_at_every_step() {
    kills::all("pi", |cell| one(&NEW, |pi| kills::real(pi, cell)));
}

#[test]
#[ignore = "`cargo xtask prove --full` runs it"]
fn kills_of_everybody_with_the_old_line() {
    kills::all("pi 0.73", |cell| one(&OLD, |pi| kills::real(pi, cell)));
}

#[test]
fn stop_at_the_end_of_its_budget() {
    both(|pi| pi.stops_over_budget());
}

#[test]
fn budget_holds_it_until_it_is_released() {
    both(|pi| pi.is_held_over_budget());
}
