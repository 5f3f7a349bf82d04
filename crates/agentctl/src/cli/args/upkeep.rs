//! Words of the commands that look after directories and after our own files.

use clap::{Args, builder::NonEmptyStringValueParser};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(in crate::cli) struct Locks {
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Lock {
    /// Which directory, with all below it; of a git worktree it is always the whole
    #[arg(value_name = "DIR")]
    pub(in crate::cli) dir: PathBuf,
    /// Who locks it; without it, your user name
    #[arg(long, value_name = "WHO", value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) by: Option<String>,
    /// Why
    #[arg(long, value_name = "WHY")]
    pub(in crate::cli) reason: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Unlock {
    /// Which directory
    #[arg(value_name = "DIR")]
    pub(in crate::cli) dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Prune {
    /// Show what would be removed, and remove nothing
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
    /// What agentctl 1.x left behind instead: shown, and removed with --yes
    #[arg(long)]
    pub(in crate::cli) legacy: bool,
    /// Really remove what --legacy shows
    #[arg(long, requires = "legacy", conflicts_with = "dry_run")]
    pub(in crate::cli) yes: bool,
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}
