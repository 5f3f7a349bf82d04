//! This machine as one whole: files, processes, clock and name.

#[cfg(target_os = "linux")]
use super::Proc;
use super::{Disk, Portable};
use agentctl_core::{
    host::{Bytes, Entry, Env, Files, Host, Kernel, OpenFile, Stat, Table, Told},
    ident::ProcKey,
};
use jiff::Timestamp;
use std::{
    io,
    path::{Path, PathBuf},
};

/// The best reader of processes for this operating system.
#[cfg(target_os = "linux")]
pub(crate) type Native = Proc;
/// The best reader of processes for this operating system.
#[cfg(not(target_os = "linux"))]
pub(crate) type Native = Portable;

/// The machine for one command: its process table is read once and then stands.
#[derive(Debug)]
pub(crate) struct Machine<K> {
    files: Disk,
    kernel: K,
    name: String,
}

impl Machine<Native> {
    /// With all that this operating system can tell.
    pub(crate) fn native() -> Self {
        Self::with(Native::new())
    }
}

impl Machine<Portable> {
    /// With what can be told alike on every operating system.
    pub(crate) fn portable() -> Self {
        Self::with(Portable::new())
    }
}

impl<K> Machine<K> {
    fn with(kernel: K) -> Self {
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self { files: Disk, kernel, name }
    }
}

impl<K: Kernel + Sync> Host for Machine<K> {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn machine(&self) -> &str {
        &self.name
    }
}

impl<K> Files for Machine<K> {
    fn entries(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        self.files.entries(dir)
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.files.stat(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Bytes>> {
        self.files.open(path)
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        self.files.resolve(path)
    }
}

impl<K: Kernel> Kernel for Machine<K> {
    fn table(&self) -> Told<&Table> {
        self.kernel.table()
    }

    fn exe(&self, of: &ProcKey) -> Told<PathBuf> {
        self.kernel.exe(of)
    }

    fn argv(&self, of: &ProcKey) -> Told<Vec<String>> {
        self.kernel.argv(of)
    }

    fn cwd(&self, of: &ProcKey) -> Told<PathBuf> {
        self.kernel.cwd(of)
    }

    fn env(&self, of: &ProcKey, names: &[&str]) -> Told<Env> {
        self.kernel.env(of, names)
    }

    fn is_mine(&self, of: &ProcKey) -> Told<bool> {
        self.kernel.is_mine(of)
    }

    fn open_files(&self, of: &ProcKey) -> Told<Vec<OpenFile>> {
        self.kernel.open_files(of)
    }

    fn began(&self, pid: u32, ticks: u64) -> Told<Option<ProcKey>> {
        self.kernel.began(pid, ticks)
    }

    fn is_over(&self, of: &ProcKey) -> bool {
        self.kernel.is_over(of)
    }

    fn lockers(&self, path: &Path) -> Told<Vec<u32>> {
        self.kernel.lockers(path)
    }
}
