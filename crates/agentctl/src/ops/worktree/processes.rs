//! Processes that use a directory.

use super::{Here, proofs::proof};
use agentctl_core::{
    host::{Host, Process, Table, Use},
    text::one_line,
    wire::{Check, CleanProof, Verdict},
};
use rustix::process::geteuid;
use std::{fmt, fs, io::ErrorKind, os::unix::fs::MetadataExt, path::Path};

/// Users of this number and above are people; below are services of the machine.
const PEOPLE: u32 = if cfg!(target_os = "macos") { 501 } else { 1000 };
/// And this one is nobody.
const NOBODY: u32 = 65534;
const ROOT: u32 = 0;

/// That no process is in a directory; else who is, or who may be.
pub(super) fn no_process(here: &Here, dir: &Path) -> CleanProof {
    if fs::symlink_metadata(dir).is_err_and(|why| why.kind() == ErrorKind::NotFound) {
        let fact = "nobody can work in what is gone already";
        return proof(Check::Processes, Verdict::Safe, fact, Vec::new());
    }
    let seen = inside(here, dir);
    if let Some(why) = seen.blind {
        return proof(Check::Processes, Verdict::Lost, "processes cannot be seen", vec![why]);
    }
    if !seen.users.is_empty() {
        let users = seen.users.iter().map(ToString::to_string).collect();
        return proof(Check::Processes, Verdict::Never, "processes are in it", users);
    }
    if !seen.untold.is_empty() {
        let fact = "some processes cannot be looked into, and may be in it";
        return proof(Check::Processes, Verdict::Lost, fact, seen.untold);
    }
    let mut fact = "no process works in it or has a file of it open".to_owned();
    if seen.no_files {
        fact = "no process works in it; open files are not shown on this machine".to_owned();
    }
    if seen.passed > 0 {
        let count = seen.passed;
        let who = "services and processes of other users";
        fact.push_str(&format!(" ({count} {who} could not be asked)"));
    }
    proof(Check::Processes, Verdict::Safe, &fact, Vec::new())
}

/// A process that uses a directory.
struct User {
    pid: u32,
    comm: String,
    how: Use,
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (how, path) = match &self.how {
            Use::Works(path) => ("works in", path),
            Use::Rooted(path) => ("has its root in", path),
            Use::Runs(path) => ("runs", path),
            Use::Opened(path) => ("has open", path),
            Use::Mapped(path) => ("has in its memory", path),
        };
        let path = one_line(&path.to_string_lossy());
        write!(f, "pid {} ({}) {how} {path}", self.pid, one_line(&self.comm))
    }
}

/// Who uses a directory, and who cannot be asked.
#[derive(Default)]
struct Seen {
    users: Vec<User>,
    /// Processes that may be there, and cannot be looked into.
    untold: Vec<String>,
    /// How many cannot be looked into, and are services of the machine or of people who cannot write here.
    passed: usize,
    /// The table of processes itself cannot be read.
    blind: Option<String>,
    /// This machine does not show which files are open.
    no_files: bool,
}

/// Looks at every process but ourselves.
fn inside(here: &Here, dir: &Path) -> Seen {
    let host = here.host();
    let table = match host.table() {
        Ok(table) => table,
        Err(why) => return Seen { blind: Some(why.to_string()), ..Seen::default() },
    };
    let dir = host.resolve(dir);
    let open = may_be_written(&dir);
    let own = std::process::id();
    let mut seen = Seen::default();
    for process in table.processes.iter().filter(|one| !one.zombie) {
        let key = table.key(process);
        if process.pid == own {
            seen.no_files = host.open_files(&key).is_err();
            continue;
        }
        match host.uses(&key, &dir) {
            Ok(None) => {}
            Ok(Some(how)) => {
                let comm = process.comm.clone();
                seen.users.push(User { pid: process.pid, comm, how });
            }
            Err(_) if host.is_over(&key) => {}
            Err(why) if may_come(host, table, process, open) => {
                seen.untold.push(format!("{}: {}", name(process), why.0));
            }
            Err(_) => seen.passed += 1,
        }
    }
    seen
}

fn name(process: &Process) -> String {
    format!("pid {} ({})", process.pid, one_line(&process.comm))
}

/// A process that cannot be asked may have work there: it is ours, of a person who can write there, or
/// one of root's that one of these has begun on a terminal, such as an editor under `sudo`. The first
/// process of a machine or container looks after the others, and can often not be asked.
fn may_come(host: &dyn Host, table: &Table, process: &Process, open: bool) -> bool {
    let key = table.key(process);
    let ours = geteuid().as_raw();
    let comes = |owner: u32| owner == ours || open && owner >= PEOPLE && owner != NOBODY;
    match host.owner(&key) {
        _ if key.pid == 1 => false,
        // Without a terminal it is mostly a part of the desktop that hides its memory (`ssh-agent`).
        Ok(ROOT) if ours != ROOT => {
            let on_terminal = host.terminal(&key).is_ok_and(|terminal| terminal.is_some());
            on_terminal
                && above(table, process).any(|one| host.owner(&table.key(one)).is_ok_and(comes))
        }
        Ok(owner) => comes(owner),
        Err(_) => open,
    }
}

/// The processes that began it, the nearest first.
fn above<'a>(table: &'a Table, process: &'a Process) -> impl Iterator<Item = &'a Process> {
    // A table that was read while processes came and went may go in circles.
    const DEPTH: usize = 256;
    std::iter::successors(Some(process), |below| table.process(below.parent)).skip(1).take(DEPTH)
}

/// Others than its owner may write in a directory, and enter all above it.
fn may_be_written(dir: &Path) -> bool {
    let enters = |dir: &Path| fs::metadata(dir).map_or(true, |stat| stat.mode() & 0o011 != 0);
    let writes = fs::metadata(dir).map_or(true, |stat| {
        // A group of the same number is mostly the owner's alone.
        stat.mode() & 0o002 != 0 || stat.mode() & 0o020 != 0 && stat.gid() != stat.uid()
    });
    writes && dir.ancestors().all(enters)
}
