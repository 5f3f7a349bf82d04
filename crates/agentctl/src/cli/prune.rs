//! `agentctl prune`

use super::{args::Prune, run::Outcome};
use crate::{
    error::Kind,
    ops::{self, Here},
    view,
};

/// Removes what nobody needs, and says what.
pub(super) fn run(here: &Here, args: &Prune) -> Outcome {
    let pruned = match args.legacy {
        true => ops::prune::legacy(args.yes),
        false => ops::prune::prune(here, args.dry_run)?,
    };
    match args.json {
        true => view::json(&pruned)?,
        false => {
            view::problems(&pruned.problems);
            view::prune::report(&pruned, args.legacy)?;
        }
    }
    Ok(if pruned.problems.is_empty() { 0 } else { Kind::Problems.code() })
}
