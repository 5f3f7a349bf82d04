//! `agentctl explain ID`

use super::{args::One, run::Outcome};
use crate::{
    error::Kind,
    ops::{self, Here},
    view,
};
use agentctl_core::agent::Depth;

/// Proves the state of one session.
pub(super) fn run(here: &Here, args: &One) -> Outcome {
    let found = ops::status::status(here, &args.id, Depth::Glance)?;
    match args.json {
        true => view::json(&found)?,
        false => {
            view::explain::session(&found.session, here.now())?;
            view::problems(&found.problems);
        }
    }
    Ok(if found.problems.is_empty() { 0 } else { Kind::Problems.code() })
}
