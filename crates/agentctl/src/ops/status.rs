//! The one session that is meant.

use super::{Here, observe};
use crate::error::{Error, Kind};
use agentctl_core::{
    agent::{Agent, Depth, Stub},
    agents,
    host::Host,
    observe::{Candidate, History, Survey},
    select::{Choice, Name, choose, shortest},
    text::one_line,
    wire::{OneSession, Problem, SCHEMA, Session},
};

/// Length of a full id of any agent known so far.
const FULL: usize = 36;

/// One session, read to this depth.
pub(crate) fn status(here: &Here, name: &str, depth: Depth) -> Result<OneSession, Error> {
    let Found { session, mut surveys, unread } = find(here.host(), name, depth)?;
    let mut problems = observe::problems(&mut surveys);
    problems.extend(unread.into_iter().filter(|problem| problem.path == session.source));
    Ok(OneSession { schema: SCHEMA, session, problems })
}

/// The agent and the transcript of a session.
pub(super) fn transcript(
    host: &dyn Host,
    name: &str,
) -> Result<(&'static dyn Agent, Session, Option<Stub>), Error> {
    let Found { session, surveys, unread } = find(host, name, Depth::Glance)?;
    let unread = unread.into_iter().find(|problem| problem.path == session.source);
    if let Some((problem, path)) = unread.zip(session.source.as_ref()) {
        return Err(Error::unread(path, &problem.message));
    }
    let agent = agents::named(&session.agent).expect("sessions come from known agents");
    let candidates = surveys.iter().flat_map(|survey| &survey.candidates);
    let mut stubs = candidates.filter_map(|candidate| candidate.stub.as_ref());
    let stub = stubs.find(|stub| Some(&stub.path) == session.source.as_ref()).cloned();
    Ok((agent, session, stub))
}

/// The session that is meant, and what was seen around it.
struct Found<'a> {
    session: Session,
    surveys: Vec<Survey<'a>>,
    unread: Vec<Problem>,
}

fn find<'a>(host: &'a dyn Host, text: &str, depth: Depth) -> Result<Found<'a>, Error> {
    let name = Name::parse(text).ok_or_else(|| {
        Error::new(Kind::Usage, format!("not a session id: {text:?}"))
            .hint("use an id or a prefix of it, ID@DIR, or pid:N")
    })?;
    let surveys = match &name {
        // An id of hexadecimal digits may be typed in any case, and is found by looking everywhere.
        Name::Id { prefix, dir: None }
            if prefix.len() >= FULL && *prefix == prefix.to_lowercase() =>
        {
            observe::surveys(host, agents::ALL, |agent, env| Survey::of(agent, host, env, prefix))
        }
        Name::Id { .. } => observe::all(host, agents::ALL, History::All),
        Name::Pid(_) => observe::all(host, agents::ALL, History::Skip),
    };
    let fits = |candidate: &Candidate| match &name {
        Name::Pid(pid) => candidate.is_held_by(*pid),
        Name::Id { .. } => candidate.id.as_deref().is_some_and(|id| name.fits(id)),
    };
    let candidates: Vec<(usize, &Candidate)> = surveys
        .iter()
        .enumerate()
        .flat_map(|(at, survey)| survey.candidates.iter().map(move |one| (at, one)))
        .filter(|(_, candidate)| fits(candidate))
        .collect();
    let (sessions, unread) = observe::sessions(&surveys, &candidates, depth);
    match choose(&name, sessions) {
        Choice::One(session) => Ok(Found { session: *session, surveys, unread }),
        Choice::Nothing => Err(Error::new(Kind::NoSession, format!("no session {text}"))
            .hint("run `agentctl list -a --since all` to see every session")),
        Choice::Several(several) => Err(ambiguous(text, &several)),
    }
}

fn ambiguous(text: &str, several: &[Session]) -> Error {
    const SHOWN: usize = 10;
    let ids: Vec<&str> = several.iter().filter_map(|session| session.id.as_deref()).collect();
    let lengths = shortest(&ids, |_| text.len() + 1);
    let mut lines: Vec<String> = several
        .iter()
        .zip(lengths)
        .take(SHOWN)
        .map(|(session, length)| {
            let id = session.id.as_deref().unwrap_or_default();
            let cwd = session.cwd.as_ref().map(|cwd| one_line(&cwd.to_string_lossy()));
            let cwd = cwd.unwrap_or_default();
            let id = id.get(..length).unwrap_or(id);
            format!("  {id}  {}  {}  {cwd}", session.agent, session.state.name())
        })
        .collect();
    if several.len() > SHOWN {
        lines.push(format!("  and {} more", several.len() - SHOWN));
    }
    let message = format!("{text} fits {} sessions:\n{}", several.len(), lines.join("\n"));
    Error::new(Kind::Ambiguous, message).hint("use more characters of the id, or ID@DIR")
}
