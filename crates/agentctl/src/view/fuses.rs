//! Fuses, as people read them.

use super::{paint::Paint, words};
use agentctl_core::{
    fuse::{Action, Target},
    text::one_line,
    wire::{Fuse, Fuses},
};
use jiff::Timestamp;
use std::io::{self, BufWriter, Write};
use unicode_width::UnicodeWidthStr;

/// One line for each fuse; nothing at all where there are none.
pub(crate) fn table(found: &Fuses, now: Timestamp) -> io::Result<()> {
    let rows: Vec<[String; 5]> = found.fuses.iter().map(|fuse| row(fuse, now)).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let paint = Paint::stdout();
    let mut out = BufWriter::new(io::stdout().lock());
    let heads = ["ID", "TARGET", "FIRES", "DOES", "LABEL"].map(str::to_owned);
    let width = |at: usize| {
        rows.iter().chain([&heads]).map(|row| row[at].width()).max().unwrap_or_default()
    };
    let widths = [width(0), width(1), width(2), width(3), 0];
    writeln!(out, "{}", paint.faint(line(&heads, &widths).trim_end()))?;
    for row in &rows {
        writeln!(out, "{}", line(row, &widths).trim_end())?;
    }
    out.flush()
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

fn line(cells: &[String; 5], widths: &[usize; 5]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        line.push_str(cell);
        line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width()) + 2));
    }
    line
}
