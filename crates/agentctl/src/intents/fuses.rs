//! Fuses that people set: a file each.

use crate::{read, write};
use agentctl_core::fuse::{Fuse, SCHEMA};
use jiff::{SignedDuration, Timestamp};
use rustix::fs::{FlockOperation, flock};
use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// What fuse files end with.
const KIND: &str = "json";
/// Nobody needs so long to write one.
const WRITTEN: SignedDuration = SignedDuration::from_hours(1);

/// Every fuse, and every file that cannot be read as one.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) fuses: Vec<Fuse>,
    pub(crate) broken: Vec<(PathBuf, String)>,
}

/// Where the files are.
pub(crate) fn folder(state: &Path) -> PathBuf {
    state.join("intents").join("fuses")
}

/// All fuses, the next to fire first. No folder means that there are none.
pub(crate) fn all(state: &Path) -> io::Result<Found> {
    let entries = match fs::read_dir(folder(state)) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Found::default()),
        entries => entries?,
    };
    let mut found = Found::default();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|kind| kind == write::DRAFT) {
            continue;
        }
        match one(&path) {
            Ok(fuse) => found.fuses.push(fuse),
            Err(why) => found.broken.push((path, why)),
        }
    }
    found.fuses.sort_by(|one, other| (one.deadline, &one.id).cmp(&(other.deadline, &other.id)));
    found.broken.sort();
    Ok(found)
}

/// Sets a new fuse, for good; one of the same name is there already where this fails so.
pub(crate) fn add(state: &Path, fuse: &Fuse) -> io::Result<()> {
    write::make_dir(&folder(state))?;
    write::fresh(&path(state, fuse), fuse)
}

/// A fuse that nobody else changes or fires meanwhile: a kernel lock, which goes with this value or its process.
pub(crate) struct Held {
    /// As it is.
    pub(crate) fuse: Fuse,
    path: PathBuf,
    _lock: File,
}

impl Held {
    /// Takes hold of a fuse; who is too late is told by `WouldBlock`. `None` is that it is gone.
    pub(crate) fn take(state: &Path, id: &str) -> io::Result<Option<Self>> {
        let path = folder(state).join(format!("{id}.{KIND}"));
        loop {
            let file = match read::open(&path) {
                Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
                file => file?,
            };
            flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            let now = fs::symlink_metadata(&path).map(|stat| stat.ino());
            // Whoever had it before has written it anew: nobody else would meet us there.
            if now.is_ok_and(|now| file.metadata().is_ok_and(|stat| stat.ino() == now)) {
                let fuse = one(&path).map_err(io::Error::other)?;
                return Ok(Some(Self { fuse, path, _lock: file }));
            }
        }
    }

    /// Writes it anew, and lets go.
    pub(crate) fn change(self, fuse: &Fuse) -> io::Result<()> {
        write::whole(&self.path, fuse)
    }
}

/// Files that nobody needs any more: fuses that fired or were cancelled long ago, and drafts of whoever was killed.
pub(crate) fn left(state: &Path, now: Timestamp) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder(state)).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let over = |path: &PathBuf| match path.extension().is_some_and(|kind| kind == write::DRAFT) {
        true => read::is_left(path, now, WRITTEN),
        false => one(path).is_ok_and(|fuse| fuse.is_stale(now)),
    };
    paths.filter(over).collect()
}

fn path(state: &Path, fuse: &Fuse) -> PathBuf {
    folder(state).join(format!("{}.{KIND}", fuse.id))
}

fn one(path: &Path) -> Result<Fuse, String> {
    let fuse: Fuse = read::whole(path).map_err(|why| why.to_string())?;
    let named = path.file_stem().is_some_and(|stem| *stem == *fuse.id.as_str());
    match fuse.schema == SCHEMA {
        false => Err(format!("its schema is {}, not {SCHEMA}", fuse.schema)),
        true if !named => Err("it speaks of another fuse than its name".to_owned()),
        true => Ok(fuse),
    }
}
