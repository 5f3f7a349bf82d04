//! What happens, as it happens.

use super::{
    Here,
    watch::{Batch, Watcher},
};
use crate::{
    error::{Error, Kind},
    patience::moment,
};
use agentctl_core::{
    agents,
    event::{Cursor, Filter},
};
use jiff::Timestamp;
use std::time::{Duration, Instant};

/// How long what contradicts itself is waited for before nothing more is told.
const SETTLED: Duration = Duration::from_secs(3);

/// What to tell.
pub(crate) struct Ask {
    /// From where on; `None` is from now.
    pub(crate) since: Option<Cursor>,
    /// Only what is known by now.
    pub(crate) once: bool,
    pub(crate) filter: Filter,
}

/// From where on, in words that are a cursor or a time.
pub(crate) fn since(text: &str, now: Timestamp) -> Result<Cursor, Error> {
    if Cursor::is_meant(text) {
        return Cursor::from_text(text).map_err(|why| {
            Error::new(Kind::Usage, format!("cannot go on from this cursor: {why}"))
                .hint("copy the whole `cursor` of an event, or use a time such as 10m")
        });
    }
    let at = moment(text, now).ok_or_else(|| {
        Error::new(Kind::Usage, format!("cannot read --since {text:?}"))
            .hint("use the `cursor` of an event, a duration such as 30m or 7d, or a date")
    })?;
    match at > now {
        true => Err(Error::new(Kind::Usage, format!("--since {text:?} is yet to come"))),
        false => Ok(Cursor::since(at)),
    }
}

/// Which events, in words.
pub(crate) fn filter(
    words: &[String],
    absolute: impl Fn(&std::path::Path) -> std::path::PathBuf,
) -> Result<Filter, Error> {
    let mut filter = Filter::default();
    for word in words {
        filter.add(word).map_err(|why| Error::new(Kind::Usage, format!("--filter: {why}")))?;
    }
    for agent in &mut filter.agents {
        let card = agents::named(agent).map(|agent| agent.card().name).ok_or_else(|| {
            let names: Vec<_> = agents::ALL.iter().map(|agent| agent.card().name).collect();
            Error::new(Kind::Usage, format!("--filter: no such agent: {agent:?}"))
                .hint(format!("one of {}", names.join(", ")))
        })?;
        card.clone_into(agent);
    }
    for dir in &mut filter.dirs {
        *dir = absolute(dir);
    }
    Ok(filter)
}

/// Tells what happens, until nobody listens any more.
pub(crate) fn events(
    here: &Here,
    ask: Ask,
    mut tell: impl FnMut(&Batch) -> Result<(), Error>,
) -> Result<(), Error> {
    let Ask { since, once, filter } = ask;
    let mut told = |mut batch: Batch| {
        batch.events.retain(|event| filter.keeps(event));
        tell(&batch)
    };
    let (mut watcher, batch) = Watcher::new(here, since);
    told(batch)?;
    let end = Instant::now() + SETTLED;
    while once && !watcher.is_settled() && Instant::now() < end {
        told(watcher.next(Some(end)))?;
    }
    if once {
        return told(Batch { events: vec![watcher.cursor().here()], ..Batch::default() });
    }
    loop {
        told(watcher.next(None))?;
    }
}
