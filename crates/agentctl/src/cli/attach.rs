//! `agentctl attach ID`

use super::run::Outcome;
use crate::{
    bounded::bare,
    error::{Error, Kind},
    ops::{self, Here},
    view,
};
use clap::Args;
use std::{
    io::{self, IsTerminal},
    os::unix::process::CommandExt,
    process::Command,
};

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
    let ops::attach::Way { attach, secrets } = ops::attach::attach(here, &args.id)?;
    if args.json {
        view::json(&attach)?;
        return Ok(0);
    }
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    if args.print || !is_terminal {
        view::control::command(&attach)?;
        return Ok(0);
    }
    let [program, words @ ..] = attach.argv.as_slice() else { return Ok(0) };
    let mut command = Command::new(program);
    let why = bare(&mut command).args(words).envs(secrets).exec(); // returns only if it fails
    Err(Error::new(Kind::Io, format!("cannot run {program}: {why}")))
}
