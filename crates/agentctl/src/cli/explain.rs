//! `agentctl explain ID`

use super::{args::One, run::Outcome, status::show};
use crate::{ops::Here, view};
use agentctl_core::agent::Depth;

/// Proves the state of one session.
pub(super) fn run(here: &Here, args: &One) -> Outcome {
    show(here, args, Depth::Glance, view::explain::session)
}
