//! Removes a worktree that was proved safe, or that somebody insists on.

use super::{command::git, repo::Repo};
use crate::error::{Error, Kind};
use std::path::Path;

/// How a worktree is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removal {
    /// Git looks once more itself, and refuses what it knows to be work.
    Careful,
    /// Git does not look: submodules are there and were looked at, or somebody insists.
    Forced,
}

impl Repo {
    /// Removes a worktree and what git keeps of it.
    pub(crate) fn remove(&self, tree: &Path, how: Removal) -> Result<(), Error> {
        let _turn = self.turn();
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

    /// Deletes a branch that is checked out nowhere, if it is still at that commit.
    pub(crate) fn drop_branch(&self, branch: &str, commit: &str) -> Result<(), Error> {
        self.delete_branch(branch, commit)?;
        // What git noted about the branch; mostly nothing.
        let section = format!("branch.{branch}");
        git(&self.main).words(["config", "--local", "--remove-section", &section]).ask().map(drop)
    }
}
