//! Fuses, as people read them.

use super::{
    columns::{Table, screen},
    words,
};
use agentctl_core::{
    fuse::{Action, Target},
    text::one_line,
    wire::{Fuse, Fuses},
};
use jiff::Timestamp;
use std::io::{self, Write};

/// One line for each fuse; nothing at all where there are none.
pub(crate) fn table(found: &Fuses, now: Timestamp) -> io::Result<()> {
    if found.fuses.is_empty() {
        return Ok(());
    }
    let table = Table {
        heads: vec!["ID", "TARGET", "FIRES", "DOES", "LABEL"],
        rows: found.fuses.iter().map(|fuse| row(fuse, now).to_vec()).collect(),
        elastic: &["TARGET", "FIRES", "DOES", "LABEL"],
        spare: &["LABEL"],
    };
    table.print(screen(), |_, _, cell| cell)
}

/// What was set, put off or cancelled.
pub(crate) fn done(fuses: &[Fuse], what: &str, now: Timestamp) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for fuse in fuses {
        let [id, target, fires, does, _] = row(fuse, now);
        writeln!(out, "{id}  {what}: {does} {fires}, {target}")?;
    }
    Ok(())
}

/// One fuse in a line.
pub(super) fn told(fuse: &Fuse, now: Timestamp) -> String {
    let [id, target, fires, does, label] = row(fuse, now);
    format!("{id}  {does} {fires}, {target}  {label}").trim_end().to_owned()
}

fn row(fuse: &Fuse, now: Timestamp) -> [String; 5] {
    let target = match &fuse.target {
        Target::Directory(dir) => words::directory(Some(dir)),
        Target::Session { agent, id } => one_line(&format!("{agent} {id}")),
    };
    let fires = match &fuse.fired {
        None if fuse.cancelled_at.is_some() => {
            format!("cancelled {} ago", words::age(fuse.cancelled_at, now))
        }
        Some(fired) => {
            let why = fired.problem.as_ref().map(|why| format!(", but {}", one_line(why)));
            format!("fired {} ago{}", words::age(Some(fired.at), now), why.unwrap_or_default())
        }
        None if fuse.overdue => format!("overdue by {}", words::age(Some(fuse.deadline), now)),
        None => format!("in {}", words::age(Some(now), fuse.deadline)),
    };
    let does = match &fuse.action {
        Action::Script(command) => format!("script {}", one_line(command)),
        Action::Event | Action::Webhook | Action::Stop => fuse.action.name().to_owned(),
    };
    let label = one_line(fuse.label.as_deref().unwrap_or_default());
    [one_line(&fuse.id), target, fires, does, label]
}
