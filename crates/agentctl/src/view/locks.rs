//! Locked directories, as people read them.

use super::{paint::Paint, words};
use agentctl_core::{
    text::one_line,
    wire::{Lock, LockKind, Locks},
};
use jiff::Timestamp;
use std::io::{self, BufWriter, Write};
use unicode_width::UnicodeWidthStr;

/// One line for each lock; nothing at all where there are none.
pub(crate) fn table(found: &Locks, now: Timestamp) -> io::Result<()> {
    let rows: Vec<[String; 4]> = found.locks.iter().map(|lock| row(lock, now)).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let paint = Paint::stdout();
    let mut out = BufWriter::new(io::stdout().lock());
    let heads = ["DIRECTORY", "LOCKED BY", "SINCE", "REASON"].map(str::to_owned);
    let width = |at: usize| {
        rows.iter().chain([&heads]).map(|row| row[at].width()).max().unwrap_or_default()
    };
    let widths = [width(0), width(1), width(2), 0];
    writeln!(out, "{}", paint.faint(line(&heads, &widths).trim_end()))?;
    for row in &rows {
        writeln!(out, "{}", line(row, &widths).trim_end())?;
    }
    out.flush()
}

/// What was locked or unlocked.
pub(crate) fn done(locks: &[Lock], what: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for lock in locks {
        writeln!(out, "{what} {}", words::directory(Some(&lock.directory)))?;
    }
    Ok(())
}

fn row(lock: &Lock, now: Timestamp) -> [String; 4] {
    let pid = || lock.pid.map_or_else(|| "a process".to_owned(), |pid| format!("pid:{pid}"));
    let holder = match lock.kind {
        LockKind::Session => {
            let agent = lock.agent.as_deref().unwrap_or("agent");
            format!("{agent} {}", one_line(&lock.session_id.clone().unwrap_or_else(pid)))
        }
        LockKind::Manual => one_line(lock.by.as_deref().unwrap_or("a person")),
    };
    let reason = one_line(lock.reason.as_deref().unwrap_or_default());
    let dir = words::directory(Some(&lock.directory));
    [dir, holder, words::age(Some(lock.since), now), reason]
}

fn line(cells: &[String; 4], widths: &[usize; 4]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        line.push_str(cell);
        line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width()) + 2));
    }
    line
}
