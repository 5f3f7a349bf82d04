//! `agentctl daemon run|start|stop|status|restart|install|uninstall`

use super::{
    args::{Daemon, DaemonCommand, Supervisor, Unit, UnitFile},
    run::Outcome,
};
use crate::{
    daemon::{self, Ended, Installed, Manner, Started},
    error::Kind,
    ops::Here,
    view,
};

/// Looks after the daemon.
pub(super) fn run(here: &Here, portable: bool, args: Daemon) -> Outcome {
    match args.command {
        DaemonCommand::Run(args) => {
            let figures = args.figures.asked();
            daemon::run(Manner { portable, detached: args.detached, figures })?;
            Ok(0)
        }
        DaemonCommand::Start(args) => {
            let done = daemon::start(portable, args.asked())?;
            if done.already && args.asked().is_some() {
                view::warning(
                    "--metrics-addr does nothing here; `agentctl daemon restart` takes it",
                );
            }
            started(&done)
        }
        DaemonCommand::Restart(args) => started(&daemon::restart(portable, args.asked())?),
        DaemonCommand::Stop => match daemon::stop()? {
            Ended::Process(pid) => {
                view::daemon::ended(pid)?;
                Ok(0)
            }
            Ended::Nobody => {
                view::note("the daemon is not running");
                Ok(0)
            }
        },
        DaemonCommand::Status(args) => status(here, args.json),
        DaemonCommand::Install(args) => install(&args),
        DaemonCommand::Uninstall(args) => uninstall(&args),
    }
}

fn started(started: &Started) -> Outcome {
    view::daemon::started(&started.daemon, started.already)?;
    view::problems(&started.daemon.problems);
    Ok(0)
}

fn status(here: &Here, json: bool) -> Outcome {
    let found = daemon::status()?;
    match json {
        true => view::json(&found)?,
        false => {
            view::daemon::status(&found, here.now())?;
            view::problems(&found.problems);
        }
    }
    Ok(match (found.running, found.problems.is_empty()) {
        (false, _) => Kind::No.code(),
        (true, true) => 0,
        (true, false) => Kind::Problems.code(),
    })
}

fn supervisor(unit: &UnitFile) -> daemon::Supervisor {
    match unit.supervisor {
        Some(Supervisor::Systemd) => daemon::Supervisor::Systemd,
        Some(Supervisor::Launchd) => daemon::Supervisor::Launchd,
        None => daemon::Supervisor::usual(),
    }
}

fn install(unit: &Unit) -> Outcome {
    if let Some(left) = daemon::left_out() {
        view::warning(&left);
    }
    if unit.print {
        view::raw(daemon::text(supervisor(&unit.file))?.as_bytes())?;
        return Ok(0);
    }
    told(&daemon::install(supervisor(&unit.file), unit.file.force)?, "written")
}

fn uninstall(unit: &UnitFile) -> Outcome {
    told(&daemon::uninstall(supervisor(unit), unit.force)?, "removed")
}

fn told(done: &Installed, what: &str) -> Outcome {
    if let Some(note) = &done.note {
        view::warning(note);
    }
    view::daemon::installed(done.path.as_deref(), what, done.next.as_deref())?;
    Ok(0)
}
