//! A captured machine on which one thing is not what it was: a file, cells of a database, or what a
//! server answers.

use super::machine::Machine;
use agentctl_core::{
    host::{
        Bytes, Cell, Entry, Env, Files, Host, Kernel, Kind, OpenFile, Servers, Stat, Table, Tables,
        Talk, Told,
    },
    ident::ProcKey,
};
use jiff::Timestamp;
use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// Every server of OpenCode was started with one, for whoever tells it to others.
const PASSWORD: &str = "OPENCODE_SERVER_PASSWORD";

/// What is spoiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The bytes of a file.
    File(PathBuf),
    /// Text cells of a database, in the order in which they are read; pieces end with a zero byte, and
    /// an empty one leaves its cell alone.
    Cells(PathBuf),
    /// What a page answers.
    Page(String),
    /// What a gateway says, a frame a line.
    Gateway(String),
}

/// The machine, but for that.
pub(super) struct Spoiled<'a> {
    machine: &'a Machine,
    place: &'a Place,
    bytes: &'a [u8],
    /// What stands for cells.
    pieces: Vec<&'a [u8]>,
    /// Directories are read from the other end.
    turned: bool,
    /// No process of the agent listens anywhere: whoever answers there is somebody else.
    deaf: bool,
    /// Cells that were read so far, as they were captured.
    cells: Mutex<Vec<String>>,
    /// What was asked for so far.
    asked: Mutex<Vec<Asked>>,
}

/// What somebody asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A file, a folder or a database.
    Path(PathBuf),
    /// A server; and whether it was told a password.
    Server(String, bool),
}

impl<'a> Spoiled<'a> {
    pub(super) fn new(machine: &'a Machine, place: &'a Place, bytes: &'a [u8]) -> Self {
        let (cells, asked) = Default::default();
        let pieces = bytes.split(|byte| *byte == 0).collect();
        Self { machine, place, bytes, pieces, turned: false, deaf: false, cells, asked }
    }

    /// With directories that are read from the other end.
    pub(super) fn turned(self, turned: bool) -> Self {
        Self { turned, ..self }
    }

    /// With agents that have gone from where they listened, and somebody else in their place.
    #[cfg_attr(not(test), allow(dead_code, reason = "only tests ask"))]
    pub(super) fn deaf(self, deaf: bool) -> Self {
        Self { deaf, ..self }
    }

    /// Cells that were read, in the order in which pieces stand for them.
    pub(super) fn cells(self) -> Vec<String> {
        self.cells.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// All that was asked for.
    #[cfg_attr(not(test), allow(dead_code, reason = "only tests ask"))]
    pub(super) fn asked(self) -> Vec<Asked> {
        self.asked.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, asked: Asked) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
    }

    fn spoil(&self, cell: &mut Cell) {
        let mut read = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        let piece = self.pieces.get(read.len()).copied().unwrap_or_default();
        read.push(match cell {
            Cell::Number(number) => number.to_string(),
            Cell::Fraction(number) => number.to_string(),
            Cell::Text(text) => text.replace('\0', " "),
            Cell::Null | Cell::Bytes(_) => String::new(),
        });
        if piece.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(piece).into_owned();
        match cell {
            Cell::Number(number) => *number = text.trim().parse().unwrap_or(i64::MAX),
            Cell::Fraction(number) => *number = text.trim().parse().unwrap_or(f64::INFINITY),
            Cell::Null | Cell::Text(_) | Cell::Bytes(_) => *cell = Cell::Text(text),
        }
    }
}

impl Files for Spoiled<'_> {
    fn entries(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        self.note(Asked::Path(dir.to_owned()));
        let Some(known) = self.machine.dirs.get(dir) else {
            return self.machine.fixture.entries(dir); // an error, and the right one
        };
        let mut entries = known.clone();
        if self.turned {
            entries.reverse();
        }
        Ok(entries)
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.note(Asked::Path(path.to_owned()));
        match self.machine.files.get(path) {
            Some(file) => Ok(file.stat),
            None => self.machine.fixture.stat(path),
        }
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Bytes>> {
        self.note(Asked::Path(path.to_owned()));
        if matches!(self.place, Place::File(spoiled) if spoiled == path) {
            return Ok(Box::new(self.bytes.to_vec()));
        }
        match self.machine.files.get(path) {
            Some(file) => Ok(Box::new(file.bytes.clone()?)),
            None if self.stat(path)?.kind == Kind::Dir => Err(io::ErrorKind::InvalidInput.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }
}

impl Tables for Spoiled<'_> {
    fn rows(&self, db: &Path, sql: &str, args: &[Cell]) -> io::Result<Vec<Vec<Cell>>> {
        self.note(Asked::Path(db.to_owned()));
        let mut rows = self.machine.rows(db, sql, args)?;
        if !matches!(self.place, Place::Cells(spoiled) if spoiled == db) {
            return Ok(rows);
        }
        rows.iter_mut().flatten().for_each(|cell| self.spoil(cell));
        Ok(rows)
    }
}

impl Servers for Spoiled<'_> {
    fn get(&self, url: &str, user: Option<(&str, &str)>) -> io::Result<Vec<u8>> {
        self.note(Asked::Server(url.to_owned(), user.is_some()));
        match self.place {
            Place::Page(spoiled) if spoiled == url => Ok(self.bytes.to_vec()),
            Place::Page(_) | Place::File(_) | Place::Cells(_) | Place::Gateway(_) => {
                self.machine.fixture.get(url, user)
            }
        }
    }

    fn dial(&self, url: &str) -> io::Result<Box<dyn Talk>> {
        self.note(Asked::Server(url.to_owned(), false));
        match self.place {
            Place::Gateway(spoiled) if spoiled == url => {
                let frames = self.bytes.split(|byte| *byte == b'\n');
                Ok(Box::new(Frames(
                    frames.map(|frame| String::from_utf8_lossy(frame).into_owned()).collect(),
                )))
            }
            Place::Gateway(_) | Place::Page(_) | Place::File(_) | Place::Cells(_) => {
                self.machine.fixture.dial(url)
            }
        }
    }
}

struct Frames(VecDeque<String>);

impl Talk for Frames {
    fn say(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn hear(&mut self) -> io::Result<String> {
        self.0.pop_front().ok_or_else(|| io::ErrorKind::TimedOut.into())
    }
}

impl Kernel for Spoiled<'_> {
    fn table(&self) -> Told<&Table> {
        self.machine.fixture.table()
    }

    fn exe(&self, of: &ProcKey) -> Told<PathBuf> {
        self.machine.fixture.exe(of)
    }

    fn argv(&self, of: &ProcKey) -> Told<Vec<String>> {
        self.machine.fixture.argv(of)
    }

    fn cwd(&self, of: &ProcKey) -> Told<PathBuf> {
        self.machine.fixture.cwd(of)
    }

    fn env(&self, of: &ProcKey, names: &[&str]) -> Told<Env> {
        let mut env = Kernel::env(&self.machine.fixture, of, names)?;
        if names.contains(&PASSWORD) {
            env.insert(PASSWORD.to_owned(), "s3cret".into());
        }
        Ok(env)
    }

    fn is_mine(&self, of: &ProcKey) -> Told<bool> {
        self.machine.fixture.is_mine(of)
    }

    fn open_files(&self, of: &ProcKey) -> Told<Vec<OpenFile>> {
        self.machine.fixture.open_files(of)
    }

    fn began(&self, pid: u32, ticks: u64) -> Told<Option<ProcKey>> {
        self.machine.fixture.began(pid, ticks)
    }

    fn ports(&self, of: &ProcKey) -> Told<Vec<SocketAddr>> {
        match self.deaf {
            true => Ok(Vec::new()),
            false => self.machine.fixture.ports(of),
        }
    }

    fn noted(&self, of: &ProcKey) -> Option<Timestamp> {
        self.machine.fixture.noted(of)
    }

    fn written(&self, of: &ProcKey) -> Option<u64> {
        self.machine.fixture.written(of)
    }

    fn sees(&self, of: &ProcKey, path: &Path) -> Option<(u64, u64)> {
        self.machine.fixture.sees(of, path)
    }

    fn is_over(&self, of: &ProcKey) -> bool {
        self.machine.fixture.is_over(of)
    }

    fn terminal(&self, of: &ProcKey) -> Told<Option<PathBuf>> {
        self.machine.fixture.terminal(of)
    }

    fn lockers(&self, path: &Path) -> Told<Vec<u32>> {
        self.machine.fixture.lockers(path)
    }

    fn has_locked(&self, of: &ProcKey, path: &Path) -> Told<bool> {
        self.machine.fixture.has_locked(of, path)
    }
}

impl Host for Spoiled<'_> {
    fn now(&self) -> Timestamp {
        self.machine.fixture.now()
    }

    fn machine(&self) -> &str {
        "fixture"
    }
}
