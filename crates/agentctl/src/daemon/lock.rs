//! One daemon for one directory of state: a kernel lock, given back by whoever dies.
//!
//! What is in the file only says where to look; that somebody runs, the lock alone says.

use super::VERSION;
use crate::{
    error::{Error, Kind},
    read,
    write::{lockable, make_dir},
};
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

/// Where whoever has the lock can be found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Told {
    #[serde(default)]
    pub(super) pid: u32,
    #[serde(default)]
    pub(super) version: String,
    #[serde(default)]
    pub(super) socket: PathBuf,
}

/// The lock; it goes with this value, or with the process.
pub(super) struct Lock(File);

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
                Ok(()) => return Ok(Self(file)),
                Err(Errno::WOULDBLOCK) if began.elapsed() < LOOKED => thread::sleep(TICK),
                Err(Errno::WOULDBLOCK) => return Err(taken(&within(&file))),
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
        let text = serde_json::to_vec(&Told { pid, version, socket: socket.to_owned() })?;
        self.0.set_len(0)?;
        self.0.rewind()?;
        self.0.write_all(&text)
    }

    /// It is still the lock that others look at: whoever removes its file makes room for a second daemon.
    pub(super) fn is_found(&self, state: &Path) -> bool {
        let name = |stat: fs::Metadata| (stat.dev(), stat.ino());
        let found = fs::metadata(state.join(NAME)).map(name).ok();
        found.is_some() && found == self.0.metadata().map(name).ok()
    }

    /// Who has it, if anybody has.
    pub(super) fn holder(state: &Path) -> Option<Told> {
        let file = read::open(&state.join(NAME)).ok()?;
        let held = flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK);
        held.then(|| within(&file))
    }
}

fn within(mut file: &File) -> Told {
    let mut text = Vec::new();
    let _ = file.rewind();
    let _ = file.take(LONGEST).read_to_end(&mut text);
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Somebody else is the daemon.
fn taken(told: &Told) -> Error {
    let who = if told.pid == 0 { String::new() } else { format!(", as process {}", told.pid) };
    Error::new(Kind::Refused, format!("the daemon is running already{who}"))
        .hint("`agentctl daemon status` shows it; `agentctl daemon restart` replaces it")
}
