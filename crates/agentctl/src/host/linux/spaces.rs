//! What a pid and a start mean that were written down in another namespace of pids or of time.

use agentctl_core::{
    host::{CannotTell, Process, Table, Told},
    ident::ProcKey,
};
use rustix::process::getpid;
use std::{fs, sync::OnceLock};

/// The first namespace of pids, which sees all others. The kernel gives it this number.
const FIRST: &str = "pid:[4026531836]";

/// Whether ours is another one: no process changes its own.
static NESTED: OnceLock<bool> = OnceLock::new();

/// Pids in `/proc` are those by which signals are sent. After a namespace was made and `/proc` was not mounted anew, they
/// are of another one.
pub(in crate::host) fn is_ours() -> Told<()> {
    let own = getpid().as_raw_nonzero().to_string();
    match fs::read_link("/proc/self") {
        Ok(shown) if *shown == *own => Ok(()),
        Ok(_) => Err(CannotTell("/proc shows the pids of another namespace".to_owned())),
        Err(why) => Err(CannotTell(format!("/proc/self: {why}"))),
    }
}

/// Whoever has this pid in a namespace below ours, as in a container, and began then.
pub(super) fn below(table: &Table, pid: u32, start: u64) -> Told<Option<ProcKey>> {
    let begun = table.processes.iter().filter(|one| one.start == start && !one.zombie);
    let mut same = begun.filter(|one| one.pid != pid && own_pid(one.pid) == Some(pid));
    match (same.next(), same.next()) {
        (Some(_), Some(_)) => Err(CannotTell(format!("two containers have a pid {pid} of then"))),
        (only, _) => Ok(only.map(|process| table.key(process))),
    }
}

/// The pid by which a process knows itself.
fn own_pid(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let pids = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    pids.split_whitespace().next_back()?.parse().ok()
}

/// Why a pid that nobody here has may be that of a process which cannot be seen from here.
pub(super) fn beyond(table: &Table, pid: u32, start: u64) -> Option<String> {
    let is_nested = || fs::read_link("/proc/self/ns/pid").is_ok_and(|own| *own != *FIRST);
    let nested = *NESTED.get_or_init(is_nested);
    let elder = |first: &Process| start < first.start;
    let older = table.process(1).is_some_and(elder);
    let unseen = nested && (older || last_pid().is_some_and(|last| !is_given(table, last, pid)));
    unseen.then(|| format!("pid {pid} as it was written down is none of this container's"))
}

/// Whether a pid may have been given here, where this is the last one. They begin anew once they are used up: whoever has a higher
/// one shows that it was given before.
fn is_given(table: &Table, last: u32, pid: u32) -> bool {
    table.processes.iter().map(|process| process.pid).fold(last, u32::max) >= pid
}

/// Why the start that somebody wrote down of themselves need not be the one that we are told of them: starts are told by the
/// clock of whoever asks.
pub(super) fn other_clock(pid: u32) -> Option<String> {
    let clock = |whose: &str| fs::read_link(format!("/proc/{whose}/ns/time")).ok();
    let (its, own) = (clock(&pid.to_string())?, clock("self")?);
    (its != own).then(|| format!("pid {pid} keeps another time than we do"))
}

/// The pid that was given last in our namespace.
fn last_pid() -> Option<u32> {
    fs::read_to_string("/proc/sys/kernel/ns_last_pid").ok()?.trim_end().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    #[test]
    fn a_pid_below_one_that_somebody_has_was_given() {
        let process = |pid| Process {
            pid,
            parent: 1,
            start: 1,
            comm: String::new(),
            zombie: false,
            halted: false,
            forked: false,
        };
        let (taken, booted) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH);
        let processes = [1, 7, 900].map(process).to_vec();
        let table = Table { taken, boot: String::new(), booted, ticks: 100, processes };
        let is_given = |last, pid| is_given(&table, last, pid);
        assert!(is_given(7, 7) && is_given(7, 899), "pids have begun anew");
        assert!(is_given(1000, 950) && !is_given(1000, 1001) && !is_given(7, 901));
    }
}
