//! Removes files of ours that nobody needs, and what agentctl 1.x left behind.

use super::{Here, dirs::CLAIMS};
use crate::{error::Error, host::Receipts, places};
use agentctl_core::wire::{Problem, Pruned, SCHEMA, Swept};
use jiff::{SignedDuration, Timestamp};
use rustix::fs::{FlockOperation, flock};
use std::{
    env,
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// What agentctl 1.x wrote, below the home directory.
const LEGACY: &[&str] = &[
    ".agentctl/state.json",
    ".claude/agentctl/sessions",
    ".codex/agentctl/sessions",
    ".pi/agentctl/sessions",
];
/// The folder in which it kept sessions under made-up names, and how those begin.
const PENDING: (&str, &str) = (".agentctl/opencode-sessions", "pending-");
/// Nobody needs so long to launch.
const LAUNCHED: SignedDuration = SignedDuration::from_hours(1);

/// Sweeps receipts, and what launches that were killed left behind.
pub(crate) fn prune(here: &Here, dry_run: bool) -> Result<Pruned, Error> {
    let state = places::known_state()?;
    let stale = Receipts::scan(&state, here.now(), here.host()).stale;
    let stale = stale.into_iter().map(|(path, why)| Swept { path, why: why.to_owned() });
    let mut all: Vec<Swept> = stale.collect();
    all.extend(claims(&state, here.now()));
    Ok(sweep(all, dry_run, |path| fs::remove_file(path)))
}

/// Shows what agentctl 1.x left behind, or removes it.
pub(crate) fn legacy(remove: bool) -> Pruned {
    sweep(left_behind(), !remove, remove_legacy)
}

/// What agentctl 1.x left behind. No answer depends on it.
pub(super) fn left_behind() -> Vec<Swept> {
    let Some(home) = home() else { return Vec::new() };
    let fixed = LEGACY.iter().map(|below| home.join(below));
    let there = |path: &PathBuf| path.symlink_metadata().is_ok();
    let mut found: Vec<PathBuf> = fixed.filter(there).collect();
    let (folder, begins) = PENDING;
    let pending = fs::read_dir(home.join(folder)).into_iter().flatten().flatten();
    let pending = pending.filter(|one| one.file_name().to_string_lossy().starts_with(begins));
    found.extend(pending.map(|entry| entry.path()));
    found.sort();
    let why = || "agentctl 1.x wrote it, and nothing reads it".to_owned();
    found.into_iter().map(|path| Swept { path, why: why() }).collect()
}

fn home() -> Option<PathBuf> {
    env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

fn sweep(all: Vec<Swept>, dry_run: bool, remove: impl Fn(&Path) -> io::Result<()>) -> Pruned {
    let (mut removed, mut problems) = (Vec::new(), Vec::new());
    for one in all {
        match if dry_run { Ok(()) } else { remove(&one.path) } {
            Ok(()) => removed.push(one),
            Err(why) if why.kind() == io::ErrorKind::NotFound => {} // somebody else was quicker
            Err(why) => problems.push(Problem {
                agent: "agentctl".to_owned(),
                path: Some(one.path),
                message: format!("cannot be removed: {why}"),
            }),
        }
    }
    Pruned { schema: SCHEMA, dry_run, removed, problems }
}

/// Claims of launches that were killed: nobody holds them, and they are old.
fn claims(state: &Path, now: Timestamp) -> Vec<Swept> {
    let entries = fs::read_dir(state.join(CLAIMS)).into_iter().flatten().flatten();
    let is_free = |path: &PathBuf| {
        let stat = path.symlink_metadata().ok().filter(fs::Metadata::is_file);
        let at = stat.and_then(|stat| Timestamp::from_second(stat.mtime()).ok());
        let is_old = at.is_some_and(|at| now.duration_since(at).abs() > LAUNCHED);
        let alone = |file: File| flock(file, FlockOperation::NonBlockingLockExclusive).is_ok();
        is_old && File::open(path).is_ok_and(alone)
    };
    let free = entries.map(|entry| entry.path()).filter(is_free);
    let why = || "nobody launches there any more".to_owned();
    free.map(|path| Swept { path, why: why() }).collect()
}

/// Never through a link that leads out of the home.
fn remove_legacy(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    let home = home().unwrap_or_default().canonicalize()?;
    if !folder.canonicalize()?.starts_with(home) {
        return Err(io::Error::other("a link leads out of the home; remove it yourself"));
    }
    match path.symlink_metadata()?.is_dir() {
        true => fs::remove_dir_all(path)?,
        false => fs::remove_file(path)?,
    }
    // What it made for this alone goes too, once it is empty.
    if folder.ends_with("agentctl") || folder.ends_with(PENDING.0) {
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}
