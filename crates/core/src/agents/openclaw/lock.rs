//! Who runs agents of a state directory: one process at a time, by the file it locks.

use crate::{
    agent::{Trail, Trouble},
    agents::json,
    host::{self, Host},
    ident::ProcKey,
};
use jiff::Timestamp;
use std::{
    io,
    path::{Path, PathBuf},
};

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

/// Locks of a state directory: one for each user who ran a gateway there. What cannot be read is told beside them.
pub(super) fn all(host: &dyn Host, store: &Path) -> (Vec<Lock>, Vec<Trouble>) {
    let tmp = store.join("tmp");
    let (mut locks, mut problems) = (Vec::new(), Vec::new());
    let mut trouble = |path: PathBuf, why: &io::Error| {
        if why.kind() != io::ErrorKind::NotFound {
            problems.push(Trouble { path, why: why.to_string() });
        }
    };
    let dirs = host.entries(&tmp).inspect_err(|why| trouble(tmp.clone(), why)).unwrap_or_default();
    for dir in dirs.into_iter().filter(|dir| dir.name.starts_with("openclaw-")) {
        let path = tmp.join(dir.name).join(NAME);
        let read = host::slurp(host, &path, LIMIT);
        let read = read.and_then(|bytes| {
            parse(&bytes, store).ok_or_else(|| io::Error::other("it is no lock of a gateway"))
        });
        match read {
            Ok(lock) => locks.push(lock),
            Err(why) => trouble(path, &why),
        }
    }
    (locks, problems)
}

fn parse(bytes: &[u8], store: &Path) -> Option<Lock> {
    let lock = json::object(bytes);
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
