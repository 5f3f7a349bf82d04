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
// The daemon, which is being built beside it, calls the rest.
mod metrics;
#[cfg_attr(not(test), expect(dead_code, unused_imports))]
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
