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
    sync::atomic::{AtomicUsize, Ordering},
};

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
    pub(super) machine: &'a Machine,
    pub(super) place: &'a Place,
    pub(super) bytes: &'a [u8],
    /// Directories are read from the other end.
    pub(super) turned: bool,
    /// Cells that were read so far.
    pub(super) cells: AtomicUsize,
}

struct Whole(Vec<u8>);

impl Bytes for Whole {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        let at = usize::try_from(at).unwrap_or(usize::MAX).min(self.0.len());
        let read = (self.0.len() - at).min(buf.len());
        buf[..read].copy_from_slice(&self.0[at..at + read]);
        Ok(read)
    }
}

impl Files for Spoiled<'_> {
    fn entries(&self, dir: &Path) -> io::Result<Vec<Entry>> {
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
        match self.machine.files.get(path) {
            Some(file) => Ok(file.stat),
            None => self.machine.fixture.stat(path),
        }
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Bytes>> {
        if matches!(self.place, Place::File(spoiled) if spoiled == path) {
            return Ok(Box::new(Whole(self.bytes.to_vec())));
        }
        match self.machine.files.get(path) {
            Some(file) => Ok(Box::new(Whole(file.bytes.clone()?))),
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
        let mut rows = self.machine.rows(db, sql, args)?;
        if !matches!(self.place, Place::Cells(spoiled) if spoiled == db) {
            return Ok(rows);
        }
        for cell in rows.iter_mut().flatten() {
            let at = self.cells.fetch_add(1, Ordering::Relaxed);
            let piece = self.bytes.split(|byte| *byte == 0).nth(at).unwrap_or_default();
            if piece.is_empty() {
                continue;
            }
            let text = String::from_utf8_lossy(piece).into_owned();
            match cell {
                Cell::Number(number) => *number = text.trim().parse().unwrap_or(i64::MAX),
                Cell::Fraction(number) => *number = text.trim().parse().unwrap_or(f64::INFINITY),
                Cell::Null | Cell::Text(_) | Cell::Bytes(_) => *cell = Cell::Text(text),
            }
        }
        Ok(rows)
    }
}

impl Servers for Spoiled<'_> {
    fn get(&self, url: &str, user: Option<(&str, &str)>) -> io::Result<Vec<u8>> {
        match self.place {
            Place::Page(spoiled) if spoiled == url => Ok(self.bytes.to_vec()),
            Place::Page(_) | Place::File(_) | Place::Cells(_) | Place::Gateway(_) => {
                self.machine.fixture.get(url, user)
            }
        }
    }

    fn dial(&self, url: &str) -> io::Result<Box<dyn Talk>> {
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
        Kernel::env(&self.machine.fixture, of, names)
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
        self.machine.fixture.ports(of)
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
}

impl Host for Spoiled<'_> {
    fn now(&self) -> Timestamp {
        self.machine.fixture.now()
    }

    fn machine(&self) -> &str {
        "fixture"
    }
}
