//! The only door to the outside: files and processes, as plain answers.
//!
//! The program has the real ones; the test kit answers from captured trees and process tables.

mod tables;

pub use tables::{Cell, Showing, Shown, Tables, each_row, together};

use crate::{
    agent::{Depth, Stub},
    control::Unheard,
    evidence::Record,
    ident::ProcKey,
    receipt::{Launched, Stopped},
};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::{self, Read},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

/// Environment variables, passed in rather than read.
pub type Env = BTreeMap<String, OsString>;

/// Why this host cannot answer. An empty answer would be a lie.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("cannot tell: {0}")]
pub struct CannotTell(pub String);

/// An answer, or the reason why there is none.
pub type Told<T> = Result<T, CannotTell>;

/// What a directory entry is, without following links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link; [`Files::stat`] says to what.
    Link,
    /// A FIFO, socket or device: never opened.
    Other,
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name; names that are not UTF-8 are no native session and are left out.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

/// One name in a directory, and what it leads to if that was asked for.
#[derive(Debug)]
pub struct Inside {
    /// The name.
    pub entry: Entry,
    /// What it leads to.
    pub stat: Option<io::Result<Stat>>,
}

/// What the file system says of a file, links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: Kind,
    /// Last change of its content, as far as it was not set by hand.
    pub modified: Timestamp,
    /// Last change of anything about it, which nobody can set back.
    pub touched: Timestamp,
    /// Device and number on it: the same under every name.
    pub identity: (u64, u64),
    /// Length in bytes.
    pub size: u64,
}

impl Stat {
    /// A file that was last written before that moment.
    pub fn is_older(&self, than: Timestamp) -> bool {
        self.kind == Kind::File && self.modified < than
    }
}

/// What a record was read from: one content of one file or a few, told from every other.
#[derive(Clone, Debug)]
pub struct Original<'a> {
    /// Whose reader read it.
    pub agent: &'static str,
    /// How much of it.
    pub depth: Depth,
    /// What the reader was given.
    pub stub: &'a Stub,
    /// The file as it was before it was read.
    pub stat: Stat,
    /// Other files by which it is told, those that were there.
    pub beside: Vec<Option<Stat>>,
    /// Every list asks for it: it is kept apart from history.
    pub live: bool,
    /// Only what a table shows is wanted back: not its last words, nor its prompt where it has a title.
    pub brief: bool,
}

/// Nothing goes by a path. What cannot be looked at may be there.
pub(crate) fn is_absent(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A file whose lines are counted.
#[derive(Clone, Copy, Debug)]
pub struct Counting<'a> {
    /// Whose reader counts.
    pub agent: &'static str,
    /// Where it is.
    pub path: &'a Path,
    /// The file as it was before it was read.
    pub stat: Stat,
}

/// What was looked through for something: by whose reader, where, and the file or folder as it was before.
pub type Looked<'a> = (&'static str, &'a Path, Stat);

/// What was counted of a file before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Before {
    /// It has not changed since. Otherwise it is longer, or was written to a moment before it was counted, and
    /// whether it only grew is for its reader to tell.
    pub same: bool,
    /// What its reader wrote down.
    pub kept: Vec<u8>,
}

/// A file that can be read anywhere.
pub trait Bytes: Send + Sync {
    /// Length when it was opened.
    fn size(&self) -> u64;
    /// Reads at `at` into `buf`; short only at the end of the file.
    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize>;
    /// All of it that can be read, where it is so short that it is held: then it need not be copied.
    fn held(&self) -> Option<&[u8]> {
        None
    }
    /// What the file system says of it now, if it can be asked without its name.
    fn stat(&self) -> Option<io::Result<Stat>> {
        None
    }
}

/// What was read whole already.
impl Bytes for Vec<u8> {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        let from = usize::try_from(at).map_or(self.len(), |at| at.min(self.len()));
        (&self[from..]).read(buf)
    }
}

/// Reads of the file system.
pub trait Files {
    /// Names in a directory, in no order.
    fn entries(&self, dir: &Path) -> io::Result<Vec<Entry>>;
    /// What a path leads to.
    fn stat(&self, path: &Path) -> io::Result<Stat>;
    /// Names in a directory, in no order, with what those lead to that are asked for.
    fn inside(&self, dir: &Path, is_asked: &dyn Fn(&Entry) -> bool) -> io::Result<Vec<Inside>> {
        let seen = |entry: Entry| {
            let stat = is_asked(&entry).then(|| self.stat(&dir.join(&entry.name)));
            Inside { entry, stat }
        };
        Ok(self.entries(dir)?.into_iter().map(seen).collect())
    }
    /// The same of those alone that are asked for by their names, without files last written before that moment: of most of a
    /// long directory nothing is kept.
    fn inside_since(
        &self,
        dir: &Path,
        is_asked: &dyn Fn(&str) -> bool,
        since: Timestamp,
    ) -> io::Result<Vec<Inside>> {
        let mut found = self.inside(dir, &|entry| is_asked(&entry.name))?;
        let is_new = |stat: &io::Result<Stat>| !stat.as_ref().is_ok_and(|it| it.is_older(since));
        found.retain(|one| one.stat.as_ref().is_some_and(is_new));
        Ok(found)
    }
    /// Opens a regular file; anything else is an error, so that a FIFO cannot block us.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Bytes>>;
    /// The same for whoever knows more of it.
    fn open_as(&self, path: &Path, _: Opening) -> io::Result<Box<dyn Bytes>> {
        self.open(path)
    }
    /// The path without links, or as it is where it does not resolve.
    fn resolve(&self, path: &Path) -> PathBuf;
}

/// What is known of a file before it is opened.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// All of it will be read, and its ends more than once: more of it may be held.
    pub whole: bool,
    /// It was a regular file when it was listed, and is not looked at again before.
    pub listed: bool,
}

/// One process as the pass over the table saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Parent's pid.
    pub parent: u32,
    /// Start time as in [`ProcKey`].
    pub start: u64,
    /// Short name of the program (15 bytes on Linux).
    pub comm: String,
    /// Dead, and not yet reaped.
    pub zombie: bool,
    /// Halted by a signal (SIGSTOP, Ctrl-Z): it does nothing until it is told to go on.
    pub halted: bool,
    /// A copy of its parent that has loaded no program of its own yet, where the kernel tells.
    pub forked: bool,
}

/// One pass over all processes, sorted by pid.
#[derive(Clone, Debug)]
pub struct Table {
    /// When the pass began.
    pub taken: Timestamp,
    /// Which boot of this machine.
    pub boot: String,
    /// When the machine booted, on today's clock.
    pub booted: Timestamp,
    /// How many units of [`Process::start`] make a second.
    pub ticks: i64,
    /// Every process; threads of the kernel itself may be left out.
    pub processes: Vec<Process>,
}

impl Table {
    /// The process with this pid, dead or alive.
    pub fn process(&self, pid: u32) -> Option<&Process> {
        let at = self.processes.binary_search_by_key(&pid, |process| process.pid).ok()?;
        self.processes.get(at)
    }

    /// This very process, dead or alive: its pid may have become another's.
    pub fn of(&self, key: &ProcKey) -> Option<&Process> {
        self.process(key.pid).filter(|process| self.key(process) == *key)
    }

    /// Its name for good.
    pub fn key(&self, process: &Process) -> ProcKey {
        ProcKey { pid: process.pid, start: process.start, boot: self.boot.clone() }
    }

    /// When a process with this start began, on the wall clock.
    pub fn since(&self, start: u64) -> Timestamp {
        let start = i64::try_from(start).unwrap_or(i64::MAX);
        let nanos = i128::from(start) * 1_000_000_000 / i128::from(self.ticks.max(1));
        let span = SignedDuration::from_nanos_i128(nanos);
        self.booted.saturating_add(span).unwrap_or(self.booted)
    }

    /// Pids of all live descendants of `pid`, without itself.
    pub fn descendants(&self, pid: u32) -> Vec<u32> {
        let mut found = vec![pid];
        let mut next = 0;
        while let Some(&parent) = found.get(next) {
            let children = self.processes.iter().filter(|child| child.parent == parent);
            let new: Vec<u32> =
                children.map(|child| child.pid).filter(|pid| !found.contains(pid)).collect();
            found.extend(new);
            next += 1;
        }
        found.split_off(1)
    }
}

/// A file some process has open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenFile {
    /// Where it was opened.
    pub path: PathBuf,
    /// It may be written through this descriptor.
    pub writable: bool,
}

/// How a process uses a directory, or something below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Use {
    /// It works there.
    Works(PathBuf),
    /// It sees nothing else.
    Rooted(PathBuf),
    /// Its program lies there.
    Runs(PathBuf),
    /// It has a file open there.
    Opened(PathBuf),
    /// It has a file in its memory that lies there.
    Mapped(PathBuf),
}

/// What a process has used so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    /// Time of processors, its own and the kernel's for it.
    pub cpu: Duration,
    /// Bytes of memory that it has now.
    pub memory: u64,
}

/// Reads of the process table. Everything but the table is asked for one process at a time.
pub trait Kernel {
    /// The one pass of this command; every later question is about what it saw.
    fn table(&self) -> Told<&Table>;
    /// The program's file.
    fn exe(&self, of: &ProcKey) -> Told<PathBuf>;
    /// Its arguments, the program's name first.
    fn argv(&self, of: &ProcKey) -> Told<Vec<String>>;
    /// Where it was started, or went since.
    fn cwd(&self, of: &ProcKey) -> Told<PathBuf>;
    /// Those of `names` that stand in its environment.
    fn env(&self, of: &ProcKey, names: &[&str]) -> Told<Env>;
    /// It runs as the user who asks.
    fn is_mine(&self, of: &ProcKey) -> Told<bool>;
    /// What it has open, or had when that was first asked.
    fn open_files(&self, of: &ProcKey) -> Told<Vec<OpenFile>>;
    /// The live process of this pid that began this many clock ticks after boot. Asked anew where
    /// the host can: it may have begun after the pass.
    fn began(&self, pid: u32, ticks: u64) -> Told<Option<ProcKey>>;
    /// Where it listens for TCP connections.
    fn ports(&self, of: &ProcKey) -> Told<Vec<SocketAddr>>;
    /// How it uses this directory, if it does; what the host cannot see (open files, for some) is not
    /// counted. Of a process that cannot be asked at all, nothing is told.
    fn uses(&self, of: &ProcKey, dir: &Path) -> Told<Option<Use>> {
        let cwd = self.cwd(of)?;
        if cwd.starts_with(dir) {
            return Ok(Some(Use::Works(cwd)));
        }
        if let Some(exe) = self.exe(of).ok().filter(|exe| exe.starts_with(dir)) {
            return Ok(Some(Use::Runs(exe)));
        }
        let files = self.open_files(of).unwrap_or_default();
        let file = files.into_iter().find(|file| file.path.starts_with(dir));
        Ok(file.map(|file| Use::Opened(file.path)))
    }
    /// The number of the user it runs as.
    fn owner(&self, _: &ProcKey) -> Told<u32> {
        Err(CannotTell("this host does not say whose it is".to_owned()))
    }
    /// What it has used so far, without what it started.
    fn spent(&self, _: &ProcKey) -> Told<Spent> {
        Err(CannotTell("this host does not say what it uses".to_owned()))
    }
    /// A moment at which it was there already, by the clock of that moment, where the host kept one: a clock that is set
    /// later moves its start, and not this.
    fn noted(&self, _: &ProcKey) -> Option<Timestamp> {
        None
    }
    /// How many bytes it has written so far, to whatever.
    fn written(&self, _: &ProcKey) -> Option<u64> {
        None
    }
    /// What a path leads to for a process that sees other mounts than we do, as [`Stat::identity`] tells it.
    fn sees(&self, _: &ProcKey, _: &Path) -> Option<(u64, u64)> {
        None
    }
    /// It has ended since the pass, or does nothing any more but end, and so tells nothing of itself.
    fn is_over(&self, of: &ProcKey) -> bool;
    /// The device of its controlling terminal, if it has one.
    fn terminal(&self, of: &ProcKey) -> Told<Option<PathBuf>>;
    /// Pids that hold a flock on this file.
    fn lockers(&self, path: &Path) -> Told<Vec<u32>>;
    /// It holds a flock on what this path leads to, under whatever name, and nobody else does. To ask a process costs next to
    /// nothing, and [`Kernel::lockers`] milliseconds.
    fn has_locked(&self, of: &ProcKey, path: &Path) -> Told<bool>;
}

/// A conversation in text frames over a WebSocket.
pub trait Talk {
    /// Sends a frame.
    fn say(&mut self, frame: &str) -> io::Result<()>;
    /// Waits for a frame; the host limits how long.
    fn hear(&mut self) -> io::Result<String>;
}

/// Questions to servers on this machine. Every call is limited in time by the host.
pub trait Servers {
    /// The body of a page, if its status is a success; `user` is sent as Basic authentication.
    fn get(&self, url: &str, user: Option<(&str, &str)>) -> io::Result<Vec<u8>>;
    /// Opens a WebSocket.
    fn dial(&self, url: &str) -> io::Result<Box<dyn Talk>>;
    /// Sends JSON to a page, whose status must be a success. Only what cannot have come there has failed.
    fn post(&self, _: &str, _: Option<(&str, &str)>, _: &str) -> Result<(), Unheard> {
        Err(Unheard::Failed(io::ErrorKind::Unsupported.into()))
    }
    /// Opens a WebSocket over a socket file, if this very process listens there.
    fn dial_file(&self, _: &Path, _: &ProcKey) -> io::Result<Box<dyn Talk>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Everything an observation may ask.
pub trait Host: Files + Kernel + Tables + Servers + Sync {
    /// The wall clock.
    fn now(&self) -> Timestamp;
    /// This machine's name.
    fn machine(&self) -> &str;
    /// Our own receipts of what we launched.
    fn launches(&self) -> &[Launched] {
        &[]
    }
    /// Our own receipts of what we stopped.
    fn stops(&self) -> &[(PathBuf, Stopped)] {
        &[]
    }
    /// Our own receipts that cannot be read any more, and why.
    fn lost(&self) -> &[(PathBuf, String)] {
        &[]
    }
    /// What was read from this before.
    fn recall(&self, _: &Original<'_>) -> Option<Record> {
        None
    }
    /// Keeps what was read from this, if that can still be told from what may be written to it.
    fn keep(&self, _: &Original<'_>, _: &Record) {}
    /// What was counted of this very file before, unless it has changed and not grown.
    fn counted(&self, _: &Counting<'_>) -> Option<Before> {
        None
    }
    /// Keeps what was counted of it.
    fn keep_count(&self, _: &Counting<'_>, _: &[u8]) {}
    /// As [`Files::inside_since`], by names that may be those of an earlier look at a folder that has not changed since.
    fn inside_recalled(
        &self,
        dir: &Path,
        is_asked: &dyn Fn(&str) -> bool,
        since: Timestamp,
    ) -> io::Result<Vec<Inside>> {
        self.inside_since(dir, is_asked, since)
    }
    /// Nothing was found in this very content before.
    fn knows_none(&self, _: Looked<'_>) -> bool {
        false
    }
    /// Keeps that nothing was found in it, if it can be told from what may come there.
    fn keep_none(&self, _: Looked<'_>) {}
    /// Puts down what was kept, for the next command.
    fn put_down(&self) {}
}

/// The loopback address at which whoever listens there is reached, and nobody else. On other addresses
/// of this machine it is not asked: on loopback that port may be a stranger's.
pub fn loopback(listener: SocketAddr) -> Option<SocketAddr> {
    let ip = match listener.ip().to_canonical() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        // It may take IPv6 alone.
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    ip.is_loopback().then(|| SocketAddr::new(ip, listener.port()))
}

/// A whole small file; longer ones are cut at `limit`.
pub fn slurp(files: &dyn Host, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let file = files.open(path)?;
    let size = usize::try_from(file.size()).unwrap_or(limit).min(limit);
    let mut bytes = vec![0; size];
    let read = file.read_at(&mut bytes, 0)?;
    bytes.truncate(read);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_loopback_address_reaches_a_listener() {
        let at = |text: &str| text.parse::<SocketAddr>().ok();
        let reached = |text: &str| at(text).and_then(loopback);
        assert_eq!(reached("127.0.0.1:80"), at("127.0.0.1:80"));
        assert_eq!(reached("0.0.0.0:80"), at("127.0.0.1:80"));
        assert_eq!(reached("[::1]:80"), at("[::1]:80"));
        assert_eq!(reached("[::]:80"), at("[::1]:80"));
        assert_eq!(reached("[::ffff:127.0.0.1]:80"), at("127.0.0.1:80"));
        assert_eq!(reached("192.0.2.1:80"), None);
        assert_eq!(reached("[2001:db8::1]:80"), None);
    }
}
