//! Processes that use a directory.

use super::Here;
use agentctl_core::{
    host::{Host, Process, Use},
    ident::ProcKey,
    text::one_line,
};
use rustix::process::geteuid;
use std::{fmt, fs, os::unix::fs::MetadataExt, path::Path};

/// Users of this number and above are people; below are services of the machine.
const PEOPLE: u32 = 1000;
/// And this one is nobody.
const NOBODY: u32 = 65534;

/// A process that uses a directory.
pub(super) struct User {
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
pub(super) struct Seen {
    pub(super) users: Vec<User>,
    /// Processes that may be there, and cannot be looked into.
    pub(super) untold: Vec<String>,
    /// How many services of the machine, and processes of people who cannot write here, were not asked.
    pub(super) passed: usize,
    /// The table of processes itself cannot be read.
    pub(super) blind: Option<String>,
    /// This machine does not show which files are open.
    pub(super) no_files: bool,
}

/// Looks at every process but ourselves.
pub(super) fn inside(here: &Here, dir: &Path) -> Seen {
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
            Err(why) if may_come(host, &key, open) => {
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

/// A process that cannot be asked may have work there: it is ours, or of a person who can write there. The
/// first process of a machine or container looks after the others, and can often not be asked.
fn may_come(host: &dyn Host, key: &ProcKey, open: bool) -> bool {
    match host.owner(key) {
        _ if key.pid == 1 => false,
        Ok(owner) if owner == geteuid().as_raw() => true,
        Ok(owner) => open && (PEOPLE..NOBODY).contains(&owner),
        Err(_) => open,
    }
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
