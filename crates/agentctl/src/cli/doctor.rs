//! `agentctl doctor`

use super::{args::Doctor, run::Outcome};
use crate::{
    config,
    error::Kind,
    ops::{self, Here},
    view,
};

/// Says what is there and what cannot be read.
pub(super) fn run(here: &Here, args: &Doctor) -> Outcome {
    let mut found = ops::doctor::doctor(here);
    found.problems.extend(super::config::noted(&config::look(None).config.notes));
    match args.json {
        true => view::json(&found)?,
        false => view::doctor::report(&found)?,
    }
    let well = found.agents.iter().all(|agent| agent.problems.is_empty());
    Ok(if well && found.problems.is_empty() { 0 } else { Kind::Problems.code() })
}
