//! One daemon for one directory of state: a kernel lock, given back by whoever dies.
//!
//! What is in the file only says where to look: anybody who may write there may have spoiled it. That somebody runs, and
//! who, the lock alone says.

use super::VERSION;
use crate::{
    error::{Error, Kind},
    host::Native,
    places, read,
    write::{lockable, make_dir},
};
use agentctl_core::host::Kernel;
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io::{self, Read, Seek, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// Below the directory of our state.
const NAME: &str = "daemon.lock";
/// Who only looks whether somebody has it holds it for a moment himself.
const LOOKED: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(10);
/// What is in it is never longer.
const LONGEST: u64 = 16 << 10;

/// What whoever has the lock says of itself in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    pid: u32,
    version: String,
    socket: PathBuf,
}

/// Whoever has the lock.
#[derive(Clone, Debug)]
pub(super) struct Holder {
    /// Its process, by the kernel's word; none where that does not tell.
    pub(super) pid: Option<u32>,
    /// The file that it has locked.
    pub(super) path: PathBuf,
    /// Where it listens unless it says something else.
    usual: PathBuf,
    said: Option<Told>,
}

impl Holder {
    fn of(state: &Path, file: &File) -> Self {
        let path = state.join(NAME);
        let holders = Native::new().lockers(&path).unwrap_or_default();
        let pid = match holders.as_slice() {
            [only] => Some(*only),
            _ => None,
        };
        Self { pid, path, usual: places::socket(state), said: within(file) }
    }

    /// It is this process: by the kernel's word, and by the file's only where the kernel has none.
    pub(super) fn is(&self, pid: u32) -> bool {
        self.pid.or(self.said.as_ref().map(|said| said.pid)) == Some(pid)
    }

    /// Where it says that it listens.
    pub(super) fn socket(&self) -> Option<&Path> {
        self.said.as_ref().map(|said| &*said.socket).filter(|socket| socket.is_absolute())
    }

    /// Where it may listen, the likeliest place first.
    pub(super) fn sockets(&self) -> Vec<&Path> {
        let usual = Some(&*self.usual).filter(|usual| self.socket() != Some(usual));
        self.socket().into_iter().chain(usual).collect()
    }

    /// What is wrong with what stands in the file, where this process wrote it.
    pub(super) fn damage(&self, by: u32) -> Option<String> {
        let own = self.said.as_ref().is_some_and(|said| said.pid == by);
        let what = "what the daemon wrote there was changed; it writes it anew within seconds";
        (self.is(by) && !own).then(|| what.to_owned())
    }
}

/// The lock; it goes with this value, or with the process.
pub(super) struct Lock {
    file: File,
    told: Option<Told>,
}

impl Lock {
    /// Takes it, or says who has it.
    pub(super) fn take(state: &Path) -> Result<Self, Error> {
        let path = state.join(NAME);
        let file = make_dir(state).and_then(|()| lockable(&path)).map_err(|why| {
            Error::new(Kind::Io, format!("cannot write {}: {why}", path.display()))
                .hint("make it writable for you, or set AGENTCTL_HOME")
        })?;
        let began = Instant::now();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { file, told: None }),
                Err(Errno::WOULDBLOCK) if began.elapsed() < LOOKED => thread::sleep(TICK),
                Err(Errno::WOULDBLOCK) => return Err(taken(&Holder::of(state, &file))),
                Err(why) => {
                    let why = io::Error::from(why);
                    return Err(Error::new(
                        Kind::Io,
                        format!("cannot lock {}: {why}", path.display()),
                    ));
                }
            }
        }
    }

    /// Says where we are.
    pub(super) fn tell(&mut self, socket: &Path) -> io::Result<()> {
        let (pid, version) = (std::process::id(), VERSION.to_owned());
        self.told = Some(Told { pid, version, socket: socket.to_owned() });
        self.write()
    }

    /// Says it again where somebody has changed it since.
    pub(super) fn mend(&mut self) -> io::Result<bool> {
        let changed = self.told.is_some() && within(&self.file) != self.told;
        if changed {
            self.write()?;
        }
        Ok(changed)
    }

    fn write(&mut self) -> io::Result<()> {
        let text = serde_json::to_vec(&self.told)?;
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(&text)
    }

    /// It is still the lock that others look at: whoever removes its file makes room for a second daemon.
    pub(super) fn is_found(&self, state: &Path) -> bool {
        let name = |stat: fs::Metadata| (stat.dev(), stat.ino());
        let found = fs::metadata(state.join(NAME)).map(name).ok();
        found.is_some() && found == self.file.metadata().map(name).ok()
    }

    /// Who has it, if anybody has.
    pub(super) fn holder(state: &Path) -> Option<Holder> {
        held(state).map(|file| Holder::of(state, &file))
    }

    /// Somebody has it.
    pub(super) fn is_held(state: &Path) -> bool {
        held(state).is_some()
    }
}

/// The file, if somebody has locked it.
fn held(state: &Path) -> Option<File> {
    let file = read::open(&state.join(NAME)).ok()?;
    let held = flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK);
    held.then_some(file)
}

fn within(mut file: &File) -> Option<Told> {
    let mut text = Vec::new();
    let _ = file.rewind();
    let _ = file.take(LONGEST).read_to_end(&mut text);
    serde_json::from_slice(&text).ok()
}

/// Somebody else is the daemon.
fn taken(holder: &Holder) -> Error {
    let who = holder.pid.map(|pid| format!(", as process {pid}")).unwrap_or_default();
    Error::new(Kind::Refused, format!("the daemon is running already{who}"))
        .hint("`agentctl daemon status` shows it; `agentctl daemon restart` replaces it")
}
