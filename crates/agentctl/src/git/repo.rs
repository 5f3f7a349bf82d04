//! A repository, as seen from one of its worktrees.

use super::{
    command::git,
    trees::{Listed, listed},
};
use crate::error::{Error, Kind};
use agentctl_core::text::one_line;
use std::path::{Path, PathBuf};

/// A repository that has a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repo {
    /// The top of the worktree that was asked about.
    pub(crate) root: PathBuf,
    /// The top of the main worktree; the repository itself, where that is bare.
    pub(crate) main: PathBuf,
    /// Where git keeps what all worktrees share.
    pub(crate) common: PathBuf,
}

impl Repo {
    /// The repository that a directory belongs to.
    pub(crate) fn find(dir: &Path) -> Result<Self, Error> {
        let ask = |what: &str| git(dir).words(["rev-parse", "--path-format=absolute", what]).path();
        let common = ask("--git-common-dir")?;
        if git(dir).words(["rev-parse", "--is-inside-work-tree"]).line()? != "true" {
            return Err(no_worktree(dir)?);
        }
        let (root, own) = (ask("--show-toplevel")?, ask("--git-dir")?);
        let main = match own == common {
            true => root.clone(),
            false => main_of(dir, &common)?,
        };
        Ok(Self { root, main, common })
    }

    /// The repository at a directory, though it may be bare: for questions that need no files.
    pub(crate) fn without_files(dir: &Path) -> Result<Self, Error> {
        if git(dir).words(["rev-parse", "--is-bare-repository"]).line()? != "true" {
            return Self::find(dir);
        }
        let common = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let common = git(dir).words(common).path()?;
        Ok(Self { root: common.clone(), main: common.clone(), common })
    }

    /// Every worktree that git has written down, the main one first.
    pub(crate) fn trees(&self) -> Result<Vec<Listed>, Error> {
        // Asked of the main one: that from which the repository was found may be gone by now.
        let mut trees = listed(&self.main)?;
        // Of a submodule, git names the directory where it keeps the repository.
        if let Some(first) = trees.first_mut() {
            first.path.clone_from(&self.main);
        }
        Ok(trees)
    }
}

/// What is checked out in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) branch: Option<String>,
    pub(crate) commit: String,
}

/// What is checked out in a directory, if it is in a repository that has a commit and can be asked.
/// Elsewhere git is not even started.
pub(crate) fn head(dir: &Path) -> Option<Head> {
    dir.ancestors().find(|above| above.join(".git").exists())?;
    let commit = git(dir).words(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
    let commit = commit.line_if_any().ok()??;
    let branch = git(dir).words(["symbolic-ref", "--quiet", "--short", "HEAD"]);
    Some(Head { branch: branch.line_if_any().ok()?, commit })
}

/// The main worktree, asked from another one.
fn main_of(dir: &Path, common: &Path) -> Result<PathBuf, Error> {
    let told = git(dir).words(["config", "--local", "--get", "core.worktree"]).line_if_any()?;
    if let Some(told) = told {
        let main = common.join(told);
        return Ok(main.canonicalize().unwrap_or(main));
    }
    let first = listed(dir)?.into_iter().next().map(|tree| tree.path);
    Ok(first.unwrap_or_else(|| common.to_owned()))
}

fn no_worktree(dir: &Path) -> Result<Error, Error> {
    let shown = one_line(&dir.to_string_lossy());
    let bare = git(dir).words(["rev-parse", "--is-bare-repository"]).line()? == "true";
    let what = match bare {
        true => format!("{shown} is a bare repository: it has no files to work on"),
        false => format!("{shown} is inside a repository's own files, not in its worktree"),
    };
    Ok(Error::new(Kind::Usage, what)
        .hint("name one of its worktrees; `git worktree list` shows them"))
}
