//! Removes files of ours that nobody needs, and what agentctl 1.x left behind.

use super::{Here, dirs::CLAIMS, observe};
use crate::{error::Error, host::Receipts, intents, places, read};
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
    let mut pruned = nothing(dry_run);
    let receipts = Receipts::scan(&state, here.now(), here.host());
    pruned.problems.extend(observe::lost(&receipts.lost));
    let stale = receipts.stale.into_iter().map(|(path, why)| Swept { path, why: why.to_owned() });
    sweep(&mut pruned, stale, |path| fs::remove_file(path));
    let drafts = intents::locks::left(&state, here.now()).into_iter();
    let drafts = drafts.map(|path| Swept { path, why: "it never became a lock".to_owned() });
    sweep(&mut pruned, drafts, |path| fs::remove_file(path));
    let fuses = intents::fuses::left(&state, here.now()).into_iter();
    let fuses =
        fuses.map(|path| Swept { path, why: "no fuse, or one that was over long ago".to_owned() });
    sweep(&mut pruned, fuses, |path| intents::fuses::remove(&state, path, here.now()));
    let budgets = super::budgets::sweep(here, &state).into_iter();
    let budgets = budgets
        .map(|path| Swept { path, why: "no budget, or one that was over long ago".to_owned() });
    sweep(&mut pruned, budgets, |path| intents::budgets::remove(&state, path, here.now()));
    sweep(&mut pruned, claims(&state, here.now()), remove_claim);
    Ok(pruned)
}

/// Shows what agentctl 1.x left behind, or removes it.
pub(crate) fn legacy(remove: bool) -> Pruned {
    let mut pruned = nothing(!remove);
    sweep(&mut pruned, left_behind(), remove_legacy);
    pruned
}

fn nothing(dry_run: bool) -> Pruned {
    Pruned { schema: SCHEMA, dry_run, removed: Vec::new(), problems: Vec::new() }
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

fn sweep(
    pruned: &mut Pruned,
    all: impl IntoIterator<Item = Swept>,
    remove: impl Fn(&Path) -> io::Result<()>,
) {
    use io::ErrorKind::{NotFound, WouldBlock};
    for one in all {
        match if pruned.dry_run { Ok(()) } else { remove(&one.path) } {
            Ok(()) => pruned.removed.push(one),
            // Somebody else was quicker, to remove it or to use it.
            Err(why) if matches!(why.kind(), NotFound | WouldBlock) => {}
            Err(why) => pruned.problems.push(Problem {
                agent: "agentctl".to_owned(),
                path: Some(one.path),
                message: format!("cannot be removed: {why}"),
            }),
        }
    }
}

/// Claims of launches that were killed: nobody holds them, and they are old.
fn claims(state: &Path, now: Timestamp) -> Vec<Swept> {
    let entries = fs::read_dir(state.join(CLAIMS)).into_iter().flatten().flatten();
    let is_free = |path: &PathBuf| read::is_left(path, now, LAUNCHED) && held(path).is_ok();
    let free = entries.map(|entry| entry.path()).filter(is_free);
    let why = || "nobody launches there any more".to_owned();
    free.map(|path| Swept { path, why: why() }).collect()
}

/// A claim that nobody else holds, and nobody takes while this value is there.
fn held(path: &Path) -> io::Result<File> {
    let file = read::open(path)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    // Whoever had it before may have removed it: another file has its name then.
    match file.metadata()?.nlink() {
        0 => Err(io::ErrorKind::NotFound.into()),
        _ => Ok(file),
    }
}

/// Whoever launches there finds that the file it locked is gone, and makes another. Removed by its name
/// alone, a launch could lose the claim that it has.
fn remove_claim(path: &Path) -> io::Result<()> {
    let _held = held(path)?;
    fs::remove_file(path)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn only_what_nobody_holds_is_swept() {
        let folder = tempfile::tempdir().expect("a folder");
        let claim = |name: &str, hours: u64| {
            let path = folder.path().join(CLAIMS).join(name);
            let file = File::create(&path).expect("a file");
            let at = SystemTime::now() - Duration::from_secs(3600 * hours);
            file.set_modified(at).expect("a time");
            path
        };
        fs::create_dir(folder.path().join(CLAIMS)).expect("a folder");
        let (left, late, taken) = (claim("left", 2), claim("late", 2), claim("taken", 2));
        claim("new", 0);
        let lock = |path: &Path| {
            let file = File::open(path).expect("a file");
            flock(&file, FlockOperation::NonBlockingLockExclusive).expect("nobody has it");
            file
        };
        let _taken = lock(&taken);
        let mut found = claims(folder.path(), Timestamp::now());
        found.sort_by(|one, other| one.path.cmp(&other.path));
        let paths: Vec<&Path> = found.iter().map(|one| one.path.as_path()).collect();
        assert_eq!(paths, [&late, &left]);
        // A launch takes one between the look and the sweep.
        let _late = lock(&late);
        let mut pruned = nothing(false);
        sweep(&mut pruned, found.clone(), remove_claim);
        found.retain(|one| one.path == left);
        assert_eq!(pruned, Pruned { removed: found, ..nothing(false) });
        let there = [&left, &late, &taken].map(|path| path.exists());
        assert_eq!(there, [false, true, true]);
    }
}
