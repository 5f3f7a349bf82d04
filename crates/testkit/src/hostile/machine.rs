//! Every captured case, held in memory: a target runs very often.

use crate::fixture::FixtureHost;
use agentctl_core::{
    agent::Agent,
    agents,
    host::{Cell, Entry, Files, Kind, Stat, Tables},
};
use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex, PoisonError},
};

/// Answers of databases that are remembered; more are asked anew.
const ANSWERS: usize = 500;

type Rows = Vec<Vec<Cell>>;

/// A captured machine.
pub(super) struct Machine {
    /// `agent/version/case`.
    pub(super) name: String,
    pub(super) agent: &'static dyn Agent,
    pub(super) fixture: FixtureHost,
    pub(super) files: BTreeMap<PathBuf, File>,
    pub(super) dirs: BTreeMap<PathBuf, Vec<Entry>>,
    rows: Mutex<HashMap<String, Result<Rows, String>>>,
}

/// A captured file, as far as it may be read.
pub(super) struct File {
    pub(super) bytes: Result<Vec<u8>, io::ErrorKind>,
    pub(super) stat: Stat,
}

/// Every case of every agent.
pub(super) fn machines() -> &'static [Machine] {
    static ALL: LazyLock<Vec<Machine>> = LazyLock::new(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/fixtures");
        let mut all = Vec::new();
        for agent in names(&root) {
            let Some(known) = agents::named(&agent) else { continue };
            for version in names(&root.join(&agent)) {
                for case in names(&root.join(&agent).join(&version)) {
                    let name = format!("{agent}/{version}/{case}");
                    let machine = Machine::read(name, known, &root);
                    all.push(
                        machine.unwrap_or_else(|why| panic!("{agent}/{version}/{case}: {why}")),
                    );
                }
            }
        }
        all
    });
    &ALL
}

impl Machine {
    fn read(name: String, agent: &'static dyn Agent, root: &Path) -> io::Result<Self> {
        let fixture = FixtureHost::new(&root.join(&name))?;
        let (files, dirs, rows) = Default::default();
        let mut machine = Self { name, agent, fixture, files, dirs, rows };
        let home = machine.fixture.facts().home.clone();
        machine.walk(&home)?;
        Ok(machine)
    }

    fn walk(&mut self, dir: &Path) -> io::Result<()> {
        let entries = match self.fixture.entries(dir) {
            Ok(entries) => entries,
            Err(why) if is_bare(&why) => return Ok(()),
            Err(why) => return Err(why),
        };
        for entry in &entries {
            let path = dir.join(&entry.name);
            match entry.kind {
                Kind::Dir => self.walk(&path)?,
                Kind::File => self.keep(path)?,
                Kind::Link | Kind::Other => {}
            }
        }
        self.dirs.insert(dir.to_owned(), entries);
        Ok(())
    }

    fn keep(&mut self, path: PathBuf) -> io::Result<()> {
        let bytes = self.fixture.open(&path).map_err(|why| why.kind()).and_then(|file| {
            let mut bytes = vec![0; usize::try_from(file.size()).unwrap_or(0)];
            file.read_at(&mut bytes, 0).map_err(|why| why.kind())?;
            Ok(bytes)
        });
        let stat = self.fixture.stat(&path)?;
        self.files.insert(path, File { bytes, stat });
        Ok(())
    }

    /// As the fixture answers; the same question is asked once.
    pub(super) fn rows(&self, db: &Path, sql: &str, args: &[Cell]) -> io::Result<Rows> {
        let key = format!("{}\0{sql}\0{args:?}", db.display());
        let mut known = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = known.get(&key) {
            return answer.clone().map_err(io::Error::other);
        }
        let answer = self.fixture.rows(db, sql, args).map_err(|why| why.to_string());
        if known.len() < ANSWERS {
            known.insert(key, answer.clone());
        }
        answer.map_err(io::Error::other)
    }
}

/// Not there, or not to be read.
fn is_bare(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound)
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> =
        folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
