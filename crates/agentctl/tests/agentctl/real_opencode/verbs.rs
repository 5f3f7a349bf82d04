//! OpenCode launched, waited for, stopped and resumed by agentctl.

use rustix::process::Signal;

use super::{EXE, quiet};
use crate::driven::{Driven, path};
use crate::kills::{self, Cell, Step, Victim};
use crate::support::{Stage, is_real};

fn driven(stage: &Stage) -> Driven<'_> {
    let set = [vec![path("AGENTCTL_TEST_OPENCODE")], quiet()].concat();
    Driven { stage, agent: "opencode", set, is_real: &|session| is_real(session, EXE), own: &[] }
}

#[test]
fn launch_returns_a_session_that_is_there() {
    driven(&Stage::opencode("allow")).launches();
}

#[test]
fn launch_of_two_in_one_directory_is_two() {
    driven(&Stage::opencode("allow")).launches_two();
}

#[test]
fn launch_of_what_dies_at_once_leaves_nothing() {
    driven(&Stage::opencode("allow")).fails("opencode run [message..]");
}

#[test]
fn stop_while_the_model_is_silent() {
    driven(&Stage::opencode("allow")).stops();
}

#[test]
fn resume_goes_on_with_what_stop_ended_in_a_tool() {
    driven(&Stage::opencode("allow")).resumes();
}

#[test]
fn launch_with_leave_to_read_changes_nothing() {
    driven(&Stage::opencode("allow")).reads();
}

#[test]
fn resume_in_a_copy_leaves_the_session() {
    driven(&Stage::opencode("allow")).forks();
}

fn killed(cell: Cell) {
    kills::real(&driven(&Stage::opencode("allow")), cell);
}

#[test]
fn kills_of_the_terminal_while_it_works() {
    kills::one("opencode", (Victim::Terminal, Step::Work, Signal::KILL), killed);
}

#[test]
#[ignore = "`cargo xtask prove --full` runs it"]
fn kills_of_everybody_at_every_step() {
    kills::all("opencode", killed);
}

#[test]
fn stop_at_the_end_of_its_budget() {
    driven(&Stage::new()).stops_over_budget();
}

#[test]
fn budget_holds_it_until_it_is_released() {
    driven(&Stage::new()).is_held_over_budget();
}
