//! The sessions of a group, side by side.

use super::{
    Here,
    diff::{self, Extent},
    status::status,
};
use crate::error::{Error, Kind};
use agentctl_core::{
    agent::Depth,
    text::one_line,
    wire::{Compared, Comparison, SCHEMA, Session},
};
use jiff::Timestamp;

/// What became of each session of a group.
pub(crate) fn compare(here: &Here, group: &str) -> Result<Comparison, Error> {
    let ids = ids(here, group);
    if ids.is_empty() {
        return Err(Error::new(
            Kind::NoSession,
            format!("no session of group {}", one_line(group)),
        )
        .hint("`agentctl list -a` shows sessions; groups are known for 7 days after they end"));
    }
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    for id in ids {
        match status(here, &id, Depth::Whole) {
            Ok(found) => {
                problems.extend(found.problems);
                rows.push(row(here, found.session));
            }
            Err(why) if why.kind == Kind::NoSession => {} // it was killed before it wrote anything
            Err(why) => return Err(why),
        }
    }
    problems.sort();
    problems.dedup();
    rows.sort_by_key(|row| row.session.started_at);
    Ok(Comparison { schema: SCHEMA, group: group.to_owned(), rows, problems })
}

/// The sessions that were launched in a group.
pub(super) fn ids(here: &Here, group: &str) -> Vec<String> {
    let launches = here.host().launches().iter();
    let own = launches.filter(|launch| launch.group.as_deref() == Some(group));
    let mut ids: Vec<String> = own.filter_map(|launch| launch.session.clone()).collect();
    ids.sort();
    ids.dedup();
    ids
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
