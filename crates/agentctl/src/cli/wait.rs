//! `agentctl wait ID…`

use super::{
    args::{For, Wait},
    run::Outcome,
};
use crate::{
    error::Kind,
    ops::{self, Here, wait::Until},
    view,
};
use agentctl_core::wire::{Session, StateName};

/// Waits for sessions.
pub(super) fn run(here: &Here, args: Wait) -> Outcome {
    let until = match args.until {
        For::Ended => Until::Ended,
        For::Idle => Until::Idle,
        For::Waiting => Until::Waiting,
    };
    let ask = ops::wait::Ask { names: args.ids, until, any: args.any, timeout: args.timeout };
    let mut waited = ops::wait::wait(here, &ask)?;
    let good = |session: &Session| until.is_met(session) && is_good(session);
    let all = match args.any {
        true => waited.each().any(good),
        false => waited.each().all(good),
    };
    // Of a good end nobody is to be told where its exit code may have been another.
    let unwitnessed = ops::wait::unwitnessed(here, waited.each());
    let is_known = unwitnessed.is_empty();
    waited.problems.extend(unwitnessed);
    match args.json {
        true => view::json(&waited)?,
        false => {
            view::launch::waited(waited.each())?;
            view::problems(&waited.problems);
        }
    }
    Ok(match (all, is_known) {
        (false, _) => Kind::No.code(),
        (true, false) => Kind::Problems.code(),
        (true, true) => 0,
    })
}

/// It did not fail.
pub(super) fn is_good(session: &Session) -> bool {
    match session.state {
        StateName::Failed | StateName::Died | StateName::Stopped => false,
        StateName::Working
        | StateName::Waiting
        | StateName::Idle
        | StateName::Done
        | StateName::Unknown => true,
    }
}
