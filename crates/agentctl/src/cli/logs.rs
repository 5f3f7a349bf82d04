//! `agentctl logs ID` and `agentctl peek ID`

use super::{
    args::{Logs, Peek},
    run::Outcome,
};
use crate::{
    ops::{self, Here, logs::Follow},
    view::{self, logs::Style},
};

/// Shows the last messages.
pub(super) fn peek(here: &Here, args: &Peek) -> Outcome {
    show(here, &args.one.id, args.lines, Style { json: args.one.json, full: args.full })?;
    Ok(0)
}

/// Shows messages, and follows them.
pub(super) fn run(here: &Here, args: &Logs) -> Outcome {
    let style = Style { json: args.one.json, full: args.full };
    if !args.follow {
        show(here, &args.one.id, args.lines, style)?;
        return Ok(0);
    }
    let (mut follow, begin) = Follow::new(here, &args.one.id, args.lines)?;
    view::logs::stream(&begin, style)?;
    while let Some(messages) = follow.next()? {
        view::logs::stream(&messages, style)?;
    }
    Ok(0)
}

fn show(here: &Here, id: &str, count: usize, style: Style) -> Result<(), crate::error::Error> {
    let found = ops::logs::last(here, id, count)?;
    match style.json {
        true => view::json(&found)?,
        false => view::logs::stream(&found.messages, style)?,
    }
    Ok(())
}
