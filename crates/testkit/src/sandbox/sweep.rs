//! Ends everything that carries a mark, and everything below what was started.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::program::{Shared, locked};
use super::{MARK, wait};

/// How long a killed process may take to go.
const LIMIT: Duration = Duration::from_secs(10);

/// Kills until nobody is left; returns who is left nevertheless.
pub(super) fn end(mark: &str, started: &[Arc<Shared>]) -> Vec<u32> {
    let mark = format!("{MARK}={mark}");
    let roots: BTreeSet<u32> = started.iter().map(|shared| shared.pid).collect();
    let mut below = descendants(&roots);
    for shared in started {
        let mut child = locked(&shared.child);
        // Both fail only if it has ended and was waited for.
        let _ = child.kill();
        let _ = child.wait();
    }
    let start = Instant::now();
    loop {
        below.retain(is_alive);
        let left: Vec<u32> = pids()
            .into_iter()
            .filter(|pid| kill(*pid, |pid| carries(pid, &mark)))
            .chain(below.iter().map(|(pid, _)| *pid))
            .collect();
        for process in &below {
            kill(process.0, |_| is_alive(process));
        }
        if left.is_empty() || start.elapsed() > LIMIT {
            return left;
        }
        wait::glance();
    }
}

/// Kills the process of this pid if it is meant. It is gripped first and looked at then: a later
/// process of the same pid cannot be hit.
fn kill(pid: u32, is_meant: impl Fn(u32) -> bool) -> bool {
    let Some(raw) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    let Ok(grip) = pidfd_open(raw, PidfdFlags::empty()) else { return false };
    let meant = pid != std::process::id() && is_meant(pid);
    if meant {
        let _ = pidfd_send_signal(&grip, Signal::KILL); // it may have gone by itself
    }
    meant
}

/// A pid with its start in ticks, which together name one process of this boot.
type Named = (u32, String);

fn descendants(roots: &BTreeSet<u32>) -> Vec<Named> {
    let table: Vec<(u32, u32)> =
        pids().into_iter().filter_map(|pid| Some((pid, field(pid, 4)?.parse().ok()?))).collect();
    let mut found = roots.clone();
    loop {
        let known = found.len();
        let next: Vec<u32> =
            table.iter().filter(|(_, up)| found.contains(up)).map(|(pid, _)| *pid).collect();
        found.extend(next);
        if found.len() == known {
            let below = found.difference(roots);
            return below.filter_map(|pid| Some((*pid, field(*pid, 22)?))).collect();
        }
    }
}

fn is_alive((pid, start): &Named) -> bool {
    let gone = |state: &str| matches!(state, "Z" | "X");
    field(*pid, 22).as_ref() == Some(start) && !field(*pid, 3).is_none_or(|state| gone(&state))
}

/// A field of `/proc/<pid>/stat`, counted from 1; those behind the name, which may hold anything.
fn field(pid: u32, number: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(number.checked_sub(3)?).map(str::to_owned)
}

/// A zombie's environment is empty: it carries nothing.
fn carries(pid: u32, mark: &str) -> bool {
    let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environ.split(|byte| *byte == 0).any(|pair| pair == mark.as_bytes())
}

fn pids() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
