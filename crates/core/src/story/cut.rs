//! A host on which one file is as short as it once was, and may begin later than it does.

use crate::{
    control::Unheard,
    host::{
        Bytes, Cell, Entry, Env, Files, Host, Kernel, OpenFile, Servers, Stat, Table, Tables, Talk,
        Told,
    },
    ident::ProcKey,
    receipt::{Launched, Stopped},
};
use jiff::Timestamp;
use std::{
    io,
    net::SocketAddr,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A host, but for this file.
pub(super) struct Cut<'a> {
    pub(super) host: &'a dyn Host,
    pub(super) path: &'a Path,
    /// The file: opened for each line of it, it would wake whoever watches it as often.
    pub(super) file: &'a Arc<dyn Bytes>,
    /// Where it begins and ends.
    pub(super) part: Range<u64>,
}

/// A part of a file.
struct Short(Arc<dyn Bytes>, Range<u64>);

impl Bytes for Short {
    fn size(&self) -> u64 {
        self.0.size().min(self.1.end).saturating_sub(self.1.start)
    }

    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        let at = at.saturating_add(self.1.start);
        let left = usize::try_from(self.1.end.saturating_sub(at)).unwrap_or(usize::MAX);
        let most = buf.len().min(left);
        self.0.read_at(&mut buf[..most], at)
    }
}

impl Files for Cut<'_> {
    fn entries(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        self.host.entries(dir)
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.host.stat(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Bytes>> {
        match path == self.path {
            true => Ok(Box::new(Short(Arc::clone(self.file), self.part.clone()))),
            false => self.host.open(path),
        }
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        self.host.resolve(path)
    }
}

impl Kernel for Cut<'_> {
    fn table(&self) -> Told<&Table> {
        self.host.table()
    }

    fn exe(&self, of: &ProcKey) -> Told<PathBuf> {
        self.host.exe(of)
    }

    fn argv(&self, of: &ProcKey) -> Told<Vec<String>> {
        self.host.argv(of)
    }

    fn cwd(&self, of: &ProcKey) -> Told<PathBuf> {
        self.host.cwd(of)
    }

    fn env(&self, of: &ProcKey, names: &[&str]) -> Told<Env> {
        self.host.env(of, names)
    }

    fn is_mine(&self, of: &ProcKey) -> Told<bool> {
        self.host.is_mine(of)
    }

    fn open_files(&self, of: &ProcKey) -> Told<Vec<OpenFile>> {
        self.host.open_files(of)
    }

    fn began(&self, pid: u32, ticks: u64) -> Told<Option<ProcKey>> {
        self.host.began(pid, ticks)
    }

    fn ports(&self, of: &ProcKey) -> Told<Vec<SocketAddr>> {
        self.host.ports(of)
    }

    fn noted(&self, of: &ProcKey) -> Option<Timestamp> {
        self.host.noted(of)
    }

    fn written(&self, of: &ProcKey) -> Option<u64> {
        self.host.written(of)
    }

    fn sees(&self, of: &ProcKey, path: &Path) -> Option<(u64, u64)> {
        self.host.sees(of, path)
    }

    fn is_over(&self, of: &ProcKey) -> bool {
        self.host.is_over(of)
    }

    fn terminal(&self, of: &ProcKey) -> Told<Option<PathBuf>> {
        self.host.terminal(of)
    }

    fn lockers(&self, path: &Path) -> Told<Vec<u32>> {
        self.host.lockers(path)
    }

    fn has_locked(&self, of: &ProcKey, path: &Path) -> Told<bool> {
        self.host.has_locked(of, path)
    }
}

impl Tables for Cut<'_> {
    fn rows(&self, db: &Path, sql: &str, args: &[Cell]) -> io::Result<Vec<Vec<Cell>>> {
        self.host.rows(db, sql, args)
    }
}

impl Servers for Cut<'_> {
    fn get(&self, url: &str, user: Option<(&str, &str)>) -> io::Result<Vec<u8>> {
        self.host.get(url, user)
    }

    fn dial(&self, url: &str) -> io::Result<Box<dyn Talk>> {
        self.host.dial(url)
    }

    fn post(&self, url: &str, user: Option<(&str, &str)>, body: &str) -> Result<(), Unheard> {
        self.host.post(url, user, body)
    }

    fn dial_file(&self, path: &Path, peer: &ProcKey) -> io::Result<Box<dyn Talk>> {
        self.host.dial_file(path, peer)
    }
}

impl Host for Cut<'_> {
    fn now(&self) -> Timestamp {
        self.host.now()
    }

    fn machine(&self) -> &str {
        self.host.machine()
    }

    fn launches(&self) -> &[Launched] {
        self.host.launches()
    }

    fn stops(&self) -> &[(PathBuf, Stopped)] {
        self.host.stops()
    }
}
