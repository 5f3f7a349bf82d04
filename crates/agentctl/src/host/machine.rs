//! This machine as one whole: files, processes, clock and name.

#[cfg(target_os = "linux")]
use super::Proc;
use super::{
    Disk, Portable, Receipts,
    databases::Databases,
    files::{Since, stat_in},
    folder,
    kept::{Kept, Names},
    servers::{Loopback, Patience},
};
use crate::places;
use agentctl_core::{
    control::Unheard,
    evidence::Record,
    host::{
        Before, Bytes, Cell, Counting, Entry, Env, Files, Host, Inside, Kernel, Looked, OpenFile,
        Opening, Original, Servers, Showing, Shown, Spent, Stat, Table, Tables, Talk, Told, Use,
    },
    ident::ProcKey,
    lines::Flow,
    receipt::{Launched, Stopped},
};
use jiff::Timestamp;
use rustix::fd::AsFd;
use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, PoisonError},
};

/// The best reader of processes for this operating system.
#[cfg(target_os = "linux")]
pub(crate) type Native = Proc;
/// The best reader of processes for this operating system.
#[cfg(not(target_os = "linux"))]
pub(crate) type Native = Portable;

/// The kernel follows no longer path.
const LONGEST: usize = 4096;

/// The machine for one command: its process table is read once and then stands.
#[derive(Debug)]
pub(crate) struct Machine<K> {
    files: Disk,
    databases: Databases,
    servers: Loopback,
    kernel: K,
    name: String,
    receipts: OnceLock<Receipts>,
    kept: Kept,
    /// Where paths lead: all of one command go by the same stores and directories. By bytes, for paths are compared part by part,
    /// which takes longer.
    resolved: Mutex<BTreeMap<OsString, PathBuf>>,
}

impl Machine<Native> {
    /// With all that this operating system can tell.
    pub(crate) fn native(patience: Patience) -> Self {
        Self::with(Native::new(), patience)
    }
}

impl Machine<Portable> {
    /// With what can be told alike on every operating system.
    pub(crate) fn portable(patience: Patience) -> Self {
        Self::with(Portable::new(), patience)
    }
}

impl<K> Machine<K> {
    /// `patience` is how long servers and databases may keep us waiting.
    fn with(kernel: K, patience: Patience) -> Self {
        let servers = Loopback { patience };
        let databases = Databases::new(patience.left());
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let (receipts, kept, resolved) = (OnceLock::new(), Kept::new(), Mutex::default());
        Self { files: Disk, databases, servers, kernel, name, receipts, kept, resolved }
    }
}

impl<K> Machine<K> {
    fn led(&self, path: &Path) -> Option<PathBuf> {
        self.resolved.lock().unwrap_or_else(PoisonError::into_inner).get(path.as_os_str()).cloned()
    }

    fn lead(&self, path: &Path, to: &Path) {
        let mut resolved = self.resolved.lock().unwrap_or_else(PoisonError::into_inner);
        resolved.insert(path.into(), to.to_owned());
    }

    /// Where a path leads, from whatever is known of the way to it: all of a home have most of that in common, and each name
    /// is asked about once. None where a link is on the way, or nothing.
    fn stepwise(&self, path: &Path) -> Option<PathBuf> {
        if !path.is_absolute() || path.as_os_str().len() > LONGEST {
            return None;
        }
        let ways: Vec<&Path> = path.ancestors().collect();
        let known = ways.iter().enumerate().find_map(|(at, way)| Some((at, self.led(way)?)));
        let (at, mut place) = known.unwrap_or((ways.len().checked_sub(1)?, PathBuf::from("/")));
        for way in ways[..at].iter().rev() {
            place.push(way.file_name()?);
            if !self.files.is_plain(&place) {
                return None;
            }
            self.lead(way, &place);
        }
        Some(place)
    }
}

impl<K: Kernel> Machine<K> {
    fn receipts(&self) -> &Receipts {
        self.receipts.get_or_init(|| {
            let read = |state: PathBuf| Receipts::read(&state, Timestamp::now(), &self.kernel);
            places::state().map(read).unwrap_or_default()
        })
    }
}

impl<K: Kernel + Sync> Host for Machine<K> {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn machine(&self) -> &str {
        &self.name
    }

    fn launches(&self) -> &[Launched] {
        &self.receipts().launches
    }

    fn stops(&self) -> &[(PathBuf, Stopped)] {
        &self.receipts().stops
    }

    fn lost(&self) -> &[(PathBuf, String)] {
        &self.receipts().lost
    }

    fn recall(&self, original: &Original<'_>) -> Option<Record> {
        self.kept.recall(original)
    }

    fn keep(&self, original: &Original<'_>, record: &Record) {
        self.kept.keep(original, record);
    }

    fn counted(&self, counting: &Counting<'_>) -> Option<Before> {
        self.kept.counted(counting)
    }

    fn keep_count(&self, counting: &Counting<'_>, count: &[u8]) {
        self.kept.keep_count(counting, count);
    }

    fn knows_none(&self, looked: Looked<'_>) -> bool {
        self.kept.knows_none(looked)
    }

    fn keep_none(&self, looked: Looked<'_>) {
        self.kept.keep_none(looked);
    }

    fn put_down(&self) {
        self.kept.put_down();
    }

    fn inside_recalled(
        &self,
        dir: &Path,
        is_asked: &dyn Fn(&str) -> bool,
        since: Timestamp,
    ) -> io::Result<Vec<Inside>> {
        let opened = folder::open(dir)?;
        let (stat, mut sought) = (stat_in(opened.as_fd())?, Since::new(is_asked, since));
        if let Some(names) = self.kept.names(dir, &stat) {
            names.each(&mut |name, kind| sought.see(opened.as_fd(), name, kind))?;
            return Ok(sought.found);
        }
        let mut names = Names::default();
        folder::each_in(opened, &mut |dir, name, kind| {
            names.add(name, kind);
            sought.see(dir, name, kind)
        })?;
        self.kept.keep_names(dir, &stat, &names);
        Ok(sought.found)
    }
}

impl<K> Files for Machine<K> {
    fn entries(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        self.files.entries(dir)
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.files.stat(path)
    }

    fn inside(&self, dir: &Path, is_asked: &dyn Fn(&Entry) -> bool) -> io::Result<Vec<Inside>> {
        self.files.inside(dir, is_asked)
    }

    fn inside_since(
        &self,
        dir: &Path,
        is_asked: &dyn Fn(&str) -> bool,
        since: Timestamp,
    ) -> io::Result<Vec<Inside>> {
        self.files.inside_since(dir, is_asked, since)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Bytes>> {
        self.files.open(path)
    }

    fn open_as(&self, path: &Path, opening: Opening) -> io::Result<Box<dyn Bytes>> {
        self.files.open_as(path, opening)
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        if let Some(known) = self.led(path) {
            return known;
        }
        let leads = self.stepwise(path).unwrap_or_else(|| self.files.resolve(path));
        self.lead(path, &leads);
        leads
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

    fn uses(&self, of: &ProcKey, dir: &Path) -> Told<Option<Use>> {
        self.kernel.uses(of, dir)
    }

    fn owner(&self, of: &ProcKey) -> Told<u32> {
        self.kernel.owner(of)
    }

    fn spent(&self, of: &ProcKey) -> Told<Spent> {
        self.kernel.spent(of)
    }

    fn began(&self, pid: u32, ticks: u64) -> Told<Option<ProcKey>> {
        self.kernel.began(pid, ticks)
    }

    fn noted(&self, of: &ProcKey) -> Option<Timestamp> {
        self.kernel.noted(of)
    }

    fn written(&self, of: &ProcKey) -> Option<u64> {
        self.kernel.written(of)
    }

    fn sees(&self, of: &ProcKey, path: &Path) -> Option<(u64, u64)> {
        self.kernel.sees(of, path)
    }

    fn is_over(&self, of: &ProcKey) -> bool {
        self.kernel.is_over(of)
    }

    fn ports(&self, of: &ProcKey) -> Told<Vec<SocketAddr>> {
        self.kernel.ports(of)
    }

    fn terminal(&self, of: &ProcKey) -> Told<Option<PathBuf>> {
        self.kernel.terminal(of)
    }

    fn lockers(&self, path: &Path) -> Told<Vec<u32>> {
        self.kernel.lockers(path)
    }

    fn has_locked(&self, of: &ProcKey, path: &Path) -> Told<bool> {
        self.kernel.has_locked(of, path)
    }
}

impl<K> Tables for Machine<K> {
    fn rows(&self, db: &Path, sql: &str, args: &[Cell]) -> io::Result<Vec<Vec<Cell>>> {
        self.databases.rows(db, sql, args)
    }

    fn show(
        &self,
        db: &Path,
        question: (&str, &[Cell]),
        visit: &mut dyn FnMut(&[Shown<'_>]) -> Flow,
    ) -> io::Result<Showing> {
        self.databases.show(db, question, visit)
    }

    fn at_once(&self, db: &Path, ask: &mut dyn FnMut(&dyn Tables)) -> Option<io::Result<()>> {
        self.databases.at_once(db, ask)
    }
}

impl<K> Servers for Machine<K> {
    fn get(&self, url: &str, user: Option<(&str, &str)>) -> io::Result<Vec<u8>> {
        self.servers.get(url, user)
    }

    fn dial(&self, url: &str) -> io::Result<Box<dyn Talk>> {
        self.servers.dial(url)
    }

    fn post(&self, url: &str, user: Option<(&str, &str)>, body: &str) -> Result<(), Unheard> {
        self.servers.post(url, user, body)
    }

    fn dial_file(&self, path: &Path, peer: &ProcKey) -> io::Result<Box<dyn Talk>> {
        self.servers.dial_file(path, peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;
    use std::{
        fs::{self, File},
        time::{Duration, UNIX_EPOCH},
    };

    /// A machine that looks later, when all that was written by now has rested.
    fn later(kept: &Path) -> Machine<Native> {
        let then = Timestamp::now() + SignedDuration::from_secs(60);
        let kept = Kept::at(Some(kept.to_owned()), then);
        Machine { kept, ..Machine::native(Patience::Each(Duration::ZERO)) }
    }

    fn dated(path: &Path, second: u64) {
        let file = File::options().create(true).append(true).open(path).expect("a file");
        file.set_modified(UNIX_EPOCH + Duration::from_secs(second)).expect("our file");
    }

    /// What every machine finds that was written since, whether it reads the names or recalls them.
    fn found(dir: &Path, kept: &Path) -> Vec<String> {
        let since = Timestamp::from_second(100).expect("a time");
        let is_asked = |name: &str| name.ends_with(".x");
        let told = |found: io::Result<Vec<Inside>>| {
            let told = |one: Inside| {
                let stat = one.stat.expect("it was asked for").map_err(|why| why.to_string());
                (one.entry.name, one.entry.kind, stat)
            };
            let mut told: Vec<_> = found.expect("names").into_iter().map(told).collect();
            told.sort_by(|one, other| one.0.cmp(&other.0));
            told
        };
        let plain = told(Disk.inside_since(dir, &is_asked, since));
        for _ in 0..2 {
            let machine = later(kept);
            assert_eq!(told(machine.inside_recalled(dir, &is_asked, since)), plain);
            machine.put_down();
        }
        assert!(later(kept).kept.names(dir, &Disk.stat(dir).expect("it is there")).is_some());
        plain.into_iter().map(|(name, ..)| name).collect()
    }

    #[test]
    fn names_are_recalled_and_what_they_lead_to_is_asked_anew() {
        let home = tempfile::tempdir().expect("a directory");
        let (dir, kept) = (home.path().join("sessions"), home.path().join("kept"));
        fs::create_dir(&dir).expect("a directory");
        let at = |name: &str| dir.join(format!("{name:a>60}.x"));
        for number in 0..100 {
            dated(&at(&number.to_string()), 99);
        }
        dated(&dir.join("other.y"), 200);
        assert_eq!(found(&dir, &kept), [""; 0]);
        dated(&at("7"), 100);
        assert_eq!(found(&dir, &kept), [format!("{:a>60}.x", 7)]);
        dated(&at("new"), 101);
        std::os::unix::fs::symlink("nowhere", dir.join("lost.x")).expect("a link");
        fs::remove_file(at("7")).expect("it is there");
        assert_eq!(found(&dir, &kept), [format!("{:a>60}.x", "new"), "lost.x".to_owned()]);
    }
}
