//! Words of the commands that look after the daemon.

use crate::daemon;
use clap::{Args, Subcommand, ValueEnum};
use std::{net::SocketAddr, path::PathBuf};

#[derive(Debug, Args)]
pub(in crate::cli) struct Daemon {
    #[command(subcommand)]
    pub(in crate::cli) command: DaemonCommand,
}

impl Daemon {
    /// Whoever asked is a program.
    pub(in crate::cli) fn wants_json(&self) -> bool {
        match &self.command {
            DaemonCommand::Status(args) => args.json,
            DaemonCommand::Run(_)
            | DaemonCommand::Start(_)
            | DaemonCommand::Stop
            | DaemonCommand::Restart(_)
            | DaemonCommand::Install(_)
            | DaemonCommand::Uninstall(_) => false,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum DaemonCommand {
    /// Run it here, in the foreground; its lines go to standard error
    Run(DaemonRun),
    /// Start it in the background, and return once it answers
    Start(Figures),
    /// End it, and wait until it has ended
    Stop,
    /// Say whether it runs, and how it is; exits 1 if it does not
    Status(DaemonStatus),
    /// End it if it runs, and start it
    Restart(Figures),
    /// Have the system start it with your session: a user unit of systemd, or an agent of launchd
    Install(Unit),
    /// Remove what `install` wrote
    Uninstall(UnitFile),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct DaemonRun {
    /// Leave whoever started it, and write lines to this file
    #[arg(long, hide = true, value_name = "FILE")]
    pub(in crate::cli) detached: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) figures: Figures,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Figures {
    /// Serve figures for Prometheus at http://ADDRESS/metrics, such as 127.0.0.1:9464, instead of where
    /// `metrics.addr` says
    #[arg(long, value_name = "ADDRESS")]
    metrics_addr: Option<SocketAddr>,
    /// Allow addresses other machines can reach
    #[arg(long, requires = "metrics_addr")]
    metrics_remote: bool,
}

impl Figures {
    /// Where to serve them, if that was said.
    pub(in crate::cli) fn asked(&self) -> Option<daemon::Figures> {
        let address = self.metrics_addr?;
        Some(daemon::Figures { address, remote: self.metrics_remote })
    }
}

#[derive(Debug, Args)]
pub(in crate::cli) struct DaemonStatus {
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Unit {
    /// Only show the file
    #[arg(long)]
    pub(in crate::cli) print: bool,
    #[command(flatten)]
    pub(in crate::cli) file: UnitFile,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct UnitFile {
    /// Overwrite or remove a file that agentctl did not write
    #[arg(long)]
    pub(in crate::cli) force: bool,
    /// For whom, if not for the supervisor of this system
    #[arg(long, hide = true, value_enum)]
    pub(in crate::cli) supervisor: Option<Supervisor>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum Supervisor {
    /// Of Linux
    Systemd,
    /// Of macOS
    Launchd,
}
