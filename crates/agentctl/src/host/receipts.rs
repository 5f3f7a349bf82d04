//! Our receipts, read with suspicion: a file that is no receipt is passed over, whatever is in it.

use agentctl_core::{
    host::Told,
    ident::ProcKey,
    receipt::{Exit, Launched, SCHEMA, Stopped},
};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

/// Below the directory of our state: receipts of launches.
pub(crate) const LAUNCHES: &str = "launches";
/// Below the directory of our state: receipts of stops.
pub(crate) const STOPS: &str = "stops";
/// No receipt is longer.
const LONGEST: u64 = 64 << 10;
/// No more files than this are looked at.
const MOST: usize = 10_000;

/// What is written down.
#[derive(Debug, Default)]
pub(crate) struct Receipts {
    /// Launches, newest first.
    pub(crate) launches: Vec<Launched>,
    /// Stops, each with its file.
    pub(crate) stops: Vec<(PathBuf, Stopped)>,
}

impl Receipts {
    /// Reads all, and removes those that nobody needs any more.
    pub(crate) fn read(
        state: &Path,
        now: Timestamp,
        is_alive: &dyn Fn(&ProcKey) -> Told<bool>,
    ) -> Self {
        let mut launches = Vec::new();
        for path in files(&state.join(LAUNCHES), "json") {
            let Some(mut launch) = one::<Launched>(&path).filter(|one| one.schema == SCHEMA) else {
                sweep_foreign(&path, now);
                continue;
            };
            launch.exit = one::<Exit>(&path.with_extension("exit"));
            // What cannot be told of a process is no reason to forget it.
            let alive = is_alive(&launch.process).unwrap_or(true);
            match launch.is_stale(now, alive) {
                true => forget(&path, &launch),
                false => launches.push(launch),
            }
        }
        launches.sort_by_key(|launch| std::cmp::Reverse(launch.at));
        let mut stops = Vec::new();
        for path in files(&state.join(STOPS), "json") {
            match one::<Stopped>(&path) {
                Some(stop) if stop.schema == SCHEMA && !stop.is_stale(now) => {
                    stops.push((path, stop));
                }
                Some(_) => drop(fs::remove_file(&path)),
                None => sweep_foreign(&path, now),
            }
        }
        Self { launches, stops }
    }
}

/// Removes a receipt and what belongs to it.
fn forget(path: &Path, launch: &Launched) {
    let own = |file: &Path| file.file_stem() == path.file_stem();
    for file in [Some(&launch.log), launch.input.as_ref()].into_iter().flatten() {
        // Only what we made: a receipt may say anything.
        if own(file) && file.parent() == path.parent() {
            let _ = fs::remove_file(file);
        }
    }
    let _ = fs::remove_file(path.with_extension("exit"));
    let _ = fs::remove_file(path);
}

/// What is no receipt goes once nobody can be writing it any more.
fn sweep_foreign(path: &Path, now: Timestamp) {
    let day = std::time::Duration::from_secs(24 * 3600);
    let written = fs::metadata(path).and_then(|stat| stat.modified());
    let age = written.ok().and_then(|at| std::time::SystemTime::from(now).duration_since(at).ok());
    if age.is_none_or(|age| age > day) {
        let _ = fs::remove_file(path);
    }
}

fn files(dir: &Path, kind: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().take(MOST);
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.extension() == Some(OsStr::new(kind))).collect()
}

/// The receipt in a file, if one is in it.
pub(crate) fn one<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let stat = fs::symlink_metadata(path).ok().filter(|stat| stat.is_file())?;
    if stat.len() > LONGEST {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}
