//! `agentctl doctor`

use super::{args::Doctor, run::Outcome};
use crate::{
    error::Kind,
    ops::{self, Here},
    view,
};

/// Says what is there and what cannot be read.
pub(super) fn run(here: &Here, args: &Doctor) -> Outcome {
    let found = ops::doctor::doctor(here);
    match args.json {
        true => view::json(&found)?,
        false => view::doctor::report(&found)?,
    }
    Ok(if found.agents.iter().all(|agent| agent.problems.is_empty()) {
        0
    } else {
        Kind::Problems.code()
    })
}
