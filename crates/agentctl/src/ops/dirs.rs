//! Who may work in a directory: one session at a time, unless somebody insists.

use super::{Here, list};
use crate::{
    error::{Error, Kind},
    shim::make_dir,
};
use agentctl_core::{
    agent::Depth,
    observe::History,
    select::{Filter, Order},
    wire::Session,
};
use rustix::fs::{FlockOperation, flock};
use std::{
    fs::{File, OpenOptions},
    hash::{DefaultHasher, Hash, Hasher},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::Stdio,
};

/// A directory in which we alone launch at this moment. The kernel gives it back when all who hold it
/// are gone: this process, and the shim that it started.
pub(super) struct Claimed {
    file: File,
}

impl Claimed {
    /// Claims a directory, and makes sure that nobody works in it.
    pub(super) fn take(here: &Here, state: &Path, dir: &Path, force: bool) -> Result<Self, Error> {
        let root = root(dir);
        let locks = state.join("locks");
        make_dir(&locks).map_err(|why| unclaimed(&locks, &why))?;
        let mut hash = DefaultHasher::new();
        root.hash(&mut hash);
        let path = locks.join(format!("{:016x}.lock", hash.finish()));
        let mut open = OpenOptions::new();
        open.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = open.open(&path).map_err(|why| unclaimed(&path, &why))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() && !force {
            let what = format!("another launch is under way in {}", root.display());
            return Err(Error::new(Kind::Refused, what)
                .hint("wait until it has its session, or use --force to share the directory"));
        }
        let claimed = Self { file };
        match occupant(here, &root).filter(|_| !force) {
            None => Ok(claimed),
            Some(session) => Err(occupied(&root, &session)),
        }
    }

    /// What the shim holds on to.
    pub(super) fn lock(&self) -> io::Result<Stdio> {
        self.file.try_clone().map(Stdio::from)
    }

    /// Gives the directory back, whoever else still holds the file.
    pub(super) fn release(&self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

fn unclaimed(path: &Path, why: &io::Error) -> Error {
    Error::new(Kind::Io, format!("cannot write {}: {why}", path.display())).hint(
        "make room or set AGENTCTL_HOME to a directory that can be written; nothing was started",
    )
}

fn occupied(root: &Path, session: &Session) -> Error {
    let id = session.id.clone().unwrap_or_else(|| {
        session.pid.map_or_else(|| "a process".to_owned(), |pid| format!("pid:{pid}"))
    });
    let what = format!(
        "{} is taken: {} session {id} is {} there",
        root.display(),
        session.agent,
        session.state.name()
    );
    Error::new(Kind::Refused, what).hint(format!(
        "wait for it (`agentctl wait {id}`), stop it, or use --force to share the directory"
    ))
}

/// A live session that works in this directory.
fn occupant(here: &Here, root: &Path) -> Option<Session> {
    let ask = list::Ask {
        agents: Vec::new(),
        history: History::Skip,
        depth: Depth::Glance,
        filter: Filter::default(),
        order: Order::Attention,
        limit: None,
    };
    let live = list::list(&here.again(), &ask).sessions.into_iter().filter(|session| session.live);
    let mut there =
        live.filter(|session| session.cwd.as_ref().is_some_and(|cwd| self::root(cwd) == root));
    there.next()
}

/// The worktree that a directory belongs to, else the directory itself; links resolved.
pub(super) fn root(dir: &Path) -> PathBuf {
    let real = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let is_tree = |dir: &Path| {
        let git = dir.join(".git"); // a file in worktrees and submodules
        git.is_file() || git.join("HEAD").is_file()
    };
    let tree = real.ancestors().find(|above| is_tree(above));
    tree.map_or(real.clone(), Path::to_owned)
}
