//! `agentctl approve ID` and `agentctl deny ID`

use super::{args::One, run::Outcome};
use crate::{
    ops::{self, Here},
    view,
};
use agentctl_core::wire::Decided;

/// Answers what a session waits for; exit code 1 where it still waits.
pub(super) fn run(here: &Here, args: &One, decided: Decided) -> Outcome {
    let decision = ops::decide::decide(here, &args.id, decided)?;
    match args.json {
        true => view::json(&decision)?,
        false => view::control::decision(&decision)?,
    }
    Ok(u8::from(!decision.goes_on))
}
