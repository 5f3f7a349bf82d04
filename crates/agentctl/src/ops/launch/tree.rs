//! A launch in a worktree of its own, which goes again if the launch fails.

use super::{Ask, Begun, dry_in, fresh_id, launch_in};
use crate::{
    error::{Error, Kind},
    git::{NewTree, Repo, Tree},
    ops::{Here, worktree},
};
use agentctl_core::{
    text::one_line,
    wire::{DryRun, NewWorktree},
};
use std::path::{Path, PathBuf};

/// A worktree that is to be made for a launch.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// A directory of the repository.
    pub(crate) repo: PathBuf,
    /// Its branch; else one that is made up.
    pub(crate) branch: Option<String>,
    /// What a new branch starts from.
    pub(crate) base: Option<String>,
    /// Where to work: the same directory of the new worktree is meant.
    pub(crate) cwd: Option<PathBuf>,
}

/// What a launch in a new worktree would do.
pub(super) fn dry(here: &Here, ask: &Ask, wanted: &Wanted) -> Result<DryRun, Error> {
    let Plan { tree, below, .. } = plan(ask, wanted)?;
    let dry = dry_in(here, &Ask { cwd: within(&tree, &below), ..ask.clone() })?;
    Ok(DryRun { worktree: Some(told(&tree)), ..dry })
}

/// Makes the worktree, and launches there.
pub(super) fn launch(
    here: &Here,
    ask: &Ask,
    wanted: &Wanted,
    state: &Path,
) -> Result<Begun, Error> {
    let Plan { repo, tree, below } = plan(ask, wanted)?;
    let new = NewTree { branch: &tree.branch, base: wanted.base.as_deref(), path: None };
    let tree = repo.add_worktree(&new)?;
    let own = Ask { cwd: within(&tree, &below), tree: Some(tree.clone()), ..ask.clone() };
    match launch_in(here, &own, state) {
        Ok(session) => Ok(Begun::InTree(session, tree)),
        Err(why) => Err(match worktree::undo(here, &repo, &tree) {
            Ok(()) => why,
            Err(left) => why.hint(left.message),
        }),
    }
}

/// The worktree as programs see it.
pub(crate) fn told(tree: &Tree) -> NewWorktree {
    NewWorktree {
        path: tree.path.clone(),
        branch: tree.branch.clone(),
        created_branch: tree.created_branch,
        base: tree.base_commit.clone(),
        repo: tree.repo.clone(),
        notes: tree.notes.clone(),
    }
}

struct Plan {
    repo: Repo,
    tree: Tree,
    /// Where in the tree.
    below: PathBuf,
}

fn plan(ask: &Ask, wanted: &Wanted) -> Result<Plan, Error> {
    let repo = Repo::find(&wanted.repo)?;
    let below = below(&repo, wanted)?;
    let made_up = || format!("try/{}-{}", ask.agent.card().name, &fresh_id()[..6]);
    let branch = wanted.branch.clone().unwrap_or_else(made_up);
    let tree = repo.plan(&NewTree { branch: &branch, base: wanted.base.as_deref(), path: None })?;
    if !repo.has_dir(&tree.base_commit, &below)? {
        let (dir, commit) = (one_line(&below.to_string_lossy()), &tree.base_commit[..12]);
        let what = format!("{dir} is not in the commit {commit} that the worktree starts from");
        return Err(Error::new(Kind::Usage, what)
            .hint("commit it first, or leave --cwd out to work at the top"));
    }
    Ok(Plan { repo, tree, below })
}

/// A directory of a worktree, or its top.
fn within(tree: &Tree, below: &Path) -> PathBuf {
    match below.as_os_str().is_empty() {
        true => tree.path.clone(),
        false => tree.path.join(below),
    }
}

/// Where in its worktree a launch works.
fn below(repo: &Repo, wanted: &Wanted) -> Result<PathBuf, Error> {
    let Some(cwd) = &wanted.cwd else { return Ok(PathBuf::new()) };
    let real = cwd.canonicalize().unwrap_or_else(|_| cwd.clone());
    real.strip_prefix(&repo.root).map(Path::to_owned).map_err(|_| {
        let (dir, root) =
            (one_line(&cwd.to_string_lossy()), one_line(&repo.root.to_string_lossy()));
        Error::new(Kind::Usage, format!("--cwd {dir} is not in {root}"))
            .hint("with --worktree, --cwd names a directory of that repository")
    })
}
