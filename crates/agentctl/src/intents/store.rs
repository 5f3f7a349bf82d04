//! Intents that are a file each: read and written whole, changed by one at a time.

use crate::{read, write};
use jiff::{SignedDuration, Timestamp};
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// What the files end with.
const KIND: &str = "json";
/// Nobody needs so long to write one.
const WRITTEN: SignedDuration = SignedDuration::from_hours(1);

/// Something that a person asked for.
pub(crate) trait Intent: Serialize + DeserializeOwned {
    /// What it is called.
    const WORD: &'static str;
    /// The folder below that of all intents.
    const FOLDER: &'static str;
    /// The number of its shape.
    const SCHEMA: u32;
    /// The number that stands in it, and its name, which is that of its file.
    fn named(&self) -> (u32, &str);
    /// It was over long ago.
    fn is_stale(&self, now: Timestamp) -> bool;
}

/// Every one, and every file that cannot be read as one.
#[derive(Debug)]
pub(crate) struct Found<T> {
    pub(crate) all: Vec<T>,
    pub(crate) broken: Vec<(PathBuf, String)>,
}

/// Where the files are.
pub(crate) fn folder<T: Intent>(state: &Path) -> PathBuf {
    state.join("intents").join(T::FOLDER)
}

/// All of them, in the order of their names. No folder means that there are none.
pub(crate) fn all<T: Intent>(state: &Path) -> io::Result<Found<T>> {
    let mut found = Found { all: Vec::new(), broken: Vec::new() };
    let Some(entries) = read::dir(&folder::<T>(state))? else { return Ok(found) };
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|kind| kind == write::DRAFT) {
            continue;
        }
        match one(&path) {
            Ok(intent) => found.all.push(intent),
            Err(why) => found.broken.push((path, why)),
        }
    }
    found.all.sort_by(|one: &T, other| one.named().1.cmp(other.named().1));
    found.broken.sort();
    Ok(found)
}

/// The one of this name; `None` where there is none. One that cannot be read is an error.
pub(crate) fn get<T: Intent>(state: &Path, id: &str) -> Result<Option<T>, String> {
    let path = path::<T>(state, id);
    match fs::symlink_metadata(&path) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(why.to_string()),
        Ok(_) => one(&path).map(Some),
    }
}

/// Writes a new one, for good; one of the same name is there already where this fails so.
pub(crate) fn add<T: Intent>(state: &Path, intent: &T) -> io::Result<()> {
    write::make_dir(&folder::<T>(state))?;
    write::fresh(&path::<T>(state, intent.named().1), intent)
}

/// Why nobody could take hold of one.
#[derive(Debug)]
pub(crate) enum Untaken {
    /// Somebody else has it.
    Held,
    /// The kernel does not lock this file.
    Unlocked(PathBuf, io::Error),
    /// What is in this file cannot be read.
    Unread(PathBuf, String),
}

/// One that nobody else changes meanwhile: a kernel lock, which goes with this value or its process.
pub(crate) struct Held<T> {
    /// As it is.
    pub(crate) now: T,
    path: PathBuf,
    _lock: File,
}

impl<T: Intent> Held<T> {
    /// Takes hold of it. `None` is that it is gone.
    pub(crate) fn take(state: &Path, id: &str) -> Result<Option<Self>, Untaken> {
        let path = path::<T>(state, id);
        loop {
            let file = match read::open(&path) {
                Ok(file) => file,
                Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(why) => return Err(Untaken::Unread(path, why.to_string())),
            };
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Err(Untaken::Held),
                Err(why) => return Err(Untaken::Unlocked(path, why.into())),
            }
            let now = fs::symlink_metadata(&path).map(|stat| stat.ino());
            // Whoever had it before has written it anew: nobody else would meet us there.
            if now.is_ok_and(|now| file.metadata().is_ok_and(|stat| stat.ino() == now)) {
                return match one(&path) {
                    Ok(now) => Ok(Some(Self { now, path, _lock: file })),
                    Err(why) => Err(Untaken::Unread(path, why)),
                };
            }
        }
    }

    /// Writes it anew, and lets go.
    pub(crate) fn change(self, to: &T) -> io::Result<()> {
        write::whole(&self.path, to)
    }

    /// Removes it.
    fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// Files that nobody needs any more: those that are over, and drafts of whoever was killed.
pub(crate) fn left<T: Intent>(
    state: &Path,
    now: Timestamp,
    is_over: impl Fn(&T) -> bool,
) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder::<T>(state)).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let over = |path: &PathBuf| match path.extension().is_some_and(|kind| kind == write::DRAFT) {
        true => read::is_left(path, now, WRITTEN),
        false => one(path).is_ok_and(|intent| is_over(&intent)),
    };
    paths.filter(over).collect()
}

/// Removes such a file, unless it is in use or was changed since: `WouldBlock` says so.
pub(crate) fn remove<T: Intent>(state: &Path, path: &Path, now: Timestamp) -> io::Result<()> {
    if path.extension().is_some_and(|kind| kind == write::DRAFT) {
        return fs::remove_file(path); // nobody else knows its name
    }
    let id = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let held = Held::<T>::take(state, id).map_err(|why| match why {
        Untaken::Held => io::ErrorKind::WouldBlock.into(),
        Untaken::Unlocked(_, why) => why,
        Untaken::Unread(_, why) => io::Error::other(why),
    })?;
    let held = held.ok_or(io::ErrorKind::NotFound)?;
    match held.now.is_stale(now) {
        true => held.remove(),
        false => Err(io::ErrorKind::WouldBlock.into()),
    }
}

fn path<T: Intent>(state: &Path, id: &str) -> PathBuf {
    folder::<T>(state).join(format!("{id}.{KIND}"))
}

fn one<T: Intent>(path: &Path) -> Result<T, String> {
    let intent: T = read::whole(path).map_err(|why| why.to_string())?;
    let (schema, id) = intent.named();
    let named = path.file_stem().is_some_and(|stem| *stem == *id);
    match schema == T::SCHEMA {
        false => Err(format!("its schema is {schema}, not {}", T::SCHEMA)),
        true if !named => Err(format!("it speaks of another {} than its name", T::WORD)),
        true => Ok(intent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that mean no good.
    mod hostile {
        use super::*;
        use agentctl_core::{budget::Budget, fuse::Fuse};
        use agentctl_testkit::hostile::Target;
        use std::fs;

        fn look(bytes: &[u8]) {
            let dir = tempfile::tempdir().expect("a folder");
            let path = dir.path().join("b-1.json");
            fs::write(&path, bytes).expect("the folder is ours");
            let named = |id: &str, schema| assert_eq!((id, schema), ("b-1", 1));
            let _ = one::<Budget>(&path).map(|it| named(&it.id, it.schema));
            let _ = one::<Fuse>(&path).map(|it| named(&it.id, it.schema));
        }

        /// A budget or a fuse is that of its name, or is told as spoiled.
        #[test]
        fn any_intent_is_that_of_its_name_or_an_error() {
            let seeds = || {
                let budget = br#"{"schema":1,"id":"b-1","agent":"pi","session":"s","set_at":"2026-11-15T18:24:04Z","limits":{"tokens":5},"action":"stop"}"#;
                vec![budget.to_vec()]
            };
            assert!(seeds().iter().all(|seed| serde_json::from_slice::<Budget>(seed).is_ok()));
            Target { name: "intents", run: look, seeds }.holds(1_000);
        }
    }
}
