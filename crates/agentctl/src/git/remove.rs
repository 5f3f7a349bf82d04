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

    /// Deletes a branch with all that git noted about it, if it is still at that commit; git itself
    /// refuses while another worktree needs it.
    pub(crate) fn drop_branch(&self, branch: &str, commit: &str) -> Result<(), Error> {
        if self.commit_of(branch)?.as_deref() != Some(commit) {
            return Err(Error::new(Kind::Refused, "its branch has moved on, and stays"));
        }
        let said = git(&self.main).words(["branch", "--quiet", "-D", "--", branch]).ask()?;
        match said.yes {
            true => Ok(()),
            false => {
                Err(Error::new(Kind::Refused, format!("its branch stays: {}", said.complaint())))
            }
        }
    }

    /// Asked of the main worktree: that from which the repository was found may be gone by now.
    fn commit_of(&self, branch: &str) -> Result<Option<String>, Error> {
        let name = format!("refs/heads/{branch}^{{commit}}");
        git(&self.main).words(["rev-parse", "--verify", "--quiet", &name]).line_if_any()
    }
}
