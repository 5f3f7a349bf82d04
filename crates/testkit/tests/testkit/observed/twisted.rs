//! A captured machine whose answers come in another order, or on which one question fails.

use agentctl_core::{
    host::{
        Bytes, CannotTell, Cell, Entry, Env, Files, Host, Kernel, OpenFile, Servers, Stat, Table,
        Tables, Talk, Told,
    },
    ident::ProcKey,
    receipt::{Launched, Stopped},
};
use agentctl_testkit::fixture::FixtureHost;
use jiff::Timestamp;
use std::{
    collections::BTreeSet,
    fmt::Display,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// The machine, but for that.
pub(super) struct Twisted<'a> {
    fixture: &'a FixtureHost,
    /// By which lists are ordered; they stay as they are without.
    seed: Option<u64>,
    /// The question that fails, and how.
    fault: Option<(String, io::ErrorKind)>,
    launches: Vec<Launched>,
    stops: Vec<(PathBuf, Stopped)>,
    asked: Mutex<BTreeSet<String>>,
}

impl<'a> Twisted<'a> {
    pub(super) fn new(fixture: &'a FixtureHost) -> Self {
        let (launches, stops, asked) = Default::default();
        Self { fixture, seed: None, fault: None, launches, stops, asked }
    }

    /// With receipts of ours.
    pub(super) fn with(self, launches: Vec<Launched>, stops: Vec<(PathBuf, Stopped)>) -> Self {
        Self { launches, stops, ..self }
    }

    /// With whatever has no order in another one.
    pub(super) fn shuffled(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self.launches = self.mixed(self.launches.clone());
        self.stops = self.mixed(self.stops.clone());
        self
    }

    /// With this question failing.
    pub(super) fn failing(self, question: &str, how: io::ErrorKind) -> Self {
        Self { fault: Some((question.to_owned(), how)), ..self }
    }

    /// Every question so far.
    pub(super) fn asked(&self) -> BTreeSet<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn mixed<T: std::fmt::Debug>(&self, mut list: Vec<T>) -> Vec<T> {
        if let Some(seed) = self.seed {
            list.sort_by_key(|one| {
                let mut hasher = DefaultHasher::new();
                (seed, format!("{one:?}")).hash(&mut hasher);
                hasher.finish()
            });
        }
        list
    }

    fn ask(&self, what: &str, of: impl Display) -> io::Result<()> {
        let question = format!("{what} {of}");
        let fails = self.fault.as_ref().filter(|(failing, _)| *failing == question);
        let answer = fails.map_or(Ok(()), |(_, how)| Err((*how).into()));
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(question);
        answer
    }

    fn tell(&self, what: &str, of: impl Display) -> Told<()> {
        self.ask(what, of).map_err(|why| CannotTell(why.to_string()))
    }
}

impl Files for Twisted<'_> {
    fn entries(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        self.ask("entries", dir.display())?;
        Ok(self.mixed(self.fixture.entries(dir)?))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.ask("stat", path.display())?;
        self.fixture.stat(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Bytes>> {
        self.ask("open", path.display())?;
        self.fixture.open(path)
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        self.fixture.resolve(path)
    }
}

impl Tables for Twisted<'_> {
    fn rows(&self, db: &Path, sql: &str, args: &[Cell]) -> io::Result<Vec<Vec<Cell>>> {
        self.ask("rows", format!("{} {sql}", db.display()))?;
        let rows = self.fixture.rows(db, sql, args)?;
        // Where a query asks for an order, it has one.
        Ok(if sql.to_ascii_lowercase().contains("order by") { rows } else { self.mixed(rows) })
    }
}

impl Servers for Twisted<'_> {
    fn get(&self, url: &str, user: Option<(&str, &str)>) -> io::Result<Vec<u8>> {
        self.ask("get", url)?;
        self.fixture.get(url, user)
    }

    fn dial(&self, url: &str) -> io::Result<Box<dyn Talk>> {
        self.ask("dial", url)?;
        self.fixture.dial(url)
    }
}

impl Kernel for Twisted<'_> {
    fn table(&self) -> Told<&Table> {
        self.tell("table", "")?;
        self.fixture.table()
    }

    fn exe(&self, of: &ProcKey) -> Told<PathBuf> {
        self.tell("exe", of)?;
        self.fixture.exe(of)
    }

    fn argv(&self, of: &ProcKey) -> Told<Vec<String>> {
        self.tell("argv", of)?;
        self.fixture.argv(of)
    }

    fn cwd(&self, of: &ProcKey) -> Told<PathBuf> {
        self.tell("cwd", of)?;
        self.fixture.cwd(of)
    }

    fn env(&self, of: &ProcKey, names: &[&str]) -> Told<Env> {
        self.tell("env", of)?;
        Kernel::env(self.fixture, of, names)
    }

    fn is_mine(&self, of: &ProcKey) -> Told<bool> {
        self.tell("mine", of)?;
        self.fixture.is_mine(of)
    }

    fn open_files(&self, of: &ProcKey) -> Told<Vec<OpenFile>> {
        self.tell("files", of)?;
        Ok(self.mixed(self.fixture.open_files(of)?))
    }

    fn began(&self, pid: u32, ticks: u64) -> Told<Option<ProcKey>> {
        self.tell("began", pid)?;
        self.fixture.began(pid, ticks)
    }

    fn ports(&self, of: &ProcKey) -> Told<Vec<SocketAddr>> {
        self.tell("ports", of)?;
        Ok(self.mixed(self.fixture.ports(of)?))
    }

    fn noted(&self, of: &ProcKey) -> Option<Timestamp> {
        self.fixture.noted(of)
    }

    fn written(&self, of: &ProcKey) -> Option<u64> {
        self.ask("written", of).ok()?;
        self.fixture.written(of)
    }

    fn sees(&self, of: &ProcKey, path: &Path) -> Option<(u64, u64)> {
        self.fixture.sees(of, path)
    }

    fn is_over(&self, of: &ProcKey) -> bool {
        self.fixture.is_over(of)
    }

    fn terminal(&self, of: &ProcKey) -> Told<Option<PathBuf>> {
        self.tell("terminal", of)?;
        self.fixture.terminal(of)
    }

    fn lockers(&self, path: &Path) -> Told<Vec<u32>> {
        self.tell("lockers", path.display())?;
        Ok(self.mixed(self.fixture.lockers(path)?))
    }

    fn has_locked(&self, of: &ProcKey, path: &Path) -> Told<bool> {
        self.tell("locked", format!("{of} {}", path.display()))?;
        self.fixture.has_locked(of, path)
    }
}

impl Host for Twisted<'_> {
    fn now(&self) -> Timestamp {
        self.fixture.now()
    }

    fn machine(&self) -> &str {
        "fixture"
    }

    fn launches(&self) -> &[Launched] {
        &self.launches
    }

    fn stops(&self) -> &[(PathBuf, Stopped)] {
        &self.stops
    }
}
