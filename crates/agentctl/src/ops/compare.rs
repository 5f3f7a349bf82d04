//! The sessions of a group, side by side.

use super::{
    Here,
    diff::{self, Extent},
    exact::said,
    observe,
};
use crate::error::{Error, Kind};
use agentctl_core::{
    agent::Depth,
    agents,
    observe::{Candidate, Survey},
    receipt::Launched,
    text::one_line,
    wire::{Compared, Comparison, OneSession, Problem, SCHEMA, Session},
};
use jiff::Timestamp;

/// What became of each session of a group.
pub(crate) fn compare(here: &Here, group: &str) -> Result<Comparison, Error> {
    let ids = ids(here, group);
    if ids.is_empty() {
        return Err(nobody(group, observe::lost(here.host().lost())));
    }
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    for one in ids {
        match member(here, &one, Depth::Whole) {
            Ok(found) => {
                problems.extend(found.problems);
                rows.push(row(here, found.session));
            }
            Err(why) if why.kind == Kind::NoSession => {} // it was killed before it wrote anything
            Err(why) => {
                let message = format!("{} is not shown: {}", one_line(&one.1), why.message);
                problems.push(Problem { agent: one.0, path: None, message });
            }
        }
    }
    problems.extend(observe::lost(here.host().lost()));
    problems.sort();
    problems.dedup();
    rows.sort_by_key(|row| row.session.started_at);
    Ok(Comparison { schema: SCHEMA, group: group.to_owned(), rows, problems })
}

/// Who is in a group is written in receipts alone: what is lost may have told.
fn nobody(group: &str, lost: impl Iterator<Item = Problem>) -> Error {
    let lines: Vec<String> = lost.map(|problem| format!("  {}", said(&problem))).collect();
    let what = format!("no session of group {}", one_line(group));
    match lines.is_empty() {
        true => Error::new(Kind::NoSession, what)
            .hint("`agentctl list -a` shows sessions; groups are known for 7 days after they end"),
        false => {
            let lines = lines.join("\n");
            let what = format!("{what} in what could be read, and not all could:\n{lines}");
            Error::new(Kind::Unreadable, what).hint("`agentctl list -a` shows sessions")
        }
    }
}

/// The sessions that were launched in a group: each by its agent and its id.
pub(super) fn ids(here: &Here, group: &str) -> Vec<(String, String)> {
    let launches = here.host().launches().iter();
    let own = launches.filter(|launch| launch.group.as_deref() == Some(group));
    let named = |launch: &Launched| Some((launch.agent.clone(), launch.session.clone()?));
    let mut ids: Vec<(String, String)> = own.filter_map(named).collect();
    ids.sort();
    ids.dedup();
    ids
}

/// One of these. Another agent may have a session of the same id, which is not meant.
pub(super) fn member(
    here: &Here,
    (agent, id): &(String, String),
    depth: Depth,
) -> Result<OneSession, Error> {
    let none = || Error::new(Kind::NoSession, format!("no session {} of {agent}", one_line(id)));
    let agent = agents::named(agent).ok_or_else(none)?;
    let mut survey = Survey::of(agent, here.host(), &observe::environment(), id);
    let meant = |one: &&Candidate| one.id.as_ref() == Some(id);
    let chosen: Vec<&Candidate> = survey.candidates.iter().filter(meant).collect();
    let (mut found, unread) = observe::sessions(&survey, &chosen, depth);
    here.host().put_down();
    let problems = observe::problems(&mut survey, unread);
    match (found.pop(), found.is_empty(), problems.first()) {
        (Some(session), true, _) => Ok(OneSession { schema: SCHEMA, problems, session }),
        (Some(_), false, _) => {
            let what = format!("{} sessions of {} have the id", found.len() + 1, agent.card().name);
            Err(Error::new(Kind::Ambiguous, what))
        }
        (None, _, Some(problem)) => Err(Error::new(Kind::Unreadable, problem.message.clone())),
        (None, _, None) => Err(none()),
    }
}

fn row(here: &Here, session: Session) -> Compared {
    let (changes, unknown) = match diff::of(here.host(), &session, Extent::Counts) {
        Ok((changes, _)) => (Some(changes), None),
        Err(why) => (None, Some(why.message)),
    };
    let seconds = taken(&session, here.now());
    Compared { session, seconds, changes, unknown }
}

/// How long it took, or has taken so far.
fn taken(session: &Session, now: Timestamp) -> Option<i64> {
    let end = match session.live {
        true => Some(now),
        false => session.ended_at.or(session.updated_at),
    };
    let (begin, end) = session.started_at.zip(end)?;
    Some(end.duration_since(begin).as_secs().max(0))
}
