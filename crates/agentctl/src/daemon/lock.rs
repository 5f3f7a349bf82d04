//! One daemon for one directory of state: a kernel lock, given back by whoever dies.
//!
//! The lock is on the directory itself, which nobody removes without all that is in it. That somebody runs, and who, it
//! alone says; a file in it says where to look, and anybody who may write there may have spoiled or removed that. It is
//! locked too: for daemons of earlier versions, and where a file system has no locks on directories.

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
pub(super) struct Keeper {
    /// Its process, by the kernel's word; none where that does not tell.
    pub(super) pid: Option<u32>,
    /// The file that it has locked.
    pub(super) path: PathBuf,
    /// Where it listens unless it says something else.
    usual: PathBuf,
    said: Option<Told>,
}

impl Keeper {
    fn of(state: &Path) -> Self {
        let path = state.join(NAME);
        let host = Native::new();
        let only = |path: &Path| match host.lockers(path).unwrap_or_default().as_slice() {
            [only] => Some(*only),
            _ => None,
        };
        let said = read::open(&path).ok().and_then(|file| within(&file));
        Self { pid: only(state).or_else(|| only(&path)), path, usual: places::socket(state), said }
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
        let what =
            "what the daemon wrote there was changed or removed; it writes it anew within seconds";
        (self.is(by) && !own).then(|| what.to_owned())
    }
}

/// The lock; it goes with this value, or with the process.
pub(super) struct Lock {
    /// None where the file system locks no directories.
    dir: Option<File>,
    file: File,
    told: Option<Told>,
}

impl Lock {
    /// Takes it, or says who has it.
    pub(super) fn take(state: &Path) -> Result<Self, Error> {
        let path = state.join(NAME);
        let unwritable = |why: io::Error| {
            Error::new(Kind::Io, format!("cannot write {}: {why}", path.display()))
                .hint("make it writable for you, or set AGENTCTL_HOME")
        };
        let dir = make_dir(state).and_then(|()| File::open(state)).map_err(unwritable)?;
        let until = Instant::now() + LOOKED;
        let dir = match locked(&dir, until) {
            Ok(()) => Some(dir),
            Err(Errno::WOULDBLOCK) => return Err(taken(&Keeper::of(state))),
            Err(_) => None,
        };
        let file = lockable(&path).map_err(unwritable)?;
        match locked(&file, until) {
            Ok(()) => Ok(Self { dir, file, told: None }),
            Err(Errno::WOULDBLOCK) => Err(taken(&Keeper::of(state))),
            Err(why) => {
                let why = io::Error::from(why);
                Err(Error::new(Kind::Io, format!("cannot lock {}: {why}", path.display())))
            }
        }
    }

    /// Says where we are.
    pub(super) fn tell(&mut self, socket: &Path) -> io::Result<()> {
        let (pid, version) = (std::process::id(), VERSION.to_owned());
        self.told = Some(Told { pid, version, socket: socket.to_owned() });
        self.write()
    }

    /// Says it again where somebody has changed or removed it since. An error of the kind `WouldBlock` is that
    /// somebody else has the lock on what lies there now.
    pub(super) fn mend(&mut self, state: &Path) -> io::Result<bool> {
        let path = state.join(NAME);
        let moved = !is_same(&path, &self.file);
        if moved {
            let file = lockable(&path)?;
            locked(&file, Instant::now() + LOOKED)?;
            self.file = file;
        }
        let changed = self.told.is_some() && (moved || within(&self.file) != self.told);
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

    /// It is still the lock that others look at: whoever removes the directory makes room for a second daemon.
    pub(super) fn is_found(&self, state: &Path) -> bool {
        match &self.dir {
            Some(dir) => is_same(state, dir),
            None => is_same(&state.join(NAME), &self.file),
        }
    }

    /// Who has it, if anybody has.
    pub(super) fn keeper(state: &Path) -> Option<Keeper> {
        Self::is_held(state).then(|| Keeper::of(state))
    }

    /// Somebody has it.
    pub(super) fn is_held(state: &Path) -> bool {
        let held = |file: io::Result<File>| {
            let lock = |file| flock(file, FlockOperation::NonBlockingLockShared);
            file.is_ok_and(|file| lock(file) == Err(Errno::WOULDBLOCK))
        };
        held(File::open(state)) || held(read::open(&state.join(NAME)))
    }
}

/// Locks it, though somebody may look at it meanwhile.
fn locked(file: &File, until: Instant) -> Result<(), Errno> {
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if Instant::now() < until => thread::sleep(TICK),
            done => return done,
        }
    }
}

/// What lies there is what is open.
fn is_same(path: &Path, open: &File) -> bool {
    let name = |stat: fs::Metadata| (stat.dev(), stat.ino());
    let found = fs::metadata(path).map(name).ok();
    found.is_some() && found == open.metadata().map(name).ok()
}

fn within(mut file: &File) -> Option<Told> {
    let mut text = Vec::new();
    let _ = file.rewind();
    let _ = file.take(LONGEST).read_to_end(&mut text);
    serde_json::from_slice(&text).ok()
}

/// Somebody else is the daemon.
fn taken(keeper: &Keeper) -> Error {
    let who = keeper.pid.map(|pid| format!(", as process {pid}")).unwrap_or_default();
    Error::new(Kind::Refused, format!("the daemon is running already{who}"))
        .hint("`agentctl daemon status` shows it; `agentctl daemon restart` replaces it")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who looks whether somebody has it is not taken for another daemon.
    #[test]
    fn it_is_mended_though_somebody_looks() {
        let dir = tempfile::tempdir().expect("a folder");
        let state = dir.path();
        let mut lock = Lock::take(state).expect("nobody has it");
        lock.tell(&state.join("socket")).expect("our file");
        let path = state.join(NAME);
        fs::remove_file(&path).expect("our file");
        let looks = lockable(&path).expect("our file");
        flock(&looks, FlockOperation::NonBlockingLockShared).expect("nobody has it");
        let until = Instant::now() + TICK * 5;
        thread::scope(|scope| {
            let mended = scope.spawn(|| lock.mend(state));
            while !mended.is_finished() && Instant::now() < until {
                thread::yield_now();
            }
            drop(looks);
            assert!(mended.join().expect("no panic").expect("it is only looked at"));
        });
        assert!(Lock::is_held(state));
    }
}
