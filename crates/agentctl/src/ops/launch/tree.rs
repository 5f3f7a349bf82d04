//! A worktree of its own for a launch: made with it, and taken back if it fails.

use super::{Ask, fresh_id};
use crate::{
    error::{Error, Kind},
    git::{NewTree, Repo, Tree},
    host::PutOff,
    ops::{Here, worktree},
};
use agentctl_core::{text::one_line, wire::NewWorktree};
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

/// Where worktrees are to be made: a repository, and a directory of it to work in.
pub(crate) struct Source {
    repo: Repo,
    /// The directory, below the top of the worktree.
    below: PathBuf,
}

/// A worktree that is to be made.
#[derive(Clone)]
pub(crate) struct Wanted {
    repo: Repo,
    below: PathBuf,
    branch: String,
    base: Option<String>,
}

impl Source {
    /// The repository of `repo`, for work in `cwd`, which is a directory of it.
    pub(crate) fn new(repo: &Path, cwd: &Path) -> Result<Self, Error> {
        let repo = Repo::find(repo).map_err(|why| match why.kind {
            Kind::Io => Error { kind: Kind::NotStarted, ..why },
            _ => why,
        })?;
        let real = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        let below = real.strip_prefix(&repo.root).map(Path::to_owned).map_err(|_| {
            let (dir, root) = (cwd.to_string_lossy(), repo.root.to_string_lossy());
            let what = format!("{} is not in {}", one_line(&dir), one_line(&root));
            Error::new(Kind::Usage, what)
                .hint("with --worktree, --cwd names a directory of that repository")
        })?;
        Ok(Self { repo, below })
    }

    /// A worktree of it on this branch.
    pub(crate) fn on(&self, branch: String, base: Option<String>) -> Wanted {
        Wanted { repo: self.repo.clone(), below: self.below.clone(), branch, base }
    }

    /// A branch of this name, or one like it that nobody has.
    pub(crate) fn free_branch(&self, name: &str) -> Result<String, Error> {
        let more = (2..).map(|count| format!("{name}-{count}"));
        unused(&self.repo, std::iter::once(name.to_owned()).chain(more))
    }

    /// A branch of this beginning that nobody has.
    pub(crate) fn fresh_branch(&self, begin: &str) -> Result<String, Error> {
        unused(&self.repo, std::iter::repeat_with(|| format!("try/{begin}-{}", &fresh_id()[..6])))
    }
}

impl Wanted {
    fn new_tree(&self) -> NewTree<'_> {
        NewTree { branch: &self.branch, base: self.base.as_deref(), below: &self.below }
    }

    /// The ask, as it would be with the worktree; nothing is made.
    pub(super) fn planned(&self, ask: &Ask) -> Result<Ask, Error> {
        Ok(self.with(ask, self.repo.plan(&self.new_tree())?))
    }

    /// Makes the worktree, and launches in it; takes it back if that fails.
    pub(super) fn launch<T>(
        &self,
        here: &Here,
        ask: &Ask,
        launch: impl FnOnce(&Ask) -> Result<T, Error>,
    ) -> Result<(T, NewWorktree), Error> {
        let half = PutOff::new();
        let made = self.repo.add_worktree(&self.new_tree());
        let tree = match (made, PutOff::came()) {
            (made, false) => made?,
            (made, true) => return Err(self.broken_off(here, made)),
        };
        drop(half);
        match launch(&self.with(ask, tree.clone())) {
            Ok(launched) => Ok((launched, told(&tree))),
            Err(why) => Err(match worktree::undo(here, &self.repo, &tree) {
                Ok(()) => why,
                Err(left) => {
                    let hint = why.hint.as_ref().map(|hint| format!("{hint}; "));
                    let hint = format!("{}{}", hint.unwrap_or_default(), left.message);
                    why.hint(hint)
                }
            }),
        }
    }

    /// A signal came while the worktree was made: it is taken back.
    fn broken_off(&self, here: &Here, made: Result<Tree, Error>) -> Error {
        let what = "a signal broke it off before anything was started";
        let error = Error::new(Kind::NotStarted, what);
        match made.and_then(|tree| worktree::undo(here, &self.repo, &tree)) {
            Ok(()) => error.hint("its worktree was taken back"),
            Err(left) => error.hint(left.message),
        }
    }

    fn with(&self, ask: &Ask, tree: Tree) -> Ask {
        let cwd = match self.below.as_os_str().is_empty() {
            true => tree.path.clone(),
            false => tree.path.join(&self.below),
        };
        Ask { cwd, place: Place::Made(tree), ..ask.clone() }
    }
}

/// The first of these names that no branch has: one that is there would be taken over.
fn unused(repo: &Repo, names: impl IntoIterator<Item = String>) -> Result<String, Error> {
    let mut names = names.into_iter();
    loop {
        let name = names.next().expect("names do not end");
        if repo.commit(&format!("refs/heads/{name}"))?.is_none() {
            return Ok(name);
        }
    }
}

/// The worktree as programs see it.
pub(super) fn told(tree: &Tree) -> NewWorktree {
    NewWorktree {
        path: tree.path.clone(),
        branch: tree.branch.clone(),
        created_branch: tree.created_branch,
        base: tree.base_commit.clone(),
        repo: tree.repo.clone(),
        notes: tree.notes.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_branch_that_somebody_has_is_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let git = |words: &[&str]| {
            let person = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
            let mut git = Command::new("git");
            let made = git.arg("-C").arg(folder.path()).args(person).args(words).status();
            assert!(made.is_ok_and(|made| made.success()), "{words:?}");
        };
        git(&["init", "-q", "-b", "main"]);
        git(&["commit", "-q", "--allow-empty", "-m", "one"]);
        git(&["branch", "try/a"]);
        let repo = Repo::find(folder.path()).expect("it is one");
        let names = ["try/a", "try/a", "try/b"].map(str::to_owned);
        assert_eq!(unused(&repo, names).ok().as_deref(), Some("try/b"));
    }
}
