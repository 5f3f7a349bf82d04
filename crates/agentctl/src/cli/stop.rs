//! `agentctl stop ID…`

use super::{args::Stop, run::Outcome};
use crate::{
    error::{Error, Kind},
    ops::{self, Here, stop::Manner},
    view,
};

/// Stops sessions; one that cannot be stopped does not keep the others alive.
pub(super) fn run(here: &Here, args: &Stop) -> Outcome {
    let names = match args.all || !args.group.is_empty() {
        true => ops::stop::live(here, &args.group),
        false => args.ids.clone(),
    };
    let manner = Manner { grace: args.grace, force: args.force };
    let mut code = 0;
    let mut stopped = Vec::new();
    let mut first: Option<Error> = None;
    for name in &names {
        match ops::stop::stop(here, name, manner) {
            Ok(certificate) => {
                let survived = certificate.deaths.iter().any(|death| death.survived.is_some());
                if survived || certificate.session.live && !certificate.deaths.is_empty() {
                    code = Kind::Problems.code();
                }
                stopped.push(certificate);
            }
            Err(why) if names.len() == 1 => return Err(why),
            Err(why) => {
                view::report(&why, false); // the output is one JSON value
                first.get_or_insert(why);
            }
        }
    }
    match args.json {
        true => view::json(&stopped)?,
        false => view::launch::certificates(&stopped)?,
    }
    Ok(first.map_or(code, |why| why.kind.code()))
}
