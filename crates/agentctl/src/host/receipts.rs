//! Our receipts, read with suspicion: a file that is no receipt is passed over, whatever is in it. Where something else has
//! the name of a receipt of ours, that is told, for what was in it is lost.

#[cfg(target_os = "linux")]
use super::linux::boot;
use super::{
    Refused,
    names::{is_ours, stop_name},
    portable,
};
use crate::read;
use agentctl_core::{
    host::Kernel,
    ident::ProcKey,
    receipt::{Exit, HookName, Launched, Ran, Run, Runs, SCHEMA, Stopped},
};
use jiff::{SignedDuration, Timestamp};
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};
use serde::de::DeserializeOwned;
use std::{
    cmp::Reverse,
    collections::BTreeMap,
    fs::{self, DirEntry},
    io,
    path::{Path, PathBuf},
};

/// Below the directory of our state: receipts of launches.
pub(crate) const LAUNCHES: &str = "launches";
/// Below the directory of our state: receipts of stops.
pub(crate) const STOPS: &str = "stops";
/// So many of each kind are kept; of those beyond, whatever still lives.
const MOST: usize = 2000;
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
    /// Files and folders of ours that cannot be read, each with why.
    pub(crate) lost: Vec<(PathBuf, String)>,
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
        // Below what never was a directory nothing was ever kept.
        if fs::symlink_metadata(state).is_err() {
            return found;
        }
        let (mut launches, mut stops) = (Vec::new(), Vec::new());
        for (name, group) in found.groups(&state.join(LAUNCHES)) {
            let stem = state.join(LAUNCHES).join(name);
            let launch = found.launch(&stem, &group, now, kernel);
            launches.extend(launch.map(|launch| (launch, group)));
        }
        for (name, group) in found.groups(&state.join(STOPS)) {
            let path = state.join(STOPS).join(name).with_extension("json");
            let stop = found.stop(&path, &group, now);
            stops.extend(stop.map(|stop| ((path, stop), group)));
        }
        launches.sort_by_key(|(launch, _)| Reverse(launch.at));
        stops.sort_by_key(|((_, stop), _)| Reverse(stop.at));
        found.launches = found.newest(launches, |launch| is_alive(launch, kernel));
        found.stops = found.newest(stops, |_| false);
        found
    }

    /// The first ones, and those behind them that must stay. The rest goes as a whole: a log without its
    /// receipt would be nobody's.
    fn newest<T>(&mut self, all: Vec<(T, Vec<PathBuf>)>, stays: impl Fn(&T) -> bool) -> Vec<T> {
        let mut kept = Vec::new();
        for (place, (one, group)) in all.into_iter().enumerate() {
            match place < MOST || stays(&one) {
                true => kept.push(one),
                false => self.goes(&group, "there are many newer ones"),
            }
        }
        kept
    }

    fn launch(
        &mut self,
        stem: &Path,
        group: &[PathBuf],
        now: Timestamp,
        kernel: &dyn Kernel,
    ) -> Option<Launched> {
        let named = |one: &Launched| stem.file_name().is_some_and(|name| *name == *one.launch);
        let own = |one: &Launched| one.schema == SCHEMA && named(one);
        let [json, exit] = ["json", "exit"].map(|kind| stem.with_extension(kind));
        let Some(mut launch) = self.read_one::<Launched>(&json, own) else {
            self.unfinished(&json, group, now);
            return None;
        };
        launch.exit = self.read_one::<Exit>(&exit, |exit| exit.schema == SCHEMA);
        // Few are stale: only of those the kernel is asked.
        if launch.is_stale(now, false) && !is_alive(&launch, kernel) {
            self.goes(group, "its process is gone, and its time is over");
            return None;
        }
        launch.runs = self.runs(stem, &launch, kernel);
        Some(launch)
    }

    fn stop(&mut self, path: &Path, group: &[PathBuf], now: Timestamp) -> Option<Stopped> {
        let name = |stop: &Stopped| stop_name(&stop.process);
        let named = |stop: &Stopped| path.file_name().is_some_and(|own| *own == *name(stop));
        let own = |stop: &Stopped| stop.schema == SCHEMA && named(stop);
        match self.read_one::<Stopped>(path, own) {
            Some(stop) if stop.is_stale(now) => self.goes(group, "its time is over"),
            Some(stop) => return Some(stop),
            None => self.unfinished(path, group, now),
        }
        None
    }

    /// What is no receipt goes once nobody can be writing it any more. What is another's stays, and so does one that
    /// was destroyed: with it would go that something is lost, and the session may still live.
    fn unfinished(&mut self, receipt: &Path, group: &[PathBuf], now: Timestamp) {
        if self.lost.iter().any(|(path, _)| path == receipt) {
            return;
        }
        if group.iter().all(|path| read::is_left(path, now, UNFINISHED)) {
            self.goes(group, "it belongs to no receipt");
        }
    }

    fn goes(&mut self, group: &[PathBuf], why: &'static str) {
        self.stale.extend(group.iter().map(|path| (path.clone(), why)));
    }

    /// The receipt in a file, if it is the one that we gave this name; where another thing has that name, it is noted
    /// that ours is lost.
    fn read_one<T: DeserializeOwned>(
        &mut self,
        path: &Path,
        own: impl Fn(&T) -> bool,
    ) -> Option<T> {
        let (found, why) = match read::whole(path) {
            Ok(one) if own(&one) => (Some(one), None),
            Ok(_) => (None, Some("it is of another name or version".to_owned())),
            Err(why) if why.kind() == io::ErrorKind::NotFound => (None, None),
            Err(why) => (None, Some(why.to_string())),
        };
        let why = why.filter(|_| is_ours(path));
        self.lost.extend(why.map(|why| (path.to_owned(), why)));
        found
    }

    /// What became of the hooks of a launch.
    fn runs(&mut self, stem: &Path, launch: &Launched, kernel: &dyn Kernel) -> Runs {
        let Some(hooks) = &launch.hooks else { return Runs::default() };
        let mut run = |name: HookName| {
            let path = stem.with_extension(name.name());
            let ran = self.read_one::<Ran>(&path, |ran| ran.schema == SCHEMA);
            let damage = self.lost.last().filter(|(lost, _)| *lost == path).cloned();
            match ran {
                Some(Ran { end: Some(end), at, by, schema }) => {
                    Run::Ended(Ran { end: None, at, by, schema }, end)
                }
                Some(ran) if lives(&ran.by, kernel) => Run::Running(ran),
                Some(ran) => Run::Lost(ran),
                // Whatever lies there keeps everybody from running it.
                None if let Some((path, why)) = damage => Run::Damaged(path, why),
                None => match name {
                    HookName::OnCreate => Run::NotRun,
                    HookName::OnComplete if hooks.on_complete.is_none() => Run::NotRun,
                    HookName::OnComplete if is_watched(&stem.with_extension("log")) => Run::Waiting,
                    HookName::OnComplete => Run::NotRun,
                },
            }
        };
        Runs { on_create: run(HookName::OnCreate), on_complete: run(HookName::OnComplete) }
    }

    /// Files by the first part of their names: a receipt, and what belongs to it.
    fn groups(&mut self, dir: &Path) -> BTreeMap<String, Vec<PathBuf>> {
        let mut groups: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        let entries = read::dir(dir);
        self.lost.extend(entries.as_ref().err().map(|why| (dir.to_owned(), why.to_string())));
        let entries = entries.into_iter().flatten().flatten().flatten();
        let is_file = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| !kind.is_dir());
        for entry in entries.filter(|entry| is_file(entry) || is_ours(&entry.path())) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let stem = name.split('.').next().unwrap_or_default();
            groups.entry(stem.to_owned()).or_default().push(entry.path());
        }
        groups
    }
}

/// The agent's parent holds on to the log as long as it lives.
pub(crate) fn is_watched(log: &Path) -> bool {
    let lock = |log| flock(log, FlockOperation::NonBlockingLockShared);
    read::open(log).is_ok_and(|log| lock(log) == Err(Errno::WOULDBLOCK))
}

fn is_alive(launch: &Launched, kernel: &dyn Kernel) -> bool {
    launch.process.as_ref().is_some_and(|process| lives(process, kernel))
}

/// That very process may still be there. What cannot be told of it is no reason to forget it.
fn lives(key: &ProcKey, kernel: &dyn Kernel) -> bool {
    if portable::is_name(key) {
        let check = portable::check(key);
        return matches!(check, Ok(()) | Err(Refused::Untold(_)));
    }
    #[cfg(target_os = "linux")]
    if boot().is_ok_and(|boot| boot != key.boot) {
        return false;
    }
    let began = kernel.began(key.pid, key.start);
    began.map_or_else(|_| !kernel.is_over(key), |found| found.is_some())
}

/// The receipt in a file, if one is in it.
pub(crate) fn one<T: DeserializeOwned>(path: &Path) -> Option<T> {
    read::whole(path).ok()
}
