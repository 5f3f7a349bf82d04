//! Ends a process and what it started, and tells what became of each.

use super::{Handle, Proc, Refused, Waited};
use agentctl_core::{
    host::{Kernel, Told},
    ident::ProcKey,
    launch::Signal,
};
use std::time::{Duration, Instant};

/// What became of one process.
#[derive(Clone, Debug)]
pub(crate) struct Death {
    /// Which process.
    pub(crate) key: ProcKey,
    /// What it was called.
    pub(crate) comm: String,
    /// What became of it.
    pub(crate) how: How,
}

/// What became of a process that was to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// It ended this long after this signal.
    By(Signal, Duration),
    /// It ended with those above it.
    Followed,
    /// It lives, and why.
    Survived(String),
}

struct Target {
    handle: Handle,
    key: ProcKey,
    comm: String,
}

/// Ends this process by these signals, each with so much grace, then all that it had started.
pub(crate) fn end(
    key: &ProcKey,
    signals: &[Signal],
    grace: Duration,
) -> Result<Vec<Death>, Refused> {
    let handle = Handle::open(key)?;
    let mut below = below(key).map_err(|why| Refused::Untold(why.0))?;
    let comm = comm(key);
    let mut deaths = vec![Death { key: key.clone(), comm, how: escalate(&handle, signals, grace) }];
    // What it started while it was being ended is its own too.
    for late in self::below(key).unwrap_or_default() {
        if !below.iter().any(|known| known.key == late.key) {
            below.push(late);
        }
    }
    deaths.extend(sweep(below, grace));
    Ok(deaths)
}

fn escalate(handle: &Handle, signals: &[Signal], grace: Duration) -> How {
    let mut why = "no signal ends it".to_owned();
    for signal in signals {
        let sent = Instant::now();
        match handle.signal(*signal) {
            Ok(()) => {}
            Err(Refused::Gone) => return How::By(*signal, sent.elapsed()),
            Err(refused) => {
                why = refused.to_string();
                continue;
            }
        }
        if handle.wait(Some(grace)).is_ok_and(|waited| waited == Waited::Ended) {
            return How::By(*signal, sent.elapsed());
        }
        why = format!("it outlived {}", signal.name());
    }
    How::Survived(why)
}

/// What the process had started, if it lives on: asked, then made to go.
fn sweep(below: Vec<Target>, grace: Duration) -> Vec<Death> {
    let lives = |target: &Target| target.handle.is_alive().unwrap_or(true);
    for target in below.iter().filter(|target| lives(target)) {
        let _ = target.handle.signal(Signal::Terminate);
    }
    let end = Instant::now() + grace;
    below
        .into_iter()
        .map(|target| {
            let how = match lives(&target) {
                false => How::Followed,
                true => {
                    let left = end.saturating_duration_since(Instant::now());
                    let asked = Instant::now();
                    match target.handle.wait(Some(left)) {
                        Ok(Waited::Ended) => How::By(Signal::Terminate, asked.elapsed()),
                        _ => escalate(&target.handle, &[Signal::Kill], grace),
                    }
                }
            };
            Death { key: target.key, comm: target.comm, how }
        })
        .collect()
}

/// All that descends from a process, each held by a pidfd.
fn below(key: &ProcKey) -> Told<Vec<Target>> {
    let proc = Proc::new();
    let table = proc.table()?;
    let processes = table.descendants(key.pid).into_iter().filter_map(|pid| table.process(pid));
    Ok(processes
        .filter(|process| !process.zombie)
        .filter_map(|process| {
            let key = table.key(process);
            let handle = Handle::open(&key).ok()?; // gone since
            Some(Target { handle, key, comm: process.comm.clone() })
        })
        .collect())
}

fn comm(key: &ProcKey) -> String {
    let proc = Proc::new();
    let name =
        proc.table().ok().and_then(|table| table.process(key.pid)).map(|one| one.comm.clone());
    name.unwrap_or_default()
}
