//! Directories that people locked: a file each, whose name says which directory.
//!
//! The name alone locks. What is in the file only says who asked for it, when and why, so that a file
//! that cannot be read still locks what it was made for.

use crate::{places, read, write};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// The number of this shape.
const SCHEMA: u32 = 1;
/// What lock files end with.
const KIND: &str = "json";
/// Nobody needs so long to write one.
const WRITTEN: SignedDuration = SignedDuration::from_hours(1);

/// What a lock file holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Written {
    schema: u32,
    /// For people, and where the name of the file was cut; absent where it is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    since: Timestamp,
}

/// A directory that somebody locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    /// The file that says so.
    pub(crate) path: PathBuf,
    /// The directory; absent where neither the name of the file nor what is in it tells.
    pub(crate) directory: Option<PathBuf>,
    pub(crate) by: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) since: Timestamp,
    /// Why the file cannot be read.
    pub(crate) problem: Option<String>,
}

/// Where the files are that lock.
pub(crate) fn folder(state: &Path) -> PathBuf {
    state.join("intents").join("locks")
}

/// All that is locked. No folder means that nothing is; one that is out of reach is an error.
pub(crate) fn all(state: &Path) -> io::Result<Vec<Given>> {
    let Some(entries) = read::dir(&folder(state))? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if !is_draft(&path) {
            found.push(given(path));
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

/// Drafts that whoever was killed has left. They lock nothing.
pub(crate) fn left(state: &Path, now: Timestamp) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder(state)).into_iter().flatten().flatten();
    let drafts = entries.map(|entry| entry.path()).filter(|path| is_draft(path));
    drafts.filter(|path| read::is_left(path, now, WRITTEN)).collect()
}

fn is_draft(path: &Path) -> bool {
    path.extension().is_some_and(|kind| kind == write::DRAFT)
}

/// Locks a directory, for good: what is told afterwards survives a power cut.
pub(crate) fn add(
    state: &Path,
    directory: &Path,
    by: Option<String>,
    reason: Option<String>,
) -> io::Result<Given> {
    let folder = folder(state);
    write::make_dir(&folder)?;
    let path = folder.join(format!("{}.{KIND}", places::name_of(directory)));
    let written = Written {
        schema: SCHEMA,
        directory: directory.to_str().map(str::to_owned),
        by,
        reason,
        since: Timestamp::now(),
    };
    write::fresh(&path, &written)?;
    Ok(given(path))
}

/// Unlocks what this file locks.
pub(crate) fn take_away(given: &Given) -> io::Result<()> {
    write::remove(&given.path)
}

fn given(path: PathBuf) -> Given {
    let stem = path.file_stem().filter(|_| path.extension().is_some_and(|kind| kind == KIND));
    let named = stem.and_then(places::of_name);
    let written = match read::whole::<Written>(&path) {
        Ok(written) if written.schema == SCHEMA => written,
        Ok(other) => {
            return unreadable(
                path,
                named,
                format!("its schema is {}, not {SCHEMA}", other.schema),
            );
        }
        Err(why) => return unreadable(path, named, why.to_string()),
    };
    let told = written.directory.map(PathBuf::from);
    let fits = |told: &PathBuf| stem.is_some_and(|stem| stem == places::name_of(told).as_str());
    if !told.as_ref().map_or(named.is_some(), fits) {
        let why = "it speaks of another directory than its name";
        return unreadable(path, named, why.to_owned());
    }
    let Written { by, reason, since, .. } = written;
    Given { path, directory: named.or(told), by, reason, since, problem: None }
}

fn unreadable(path: PathBuf, directory: Option<PathBuf>, why: String) -> Given {
    let changed = fs::symlink_metadata(&path).ok();
    let since = changed.and_then(|stat| Timestamp::from_second(stat.mtime()).ok());
    let since = since.unwrap_or(Timestamp::UNIX_EPOCH);
    Given { path, directory, by: None, reason: None, since, problem: Some(why) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that mean no good.
    mod hostile {
        use super::*;
        use agentctl_testkit::hostile::Target;

        /// Whatever stands in a lock, it locks what its name says.
        #[test]
        fn any_lock_locks_what_its_name_says() {
            let run = |bytes: &[u8]| {
                let dir = tempfile::tempdir().expect("a folder");
                let path =
                    dir.path().join(format!("{}.{KIND}", places::name_of(Path::new("/w/a"))));
                fs::write(&path, bytes).expect("the folder is ours");
                assert_eq!(given(path).directory.as_deref(), Some(Path::new("/w/a")));
            };
            let seeds = || {
                let by = br#"{"schema":1,"directory":"/w/a","by":"me","reason":"x","since":"2026-11-15T18:24:04Z"}"#;
                vec![by.to_vec()]
            };
            Target { name: "locked", run, seeds }.holds(1_000);
        }
    }
}
