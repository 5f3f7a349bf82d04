//! One session of one agent by its whole id: no prefix, and nobody else's.

use super::{
    Here, observe,
    status::status,
    stop::{name_of, refuse},
};
use crate::error::{Error, Kind};
use agentctl_core::{
    agent::Depth,
    observe::{Candidate, Survey},
    text::one_line,
    wire::{Problem, Session},
};
use std::path::PathBuf;

/// The session as it is now; `None` where its agent knows it no more. Whoever acts on what was written down
/// earlier looks it up so: a name that fits several sessions later would be another's.
pub(super) fn exact(here: &Here, agent: &str, id: &str) -> Result<Option<Session>, Error> {
    find(here, (agent, id), None)
}

/// Ids may be unique only per directory: the one of this record is meant, else the one that lives.
fn find(
    here: &Here,
    (agent, id): (&str, &str),
    record: Option<PathBuf>,
) -> Result<Option<Session>, Error> {
    let own = id.to_owned();
    let chosen = observe::chosen(&[agent.to_owned()]);
    let answers = observe::each(here, observe::BRISK, &chosen, move |agent, host, env| {
        let mut survey = Survey::of(agent, host, env, &own);
        let of = |one: &&Candidate| one.id.as_ref() == Some(&own);
        let same = |one: &Candidate| {
            record.is_some() && one.stub.as_ref().map(|stub| &stub.path) == record.as_ref()
        };
        let own = survey.candidates.iter().filter(of);
        let candidate = own.max_by_key(|one| (same(one), one.is_held()));
        let session = candidate.map(|candidate| survey.session(candidate, Depth::Glance).0);
        (session, observe::problems(&mut survey, Vec::new()))
    });
    let (mut found, mut problems) = (None, answers.late);
    for (session, troubles) in answers.found {
        found = found.or(session);
        problems.extend(troubles);
    }
    match (&found, problems.first()) {
        (None, Some(problem)) => {
            let what = format!("nobody can say how {} is: {}", one_line(id), said(problem));
            Err(Error::new(Kind::Unreadable, what)
                .hint("run `agentctl doctor` to see what cannot be read"))
        }
        (Some(_), _) | (None, None) => Ok(found),
    }
}

/// The same session again, as it is now.
pub(super) fn again(here: &Here, session: &Session) -> Result<Session, Error> {
    match &session.id {
        Some(id) => {
            let now = find(here, (&session.agent, id), session.source.clone())?;
            now.ok_or_else(|| {
                let what = format!("no session {}", one_line(id));
                Error::new(Kind::NoSession, what).hint("run `agentctl list` to see those that are")
            })
        }
        None => {
            let now = status(here, &name_of(session), Depth::Glance)?.session;
            match now.process == session.process {
                true => Ok(now),
                false => Err(refuse(session, "another process has its pid now")),
            }
        }
    }
}

/// A problem in a line.
pub(super) fn said(problem: &Problem) -> String {
    let path = problem.path.as_ref().map(|path| format!("{}: ", path.display()));
    one_line(&format!("{}: {}{}", problem.agent, path.unwrap_or_default(), problem.message))
}
