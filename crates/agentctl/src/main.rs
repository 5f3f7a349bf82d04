//! `agentctl`: the truth about every coding agent on this machine, with proof.

mod amounts;
mod bounded;
mod branch;
mod cli;
mod config;
mod daemon;
mod error;
mod git;
mod host;
mod intents;
mod metrics;
mod notify;
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
