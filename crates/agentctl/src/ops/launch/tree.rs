//! A worktree of its own for a launch: made with it, and taken back if it fails.

use super::Ask;
use crate::{
    error::{Error, Kind},
    git::{NewTree, Repo, Tree},
};
use agentctl_core::text::one_line;
use std::path::{Path, PathBuf};

/// Where a launch works.
#[derive(Clone)]
pub(crate) enum Place {
    /// In its directory as it is.
    Given,
    /// In a worktree that is to be made.
    Wanted(Wanted),
    /// In this one, which was made for it.
    Made(Tree),
}

/// A worktree that is to be made.
#[derive(Clone)]
pub(crate) struct Wanted {
    repo: Repo,
    branch: String,
    base: Option<String>,
    /// The directory to work in, below the top of the worktree.
    below: PathBuf,
}

impl Wanted {
    /// For work in `cwd`, which is in a worktree of the repository already.
    pub(crate) fn new(cwd: &Path, branch: String, base: Option<String>) -> Result<Self, Error> {
        let repo = Repo::find(cwd)?;
        let below = cwd.strip_prefix(&repo.root).unwrap_or(Path::new("")).to_owned();
        Ok(Self { repo, branch, base, below })
    }

    /// Both are worktrees of the same repository.
    pub(crate) fn is_of(&self, dir: &Path) -> Result<bool, Error> {
        Ok(Repo::find(dir)?.common == self.repo.common)
    }

    fn new_tree(&self) -> NewTree<'_> {
        NewTree { branch: &self.branch, base: self.base.as_deref(), path: None }
    }

    /// The ask, as it would be with the worktree; nothing is made.
    pub(super) fn planned(&self, ask: &Ask) -> Result<Ask, Error> {
        Ok(self.with(ask, self.repo.plan(&self.new_tree())?))
    }

    /// Makes the worktree, and launches in it; takes it back if that fails.
    pub(super) fn launch<T>(
        &self,
        ask: &Ask,
        launch: impl FnOnce(&Ask) -> Result<T, Error>,
    ) -> Result<(T, Vec<String>), Error> {
        let tree = self.repo.add_worktree(&self.new_tree())?;
        let ask = self.with(ask, tree.clone());
        let launched = match ask.cwd.is_dir() {
            true => launch(&ask),
            false => {
                let below = one_line(&self.below.to_string_lossy());
                let what = format!("what {} starts from has no directory {below}", tree.branch);
                Err(Error::new(Kind::Usage, one_line(&what)).hint("use --cwd with one that it has"))
            }
        };
        match launched {
            Ok(launched) => Ok((launched, tree.notes)),
            Err(why) => Err(match self.repo.remove_new(&tree) {
                Ok(()) => why,
                Err(left) => {
                    let hint =
                        why.hint.as_ref().map(|hint| format!("{hint}; ")).unwrap_or_default();
                    let hint = format!("{hint}{}", left.message);
                    why.hint(hint)
                }
            }),
        }
    }

    fn with(&self, ask: &Ask, tree: Tree) -> Ask {
        Ask { cwd: tree.path.join(&self.below), place: Place::Made(tree), ..ask.clone() }
    }
}
