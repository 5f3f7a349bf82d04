//! Who runs agents of a state directory: one process at a time, by the file it locks.

use crate::{
    agent::Trail,
    agents::json,
    host::{self, Host},
    ident::ProcKey,
};
use jiff::Timestamp;
use std::path::{Path, PathBuf};

const NAME: &str = "gateway.state.lock";
const LIMIT: usize = 64 << 10;

/// What the process wrote down. 2026.9.6 leaves it behind after SIGKILL.
#[derive(Debug)]
pub(super) struct Lock {
    pid: u32,
    start: u64,
    /// When it was written.
    pub(super) created: Timestamp,
    port: Option<u16>,
    role: Option<String>,
    /// The configuration in use.
    pub(super) config: PathBuf,
}

/// Locks of a state directory: one for each user who ran a gateway there.
pub(super) fn all(host: &dyn Host, store: &Path) -> Vec<Lock> {
    let tmp = store.join("tmp");
    let dirs = host.entries(&tmp).unwrap_or_default().into_iter();
    let dirs = dirs.filter(|dir| dir.name.starts_with("openclaw-"));
    dirs.filter_map(|dir| read(host, store, &tmp.join(dir.name).join(NAME))).collect()
}

fn read(host: &dyn Host, store: &Path, path: &Path) -> Option<Lock> {
    let lock = json::object(&host::slurp(host, path, LIMIT).ok()?);
    Some(Lock {
        pid: u32::try_from(lock.get("pid")?.as_u64()?).ok()?,
        start: lock.get("startTime")?.as_u64()?,
        created: json::time(&lock, "createdAt")?,
        port: lock.get("port").and_then(|port| u16::try_from(port.as_u64()?).ok()),
        role: json::string(&lock, "role"),
        config: json::path(&lock, "configPath").unwrap_or_else(|| store.join("openclaw.json")),
    })
}

impl Lock {
    /// The process.
    pub(super) fn trail(&self) -> Trail {
        Trail::Process { pid: self.pid, start: self.start, written: self.created }
    }

    /// The port of the gateway, if that is this very process.
    pub(super) fn gateway(&self, host: &dyn Host, process: &ProcKey) -> Option<u16> {
        let gateway = self.role.as_deref().is_none_or(|role| role == "gateway");
        let same = host.began(self.pid, self.start).is_ok_and(|key| key.as_ref() == Some(process));
        self.port.filter(|_| gateway && same)
    }

    /// A command that runs an agent by itself, without a gateway (`openclaw agent --local`).
    pub(super) fn is_embedded(&self) -> bool {
        self.role.as_deref() == Some("agent-embedded")
    }
}
