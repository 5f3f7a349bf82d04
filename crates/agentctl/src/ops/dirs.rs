//! Directories in which one session works at a time.

use super::{Here, locks};
use crate::{
    error::{Error, Kind},
    intents::store::Untaken,
    places,
    write::{lockable, make_dir},
};
use agentctl_core::{policy, text::one_line};
use rustix::fs::{FlockOperation, flock};
use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read, Seek, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

/// Below the directory of our state: directories in which something is being started right now.
pub(super) const CLAIMS: &str = "locks";

/// A directory or a key that we alone launch in, or under, at this moment. The kernel gives it back when all who hold it
/// are gone: this process, and the shim that it started.
pub(super) struct Claimed {
    file: File,
    path: PathBuf,
    /// We have it; else we go on beside somebody else.
    held: bool,
}

impl Claimed {
    /// Claims a directory for a launch, and makes sure that nobody works in it and nobody locked it.
    pub(super) fn take(here: &Here, claim: &Claim<'_>) -> Result<Self, Error> {
        let root = root(claim.dir);
        let claimed = Self::alone(&root, claim)?;
        free(here, claim.state, &root, claim.sharing).map(|()| claimed)
    }

    /// Claims a directory, whoever works in it.
    pub(super) fn alone(root: &Path, claim: &Claim<'_>) -> Result<Self, Error> {
        let folder = claim.state.join(CLAIMS);
        make_dir(&folder).map_err(|why| unwritable(&folder, &why))?;
        let path = folder.join(format!("{}.lock", places::name_of(root)));
        let mut claimed = Self::open(path)?;
        if claimed.held {
            // Only for the message of whoever comes second; on a full disk it says less.
            let file = &mut claimed.file;
            let _ = file.set_len(0).and_then(|()| file.write_all(claim.who.as_bytes()));
        } else if claim.sharing == policy::Sharing::Alone {
            return Err(taken(root, &mut claimed.file));
        }
        Ok(claimed)
    }

    /// Claims a key of launches, and waits for whoever launches under it.
    pub(super) fn key(state: &Path, key: &str, patience: Duration) -> Result<Self, Error> {
        let folder = state.join(CLAIMS);
        make_dir(&folder).map_err(|why| unwritable(&folder, &why))?;
        let path = folder.join(format!("key-{}.lock", places::name_of(Path::new(key))));
        let began = Instant::now();
        loop {
            let claimed = Self::open(path.clone())?;
            if claimed.held {
                return Ok(claimed);
            }
            if began.elapsed() > patience {
                let what = format!("another launch with the key {} is under way", one_line(key));
                return Err(Error::new(Kind::Refused, what).hint("try again, or use another key"));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn open(path: PathBuf) -> Result<Self, Error> {
        loop {
            let file = lockable(&path).map_err(|why| unwritable(&path, &why))?;
            let held = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
            // Whoever had it before has removed it since: nobody else would meet us there.
            if !held || file.metadata().is_ok_and(|stat| stat.nlink() > 0) {
                return Ok(Self { file, path, held });
            }
        }
    }

    /// What the shim holds on to.
    pub(super) fn lock(&self) -> io::Result<Stdio> {
        self.file.try_clone().map(Stdio::from)
    }
}

/// Nobody locked it, and nobody works in it who is in the way.
pub(super) fn free(
    here: &Here,
    state: &Path,
    root: &Path,
    sharing: policy::Sharing,
) -> Result<(), Error> {
    let found = locks::all(here, state, Some(root))?;
    match locks::in_the_way(&found.locks, root, sharing) {
        None => Ok(()),
        Some(lock) => Err(locks::refusal(&lock)),
    }
}

/// It is given back, whoever else still holds the file.
impl Drop for Claimed {
    fn drop(&mut self) {
        if !self.held {
            return;
        }
        let is_ours = fs::metadata(&self.path).ok().zip(self.file.metadata().ok());
        if is_ours.is_some_and(|(there, ours)| there.ino() == ours.ino()) {
            let _ = fs::remove_file(&self.path);
        }
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// What is claimed, and by whom.
pub(super) struct Claim<'a> {
    /// The directory of our state.
    pub(super) state: &'a Path,
    /// Where to work.
    pub(super) dir: &'a Path,
    /// Who may be there too.
    pub(super) sharing: policy::Sharing,
    /// Who claims it, for whoever comes second.
    pub(super) who: &'a str,
}

/// Why an intent could not be taken hold of. What somebody else does with it meanwhile, the caller knows.
pub(super) fn untaken(why: Untaken, held: impl FnOnce() -> Error) -> Error {
    match why {
        Untaken::Held => held(),
        Untaken::Unlocked(path, why) => {
            Error::new(Kind::Io, format!("cannot lock {}: {why}", path.display()))
                .hint("set AGENTCTL_HOME to a directory whose file system has locks")
        }
        Untaken::Unread(path, why) => {
            Error::new(Kind::Unreadable, format!("cannot read {}: {why}", path.display()))
                .hint("what is set there is not kept: mend or remove it, and set it anew")
        }
    }
}

pub(super) fn unwritable(path: &Path, why: &io::Error) -> Error {
    Error::new(Kind::Io, format!("cannot write {}: {why}", path.display()))
        .hint("make room or set AGENTCTL_HOME to a directory that can be written; nothing was done")
}

fn taken(root: &Path, file: &mut File) -> Error {
    let mut who = String::new();
    // Whoever has it says so right after taking it.
    for _ in 0..20 {
        let _ = file.rewind().and_then(|()| file.take(200).read_to_string(&mut who));
        if !who.is_empty() {
            break;
        }
        thread::sleep(Duration::from_millis(5));
    }
    let by = if who.is_empty() { who } else { format!(": {}", one_line(&who)) };
    let what = format!("another launch is under way in {}{by}", root.display());
    Error::new(Kind::Refused, what)
        .hint("wait until it has its session, or use --force to share the directory")
}

/// The worktree that a directory belongs to, else the directory itself; links resolved.
pub(super) fn root(dir: &Path) -> PathBuf {
    let real = real(dir);
    let is_tree = |dir: &Path| {
        let git = dir.join(".git"); // a file in worktrees and submodules
        git.is_file() || git.join("HEAD").is_file()
    };
    let tree = real.ancestors().find(|above| is_tree(above));
    tree.map_or(real.clone(), Path::to_owned)
}

/// Without links, as far as the path leads: of what is gone, the rest stands as it was written.
pub(super) fn real(dir: &Path) -> PathBuf {
    let whole = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let mut gone: Vec<OsString> = Vec::new();
    for above in whole.ancestors() {
        if let Ok(real) = above.canonicalize() {
            return gone.iter().rev().fold(real, |path, part| path.join(part));
        }
        gone.extend(above.file_name().map(OsString::from));
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_worktree_is_one_directory_and_links_lead_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("repo/.git")).unwrap();
        fs::write(top.join("repo/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::create_dir_all(top.join("repo/src/deep")).unwrap();
        fs::create_dir_all(top.join("tree/src")).unwrap();
        fs::write(top.join("tree/.git"), "gitdir: ../repo/.git/worktrees/tree\n").unwrap();
        fs::create_dir_all(top.join("plain/.git")).unwrap(); // no repository
        symlink(top.join("repo/src"), top.join("link")).unwrap();
        let root = |path: &str| root(&top.join(path)).strip_prefix(&top).unwrap().to_owned();
        assert_eq!(root("repo/src/deep"), Path::new("repo"));
        assert_eq!(root("link/deep"), Path::new("repo"));
        assert_eq!(root("tree/src"), Path::new("tree"));
        assert_eq!(root("plain"), Path::new("plain"));
        assert_eq!(root("gone/below"), Path::new("gone/below"));
        assert_eq!(root("link/gone/below"), Path::new("repo"));
    }
}
