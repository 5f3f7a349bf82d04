//! Removes a worktree that was proved safe, or that somebody insists on, and branches that nobody needs.

use super::{command::git, names::place, repo::Repo, trees::Listed, work::own_dir};
use crate::error::{Error, Kind};
use rustix::fs::{FlockOperation, flock};
use std::{
    fs::{self, File},
    path::Path,
};

/// How a worktree is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removal {
    /// Git looks once more itself, and refuses what it knows to be work.
    Careful,
    /// Git does not look: submodules are there and were looked at, or somebody insists.
    Forced,
}

/// Nobody else of us changes the worktrees and branches of a repository while this is held.
pub(crate) struct Turn {
    _held: Option<File>,
}

impl Repo {
    /// One at a time: git's own locks fail where they could wait. The kernel gives it back, and a file
    /// system without such locks leaves it to git's.
    pub(crate) fn turn(&self) -> Turn {
        let lock = |dir: &File| flock(dir, FlockOperation::LockExclusive).is_ok();
        Turn { _held: File::open(&self.common).ok().filter(lock) }
    }

    /// Removes a worktree and what git keeps of it.
    pub(crate) fn remove(&self, tree: &Path, how: Removal, _turn: &Turn) -> Result<(), Error> {
        let call = git(&self.main).words(["worktree", "remove"]);
        let call = match how {
            Removal::Careful => call,
            Removal::Forced => call.words(["--force"]),
        };
        let said = call.words(["--"]).words([tree]).ask()?;
        match said.yes {
            true => Ok(()),
            false => Err(Error::new(Kind::Refused, format!("git refuses: {}", said.complaint()))),
        }
    }

    /// Deletes a branch with all that git noted about it, if it is still at that commit and no worktree
    /// needs it. Git compares and deletes in one step: `git branch -D` would take whatever is there.
    pub(crate) fn drop_branch(
        &self,
        branch: &str,
        commit: &str,
        _turn: &Turn,
    ) -> Result<(), Error> {
        if let Some(tree) = self.holder(branch, None)? {
            let what = format!("its branch stays: {} needs it", place(&tree.path));
            return Err(Error::new(Kind::Refused, what));
        }
        let name = format!("refs/heads/{branch}");
        let said =
            git(&self.main).words(["update-ref", "--no-deref", "-d", &name, commit]).ask()?;
        if !said.yes {
            let what = format!("its branch stays: {}", said.complaint());
            return Err(Error::new(Kind::Refused, what));
        }
        // Most branches have none, which git calls a failure.
        let section = format!("branch.{branch}");
        git(&self.main).words(["config", "--local", "--remove-section", &section]).ask().map(drop)
    }

    /// The worktree that needs a branch, other than one: it has it checked out, or is in the middle of
    /// something that ends there.
    pub(crate) fn holder(&self, branch: &str, but: Option<&Path>) -> Result<Option<Listed>, Error> {
        let trees = self.trees()?.into_iter().filter(|tree| Some(&*tree.path) != but);
        for tree in trees {
            let held = tree.branch.as_deref() == Some(branch);
            if held || tree.path.is_dir() && !tree.bare && comes_back(&tree.path, branch)? {
                return Ok(Some(tree));
            }
        }
        Ok(None)
    }
}

/// What is under way in a worktree comes back to a branch, which is not checked out meanwhile.
fn comes_back(tree: &Path, branch: &str) -> Result<bool, Error> {
    const MARKS: &[&str] = &[
        "rebase-merge/head-name",
        "rebase-apply/head-name",
        "rebase-merge/update-refs",
        "BISECT_START",
    ];
    let (own, name) = (own_dir(tree)?, format!("refs/heads/{branch}"));
    let names = |text: String| text.lines().any(|line| line == name || line == branch);
    Ok(MARKS.iter().any(|mark| fs::read_to_string(own.join(mark)).is_ok_and(names)))
}
