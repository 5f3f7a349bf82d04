//! A host made of a captured case: a home tree on disk, and process facts written beside it.
//!
//! A case is a directory with `home/`, the captured tree, and `case.json`, the rest of the machine
//! at one moment ([`Facts`]). Everything outside the home is absent. What git does not keep is made
//! up the same way each time: a file's inode is a hash of its path; its last change is what
//! `case.json` says under `modified`, else the newest `"timestamp"` near its end, else `now`.
//!
//! The same facts can be seen through [`Eyes::Portable`]: what the `sysinfo` host can tell.

mod facts;
mod faults;
mod held;
mod kernel;
mod removal;
mod servers;
mod tree;

pub use facts::{Detail, Facts, Open, Running};
pub use faults::Attempt;
pub use held::Held;
pub use removal::Removal;

use agentctl_core::{
    evidence::Record,
    host::{Env, Host, Original, Table, Told},
};
use faults::Faults;
use jiff::Timestamp;
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::Arc,
};

/// How much of the facts a host can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eyes {
    /// Everything, as on Linux.
    Full,
    /// No locks, no open files, starts to the second.
    Portable,
}

/// A captured machine at one moment.
#[derive(Debug)]
pub struct FixtureHost {
    tree: PathBuf,
    facts: Facts,
    eyes: Eyes,
    table: Told<Table>,
    /// Files that differ from the captured ones; `None` is a file taken away.
    edits: BTreeMap<PathBuf, Option<Vec<u8>>>,
    faults: Arc<Faults>,
}

impl FixtureHost {
    /// The case in this directory, with all it can tell.
    pub fn new(case: &Path) -> io::Result<Self> {
        Self::seen(case, Eyes::Full)
    }

    /// The same case as the `sysinfo` host would see it.
    pub fn portable(case: &Path) -> io::Result<Self> {
        Self::seen(case, Eyes::Portable)
    }

    /// The case in this directory, through these eyes.
    pub fn seen(case: &Path, eyes: Eyes) -> io::Result<Self> {
        let facts = serde_json::from_value(value(case)?).map_err(|why| bad(case, why))?;
        Ok(Self::of(case, facts, eyes))
    }

    /// The case without one thing, so that a test can show that it was decisive.
    ///
    /// Fails if there was no such thing to remove.
    pub fn without(case: &Path, removal: &Removal) -> io::Result<Self> {
        let mut facts = value(case)?;
        if !removal.unfact(&mut facts) {
            return Err(bad(case, format!("{removal} is not there to be removed")));
        }
        let facts = serde_json::from_value(facts).map_err(|why| bad(case, why))?;
        let mut host = Self::of(case, facts, Eyes::Full);
        if let Some((path, bytes)) = removal.edit(&host)? {
            host.edits.insert(path, bytes);
        }
        Ok(host)
    }

    fn of(case: &Path, facts: Facts, eyes: Eyes) -> Self {
        let table = kernel::table(&facts, eyes);
        let (tree, edits, faults) = (case.join("home"), BTreeMap::new(), Arc::default());
        Self { tree, facts, eyes, table, edits, faults }
    }

    /// Runs a shell command that was meant for the captured machine's files.
    pub fn shell(&self, command: &str) -> io::Result<ExitStatus> {
        let (there, here) = (self.facts.home.to_string_lossy(), self.tree.to_string_lossy());
        let mut shell = Command::new("sh");
        shell.args(["-c", &command.replace(&*there, &here)]);
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()
    }

    /// The facts it answers from.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The environment of whoever asks.
    pub fn env(&self) -> Env {
        let given = self.facts.env.iter().map(|(name, value)| (name.clone(), value.into()));
        let mut env: Env = given.collect();
        env.entry("HOME".to_owned()).or_insert(self.facts.home.clone().into());
        env
    }
}

impl Host for FixtureHost {
    fn now(&self) -> Timestamp {
        self.facts.now
    }

    fn machine(&self) -> &str {
        "fixture"
    }

    fn keep(&self, original: &Original<'_>, record: &Record) {
        self.faults.kept().push((format!("{original:?}"), record.clone()));
    }
}

fn value(case: &Path) -> io::Result<serde_json::Value> {
    let path = case.join("case.json");
    let bytes = fs::read(&path).map_err(|why| bad(&path, why))?;
    serde_json::from_slice(&bytes).map_err(|why| bad(&path, why))
}

fn bad(path: &Path, why: impl ToString) -> io::Error {
    io::Error::other(format!("{}: {}", path.display(), why.to_string()))
}
