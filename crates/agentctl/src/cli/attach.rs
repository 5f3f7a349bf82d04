//! `agentctl attach ID`

use super::run::Outcome;
use crate::{
    error::{Error, Kind},
    ops::{self, Here},
    view,
};
use clap::Args;
use std::{os::unix::process::CommandExt, process::Command};

#[derive(Debug, Args)]
pub(super) struct Attach {
    /// Id or a prefix of it, ID@DIR, or pid:N
    #[arg(value_name = "ID")]
    id: String,
    /// Show the command instead of running it
    #[arg(long)]
    print: bool,
    /// Print JSON, and run nothing
    #[arg(long)]
    pub(super) json: bool,
}

/// Becomes the command that leads there.
pub(super) fn run(here: &Here, args: &Attach) -> Outcome {
    let attach = ops::attach::attach(here, &args.id)?;
    if args.json {
        view::json(&attach)?;
        return Ok(0);
    }
    if args.print {
        view::control::command(&attach)?;
        return Ok(0);
    }
    let [program, words @ ..] = attach.argv.as_slice() else { return Ok(0) };
    let why = Command::new(program).args(words).exec(); // returns only if it fails
    Err(Error::new(Kind::Io, format!("cannot run {program}: {why}")))
}
