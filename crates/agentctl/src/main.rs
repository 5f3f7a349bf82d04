//! `agentctl`: the truth about every coding agent on this machine, with proof.

mod cli;
mod error;
mod host;
mod intents;
mod ops;
mod patience;
mod places;
mod read;
mod shim;
mod view;
mod write;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
