//! `agentctl stop ID…`

use super::{args::Stop, run::Outcome};
use crate::{
    error::{Error, Kind},
    ops::{
        self, Here,
        stop::{Manner, Open, name_of},
    },
    view,
};
use agentctl_core::wire::{Certificate, SCHEMA, Stops, Unstopped};

/// Stops sessions; one that cannot be stopped does not keep the others alive.
pub(super) fn run(here: &Here, args: &Stop) -> Outcome {
    let manner = Manner { grace: args.grace, force: args.force };
    let mut stops =
        Stops { schema: SCHEMA, stopped: Vec::new(), refused: Vec::new(), problems: Vec::new() };
    let mut code = 0;
    let mut add = |name: String, done: Result<Certificate, Error>| match done {
        Ok(certificate) => {
            let survived = certificate.deaths.iter().any(|death| death.survived.is_some());
            if survived || certificate.session.live && !certificate.deaths.is_empty() {
                code = code.max(Kind::Problems.code());
            }
            stops.stopped.push(certificate);
        }
        Err(why) => {
            if !args.json {
                view::report(&why, false);
            }
            if stops.refused.is_empty() {
                code = why.kind.code();
            }
            stops.refused.push(Unstopped { name, message: why.message, hint: why.hint });
        }
    };
    match args.ids.as_slice() {
        [] => {
            let Open { alive, doubtful, problems } = ops::stop::open(here, &args.group);
            // The end of the first may show how the others are.
            for session in alive.into_iter().chain(doubtful) {
                add(name_of(&session), ops::stop::stop_one(here, session, manner));
            }
            stops.problems = problems;
            if stops.stopped.is_empty() && stops.refused.is_empty() && !args.json {
                view::note("nothing that is alive was meant");
            }
        }
        [name] => {
            // As every command on one session: an error is the answer.
            add(name.clone(), Ok(ops::stop::stop(here, name, manner)?));
        }
        names => {
            names.iter().for_each(|name| add(name.clone(), ops::stop::stop(here, name, manner)));
        }
    }
    match args.json {
        true => view::json(&stops)?,
        false => {
            view::launch::certificates(&stops.stopped)?;
            view::problems(&stops.problems);
        }
    }
    if code == 0 && !stops.problems.is_empty() {
        code = Kind::Problems.code();
    }
    Ok(code)
}
