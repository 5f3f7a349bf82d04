//! Words of the commands that set fuses.

use super::duration;
use clap::{Args, Subcommand, ValueEnum, builder::NonEmptyStringValueParser};
use std::time::Duration;

#[derive(Debug, Args)]
pub(in crate::cli) struct Fuse {
    #[command(subcommand)]
    pub(in crate::cli) command: FuseCommand,
}

impl Fuse {
    /// Whoever asked is a program.
    pub(in crate::cli) fn wants_json(&self) -> bool {
        match &self.command {
            FuseCommand::Set(args) => args.json,
            FuseCommand::Extend(args) => args.json,
            FuseCommand::Cancel(args) => args.json,
            FuseCommand::List(args) => args.json,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum FuseCommand {
    /// Set a fuse on a directory or a session
    Set(FuseSet),
    /// Put a fuse off: it fires so long from now
    Extend(FuseExtend),
    /// Take a fuse away
    Cancel(FuseName),
    /// Show the fuses that are set
    List(FuseList),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct FuseSet {
    /// A directory, or the id of a session
    #[arg(value_name = "DIR|ID")]
    pub(in crate::cli) target: String,
    /// When it fires: 90s, 10m, 2h from now
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration)]
    pub(in crate::cli) ttl: Duration,
    /// What is done then; each firing is an event, too
    #[arg(long, value_enum, default_value_t = OnExpire::Event, value_name = "ACTION")]
    pub(in crate::cli) on_expire: OnExpire,
    /// What --on-expire script runs by `sh -c`
    #[arg(long, value_name = "CMD", allow_hyphen_values = true, value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) script: Option<String>,
    /// How long the script may take; 5m without it
    #[arg(long, value_name = "DURATION", requires = "script", allow_hyphen_values = true, value_parser = duration)]
    pub(in crate::cli) script_timeout: Option<Duration>,
    /// Label shown in `fuse list`
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) label: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum OnExpire {
    /// Only record an event
    Event,
    /// Every webhook is told
    Webhook,
    /// The session is stopped, or all that work in the directory
    Stop,
    /// The command of --script is run
    Script,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct FuseExtend {
    /// The fuse, or what it is set on
    #[arg(value_name = "FUSE|DIR|ID")]
    pub(in crate::cli) name: String,
    /// When it fires: 90s, 10m, 2h from now
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration)]
    pub(in crate::cli) ttl: Duration,
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct FuseName {
    /// The fuse, or what it is set on
    #[arg(value_name = "FUSE|DIR|ID")]
    pub(in crate::cli) name: String,
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct FuseList {
    /// Those too that fired or were cancelled, of the last 7 days
    #[arg(short, long)]
    pub(in crate::cli) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}
