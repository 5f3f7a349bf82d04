//! Gemini launched, waited for, stopped and resumed by agentctl.

use rustix::process::Signal;

use super::{SET, is_alone};
use crate::driven::{Driven, path};
use crate::kills::{self, Cell, Step, Victim};
use crate::support::Stage;

fn driven(stage: &Stage) -> Driven<'_> {
    let set = [vec![path(SET)], stage.gemini_set()].concat();
    Driven { stage, agent: "gemini", set, is_real: &is_alone, own: &["--skip-trust"] }
}

#[test]
fn launch_returns_a_session_that_is_there() {
    driven(&Stage::new()).launches();
}

#[test]
fn launch_of_two_in_one_directory_is_two() {
    driven(&Stage::new()).launches_two();
}

#[test]
fn launch_of_what_dies_at_once_leaves_nothing() {
    driven(&Stage::new()).fails("bogus");
}

#[test]
fn stop_while_the_model_is_silent() {
    driven(&Stage::new()).stops();
}

#[test]
fn resume_goes_on_with_what_stop_ended_in_a_tool() {
    driven(&Stage::new()).resumes();
}

#[test]
fn launch_with_leave_to_read_changes_nothing() {
    driven(&Stage::new()).reads();
}

fn killed(cell: Cell) {
    kills::real(&driven(&Stage::new()), cell);
}

#[test]
fn kills_of_the_callers_group_while_it_works() {
    kills::one("gemini", (Victim::Group, Step::Work, Signal::TERM), killed);
}

#[test]
#[ignore = "`cargo xtask prove --full` runs it"]
fn kills_of_everybody_at_every_step() {
    kills::all("gemini", killed);
}

#[test]
fn stop_at_the_end_of_its_budget() {
    driven(&Stage::new()).stops_over_budget();
}

#[test]
fn budget_holds_it_until_it_is_released() {
    driven(&Stage::new()).is_held_over_budget();
}
