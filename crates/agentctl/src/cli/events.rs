//! `agentctl events`

use super::run::Outcome;
use crate::{
    ops::{self, Here, events::Ask},
    view::{self, events::Style},
};
use clap::Args;
use std::io::{self, Read};

/// No cursor is longer.
const LONGEST: u64 = 16 << 20;

/// Without --since it begins now, in silence; with it, what records and receipts still show is told
/// first, each thing once, behind a `gap` that says from when to when nobody watched. Every event
/// carries the `cursor` to go on from, and an `id` that is the same whoever tells it.
#[derive(Debug, Args)]
pub(super) struct Events {
    /// From here on: the `cursor` of an event, a duration such as 10m or 7d, or a date; - reads it from
    /// standard input, since a cursor may be longer than an argument can be
    #[arg(long, value_name = "CURSOR|TIME")]
    since: Option<String>,
    /// Only these: type=, agent=, state=, stalled=true, group= or cwd=, several apart by commas (may be repeated)
    #[arg(long, value_name = "NAME=VALUE")]
    filter: Vec<String>,
    /// Tell what happened until now, and where to go on from, and end
    #[arg(long)]
    once: bool,
    /// Print JSON Lines, as it does wherever it does not print to a terminal
    #[arg(long)]
    pub(super) json: bool,
}

/// Tells what happens.
pub(super) fn run(here: &Here, args: &Events) -> Outcome {
    let read = |text: &str| match text {
        "-" => {
            let mut text = String::new();
            io::stdin().lock().take(LONGEST).read_to_string(&mut text)?;
            ops::events::since(text.trim(), here.now())
        }
        text => ops::events::since(text, here.now()),
    };
    let ask = Ask {
        since: args.since.as_deref().map(read).transpose()?,
        once: args.once,
        filter: ops::events::filter(&args.filter, |dir| ops::absolute(here, dir))?,
    };
    let style = Style::new(args.json);
    ops::events::events(here, ask, |batch| {
        view::events::stream(&batch.events, style)?;
        view::problems(&batch.problems);
        Ok(())
    })?;
    Ok(0)
}
