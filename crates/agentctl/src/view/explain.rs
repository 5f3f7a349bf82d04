//! Why a session is in the state it is in: each fact with its source, its rule, and a way to check it.

use super::{paint::Paint, words};
use agentctl_core::{
    proof::{Fact, Source},
    text::one_line,
    wire::Session,
};
use jiff::Timestamp;
use std::{
    io::{self, BufWriter, Write},
    path::Path,
};

/// Prints the proof.
pub(crate) fn session(session: &Session, now: Timestamp) -> io::Result<()> {
    let paint = Paint::stdout();
    let mut out = BufWriter::new(io::stdout().lock());
    let name = match (&session.id, session.pid) {
        (Some(id), _) => one_line(id),
        (None, Some(pid)) => format!("pid:{pid}"),
        (None, None) => "-".to_owned(),
    };
    let state = paint.state(session.state, &words::state(session));
    writeln!(out, "{} {}: {state}", session.agent, paint.name(&name))?;
    if let Some(why) = &session.reason {
        writeln!(out, "  {}", one_line(why))?;
    }
    for hook in &session.hooks {
        writeln!(out, "  {}", super::hooks::line(session, hook))?;
    }
    for (at, because) in session.because.iter().enumerate() {
        writeln!(out)?;
        fact(&mut out, paint, at + 1, because, now)?;
    }
    out.flush()
}

fn fact(
    out: &mut impl Write,
    paint: Paint,
    number: usize,
    because: &Fact,
    now: Timestamp,
) -> io::Result<()> {
    let when = because
        .at
        .map(|at| format!(" ({}, {})", words::moment(at), words::ago(at, now)))
        .unwrap_or_default();
    writeln!(out, "{number}. {}{}", paint.bold(&one_line(&because.fact)), paint.faint(&when))?;
    writeln!(out, "   {} {}", paint.faint("source"), source(&because.source))?;
    writeln!(out, "   {} {}", paint.faint("rule  "), because.rule.text())?;
    if let Some(check) = because.source.check() {
        writeln!(out, "   {} {}", paint.faint("check "), one_line(&check))?;
    }
    Ok(())
}

fn source(source: &Source) -> String {
    let path = |path: &Path| one_line(&path.to_string_lossy());
    match source {
        Source::Line { path: file, offset, .. } => format!("{} at byte {offset}", path(file)),
        Source::File { path: file, shows } => format!("{} says {}", path(file), one_line(shows)),
        Source::Halted { process } => format!("kernel: pid {} is halted", process.pid),
        Source::Alive { process } => {
            format!("kernel: pid {} start {} boot {}", process.pid, process.start, process.boot)
        }
        Source::Gone { process } => {
            format!("kernel: no pid {} with start {}", process.pid, process.start)
        }
        Source::Lock { path: file, pid } => {
            format!("kernel: pid {pid} holds a lock on {}", path(file))
        }
        Source::NoLock { path: file } => format!("kernel: no lock on {}", path(file)),
        Source::OpenFile { path: file, pid } => {
            format!("kernel: pid {pid} has {} open", path(file))
        }
        Source::Absence { .. } => {
            "the agent's own records and the kernel, read completely".to_owned()
        }
        Source::Launch { launch, pid } => format!("kernel: pid {pid} carries our launch {launch}"),
        Source::Variable { variable, pid } => {
            format!("kernel: pid {pid} carries {}", one_line(variable))
        }
        Source::NoVariable { variable, pid } => {
            format!("kernel: no process below pid {pid} carries {}", one_line(variable))
        }
        Source::Arguments { shows, pid } => {
            format!("kernel: the arguments of pid {pid} name {}", one_line(shows))
        }
        Source::Inference { process } => {
            format!("inferred: pid {} start {} alone fits", process.pid, process.start)
        }
        Source::Answer { url, shows } => format!("{} says {}", one_line(url), one_line(shows)),
        Source::Row { path: file, query, .. } => format!("{}: {}", path(file), one_line(query)),
        Source::Unreadable { path: file } => path(file),
        Source::Blind => "this host".to_owned(),
    }
}
