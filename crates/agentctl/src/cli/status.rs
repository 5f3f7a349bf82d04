//! `agentctl status ID`

use super::{args::One, run::Outcome};
use crate::{
    error::Kind,
    ops::{self, Here},
    view,
};
use agentctl_core::{agent::Depth, wire::Session};
use jiff::Timestamp;
use std::io;

/// Shows one session.
pub(super) fn run(here: &Here, args: &One) -> Outcome {
    show(here, args, Depth::Whole, view::status::session)
}

/// Finds one session, and shows it as JSON or on this page.
pub(super) fn show(
    here: &Here,
    args: &One,
    depth: Depth,
    page: fn(&Session, Timestamp) -> io::Result<()>,
) -> Outcome {
    let found = ops::status::shown(here, &args.id, depth)?;
    match args.json {
        true => view::json(&found)?,
        false => {
            page(&found.session, here.now())?;
            view::problems(&found.problems);
        }
    }
    Ok(if found.problems.is_empty() { 0 } else { Kind::Problems.code() })
}
