//! Words about hooks and about what is configured.

use agentctl_core::receipt::HookName;
use clap::{
    Args, Subcommand,
    builder::{NonEmptyStringValueParser, PossibleValuesParser},
};
use std::path::PathBuf;

/// What is run for a session, and whom its launcher wants told.
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct Hooks {
    /// Run this by `sh -c` once the session is there; '' runs nothing, whatever is configured
    #[arg(long, value_name = "CMD", allow_hyphen_values = true)]
    pub(in crate::cli) on_create: Option<String>,
    /// Run this by `sh -c` once its agent has ended, at most once; '' runs nothing
    #[arg(long, value_name = "CMD", allow_hyphen_values = true)]
    pub(in crate::cli) on_complete: Option<String>,
    /// The session to tell of it: shown with it and given to hooks
    #[arg(long, value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) callback_session: Option<String>,
    /// The agent to tell of it: shown with it and given to hooks
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) callback_agent: Option<String>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Hook {
    #[command(subcommand)]
    pub(in crate::cli) command: HookCommand,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum HookCommand {
    /// Run a hook that was not run, because who was to run it was killed
    Run(RunHook),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct RunHook {
    /// Id or a prefix of it, or ID@DIR
    #[arg(value_name = "ID")]
    pub(in crate::cli) id: String,
    /// Which hook
    #[arg(long, value_name = "NAME", default_value = "on-complete", value_parser = hook_names())]
    pub(in crate::cli) name: String,
    /// Again, though it was run before
    #[arg(long)]
    pub(in crate::cli) force: bool,
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Config {
    #[command(subcommand)]
    pub(in crate::cli) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ConfigCommand {
    /// Show what holds for launches
    Show(Show),
    /// Show which files are read
    Path(Where),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Show {
    /// Say where each was set: the layer, the file and the line, or the variable
    #[arg(long)]
    pub(in crate::cli) origin: bool,
    #[command(flatten)]
    pub(in crate::cli) at: Where,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Where {
    /// For launches in this directory
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) cwd: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

fn hook_names() -> PossibleValuesParser {
    PossibleValuesParser::new(HookName::ALL.iter().map(|name| name.name()))
}
