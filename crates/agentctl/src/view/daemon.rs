//! The daemon, as people read of it.

use super::{notes::note, words};
use agentctl_core::{text::one_line, wire::Daemon};
use jiff::Timestamp;
use std::{
    io::{self, Write},
    path::Path,
};

/// How it is.
pub(crate) fn status(daemon: &Daemon, now: Timestamp) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if !daemon.running {
        return writeln!(out, "not running; `agentctl daemon start` starts it");
    }
    let pid = daemon.pid.map(|pid| format!(" as process {pid}")).unwrap_or_default();
    let since = daemon.since.map(|at| format!(", since {}", words::age(Some(at), now)));
    writeln!(out, "running{pid}{}", since.unwrap_or_default())?;
    let mut row = |name: &str, value: Option<String>| match value {
        Some(value) => writeln!(out, "  {name:<8} {value}"),
        None => Ok(()),
    };
    row("version", daemon.version.as_deref().map(one_line))?;
    row("socket", daemon.socket.as_deref().map(path))?;
    row("log", daemon.log.as_deref().map(path))?;
    for store in &daemon.watches {
        row("watches", Some(path(store)))?;
    }
    Ok(())
}

/// It runs now.
pub(crate) fn started(daemon: &Daemon, already: bool) -> io::Result<()> {
    let how = if already { "is running already" } else { "runs" };
    let pid = daemon.pid.map(|pid| format!(", as process {pid}")).unwrap_or_default();
    writeln!(io::stdout(), "the daemon {how}{pid}")
}

/// It has ended.
pub(crate) fn ended(pid: u32) -> io::Result<()> {
    writeln!(io::stdout(), "the daemon (process {pid}) has ended")
}

/// A file was written or removed, and what comes next.
pub(crate) fn installed(file: Option<&Path>, what: &str, next: Option<&str>) -> io::Result<()> {
    let Some(file) = file else {
        note("nothing is installed");
        return Ok(());
    };
    writeln!(io::stdout(), "{} {what}", path(file))?;
    match next {
        Some(next) => writeln!(io::stdout(), "next: {next}"),
        None => Ok(()),
    }
}

fn path(path: &Path) -> String {
    words::directory(Some(path))
}
