//! `agentctl completions SHELL`

use super::{
    args::{Cli, Completions},
    run::Outcome,
};
use crate::view;
use clap::CommandFactory;

/// Prints the completions of a shell.
pub(super) fn run(args: &Completions) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "agentctl", &mut script);
    view::raw(&script)?;
    Ok(0)
}
