//! `agentctl send ID TEXT`

use super::{launch::text_of, run::Outcome};
use crate::{
    ops::{self, Here},
    view,
};
use agentctl_core::wire::Delivered;
use clap::Args;
use std::{path::PathBuf, time::Duration};

#[derive(Debug, Args)]
pub(super) struct Send {
    /// Id or a prefix of it, or ID@DIR
    #[arg(value_name = "ID")]
    id: String,
    /// The message; without it and --file, it is read from standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    /// Read the message from a file
    #[arg(short = 'f', long, value_name = "FILE", conflicts_with = "text")]
    file: Option<PathBuf>,
    /// How long to wait until the agent's own store shows it: 500ms, 10s
    #[arg(long, value_name = "DURATION", default_value = "10s", allow_hyphen_values = true, value_parser = super::args::duration)]
    timeout: Duration,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Sends a message; the exit code says whether it is known to have come.
pub(super) fn run(here: &Here, args: Send) -> Outcome {
    let way = "write the message behind the id, use -f FILE, or pipe it in";
    let text = text_of(args.text, args.file.as_deref(), ("message", way))?;
    let delivery = ops::send::send(here, &args.id, &text, args.timeout)?;
    match args.json {
        true => view::json(&delivery)?,
        false => view::control::delivery(&delivery)?,
    }
    Ok(match delivery.delivery {
        Delivered::Delivered => 0,
        Delivered::Unconfirmed => 1,
    })
}
