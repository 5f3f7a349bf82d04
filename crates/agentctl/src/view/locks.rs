//! Locked directories, as people read them.

use super::{
    columns::{Table, screen},
    words,
};
use agentctl_core::{
    text::one_line,
    wire::{Lock, LockKind, Locks},
};
use jiff::Timestamp;
use std::io::{self, Write};

/// One line for each lock; nothing at all where there are none.
pub(crate) fn table(found: &Locks, now: Timestamp) -> io::Result<()> {
    if found.locks.is_empty() {
        return Ok(());
    }
    let table = Table {
        heads: vec!["DIRECTORY", "LOCKED BY", "SINCE", "REASON"],
        rows: found.locks.iter().map(|lock| row(lock, now).to_vec()).collect(),
        elastic: &["DIRECTORY", "LOCKED BY", "REASON"],
        spare: &[],
    };
    table.print(screen(), |_, _, cell| cell)
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
