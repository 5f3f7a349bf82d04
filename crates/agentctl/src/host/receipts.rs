//! Our receipts, read with suspicion: a file that is no receipt is passed over, whatever is in it.

#[cfg(target_os = "linux")]
use super::linux::boot;
use crate::read;
use agentctl_core::{
    host::Kernel,
    ident::ProcKey,
    receipt::{Exit, Launched, SCHEMA, Stopped},
};
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Below the directory of our state: receipts of launches.
pub(crate) const LAUNCHES: &str = "launches";
/// Below the directory of our state: receipts of stops.
pub(crate) const STOPS: &str = "stops";
/// No more files than this are looked at.
const MOST: usize = 10_000;
/// What belongs to no receipt is left alone this long: somebody may be writing it.
const UNFINISHED: SignedDuration = SignedDuration::from_hours(24);

/// What is written down.
#[derive(Debug, Default)]
pub(crate) struct Receipts {
    /// Launches, newest first.
    pub(crate) launches: Vec<Launched>,
    /// Stops, each with its file.
    pub(crate) stops: Vec<(PathBuf, Stopped)>,
    /// Files that nobody needs any more, each with why.
    pub(crate) stale: Vec<(PathBuf, &'static str)>,
}

impl Receipts {
    /// Reads all, and removes what nobody needs any more.
    pub(crate) fn read(state: &Path, now: Timestamp, kernel: &dyn Kernel) -> Self {
        let mut found = Self::scan(state, now, kernel);
        for (path, _) in found.stale.drain(..) {
            let _ = fs::remove_file(path); // whoever reads next tries again
        }
        found
    }

    /// Reads all, and touches nothing.
    pub(crate) fn scan(state: &Path, now: Timestamp, kernel: &dyn Kernel) -> Self {
        let mut found = Self::default();
        for (name, group) in groups(&state.join(LAUNCHES)) {
            found.launch(&state.join(LAUNCHES).join(name), group, now, kernel);
        }
        found.launches.sort_by_key(|launch| std::cmp::Reverse(launch.at));
        for (name, group) in groups(&state.join(STOPS)) {
            found.stop(state.join(STOPS).join(name).with_extension("json"), group, now);
        }
        found
    }

    fn launch(&mut self, stem: &Path, group: Vec<PathBuf>, now: Timestamp, kernel: &dyn Kernel) {
        // A receipt under another name than its own was put there by somebody else.
        let named = |one: &Launched| stem.file_name().is_some_and(|name| *name == *one.launch);
        let own = |one: &Launched| one.schema == SCHEMA && named(one);
        let Some(mut launch) = one::<Launched>(&stem.with_extension("json")).filter(own) else {
            return self.unfinished(group, now);
        };
        let exit = one::<Exit>(&stem.with_extension("exit"));
        launch.exit = exit.filter(|exit| exit.schema == SCHEMA);
        // Few are stale: only of those the kernel is asked.
        let lives = || launch.process.as_ref().is_some_and(|process| lives(process, kernel));
        match launch.is_stale(now, false) && !lives() {
            true => self.goes(group, "its process is gone, and its time is over"),
            false => self.launches.push(launch),
        }
    }

    fn stop(&mut self, path: PathBuf, group: Vec<PathBuf>, now: Timestamp) {
        let name = |stop: &Stopped| stop_name(&stop.process);
        let named = |stop: &Stopped| path.file_name().is_some_and(|own| *own == *name(stop));
        match one::<Stopped>(&path).filter(|stop| stop.schema == SCHEMA && named(stop)) {
            Some(stop) if stop.is_stale(now) => self.goes(group, "its time is over"),
            Some(stop) => self.stops.push((path, stop)),
            None => self.unfinished(group, now),
        }
    }

    /// What is no receipt goes once nobody can be writing it any more. What is another's stays.
    fn unfinished(&mut self, group: Vec<PathBuf>, now: Timestamp) {
        if group.iter().all(|path| read::is_left(path, now, UNFINISHED)) {
            self.goes(group, "it belongs to no receipt");
        }
    }

    fn goes(&mut self, group: Vec<PathBuf>, why: &'static str) {
        self.stale.extend(group.into_iter().map(|path| (path, why)));
    }
}

/// What the receipt of a stop of this process is called.
pub(crate) fn stop_name(key: &ProcKey) -> String {
    format!("{}-{}.json", key.pid, key.start)
}

/// That very process may still be there. What cannot be told of it is no reason to forget it.
fn lives(key: &ProcKey, kernel: &dyn Kernel) -> bool {
    #[cfg(target_os = "linux")]
    if boot().is_ok_and(|boot| boot != key.boot) {
        return false;
    }
    kernel.began(key.pid, key.start).map_or(true, |found| found.is_some())
}

/// Files by the first part of their names: a receipt, and what belongs to it.
fn groups(dir: &Path) -> BTreeMap<String, Vec<PathBuf>> {
    let mut groups: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().take(MOST);
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_dir())) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let stem = name.split('.').next().unwrap_or_default();
        groups.entry(stem.to_owned()).or_default().push(entry.path());
    }
    groups
}

/// The receipt in a file, if one is in it.
pub(crate) fn one<T: DeserializeOwned>(path: &Path) -> Option<T> {
    read::whole(path).ok()
}
