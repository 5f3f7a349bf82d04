//! New worktrees, and taking back one that nobody used.

use super::{
    base::Base,
    command::{Git, git},
    names::{beside, place, word},
    remove::Removal,
    repo::Repo,
};
use crate::error::{Error, Kind};
use agentctl_core::text::one_line;
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

/// A worktree that is asked for.
pub(crate) struct NewTree<'a> {
    /// Its branch: a new one, or one that is checked out nowhere.
    pub(crate) branch: &'a str,
    /// What a new branch starts from; else what is checked out where it was asked.
    pub(crate) base: Option<&'a str>,
    /// A directory that it must have; the top has none above it.
    pub(crate) below: &'a Path,
}

/// A worktree that was made, or with [`Repo::plan`] would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    pub(crate) path: PathBuf,
    pub(crate) branch: String,
    /// The commit it starts from.
    pub(crate) base_commit: String,
    /// The main worktree of its repository.
    pub(crate) repo: PathBuf,
    /// The branch is new too.
    pub(crate) created_branch: bool,
    /// What the person should know.
    pub(crate) notes: Vec<String>,
}

impl Repo {
    /// What [`Repo::add_worktree`] would make; nothing is made.
    pub(crate) fn plan(&self, new: &NewTree<'_>) -> Result<Tree, Error> {
        self.well_named(new.branch)?;
        let there = self.commit(&format!("refs/heads/{}", new.branch))?;
        let base = match (&there, new.base) {
            (Some(commit), None) => Base { commit: commit.clone(), note: None },
            (Some(_), Some(_)) | (None, _) => self.base(new.base)?,
        };
        if let Some(commit) = &there {
            self.unused(new.branch)?;
            if *commit != base.commit {
                return Err(elsewhere(new));
            }
        }
        let base_commit = base.commit;
        if !self.has_dir(&base_commit, new.below)? {
            let (dir, commit) = (one_line(&new.below.to_string_lossy()), &base_commit[..12]);
            let what = format!("{dir} is not in the commit {commit} that the worktree starts from");
            return Err(Error::new(Kind::Usage, what)
                .hint("commit it first, or leave --cwd out to work at the top"));
        }
        let path = beside(&self.main, new.branch, |path| fs::symlink_metadata(path).is_err());
        let mut notes: Vec<String> = base.note.into_iter().collect();
        notes.extend(self.notes(new, &base_commit, there.is_some())?);
        Ok(Tree {
            path,
            branch: new.branch.to_owned(),
            base_commit,
            repo: self.main.clone(),
            created_branch: there.is_none(),
            notes,
        })
    }

    /// Makes a worktree. Whoever else makes one of the same repository meanwhile is waited for, but
    /// not while files are checked out.
    pub(crate) fn add_worktree(&self, new: &NewTree<'_>) -> Result<Tree, Error> {
        let (tree, made) = {
            let _turn = self.turn();
            let tree = self.plan(new)?;
            if tree.created_branch {
                self.make_branch(&tree)?;
            }
            let made = self.register(&tree);
            (tree, made)
        };
        // Nothing is removed from a path where git did not get so far: others may have been faster.
        made.map_err(|why| self.not_made(&tree, &why, None))?;
        // As `git worktree add` does it.
        let files = ["reset", "--hard", "--quiet", "--no-recurse-submodules"];
        let filled = yes(git(&tree.path).words(files));
        filled.map_err(|why| self.not_made(&tree, &why, Some(Removal::Forced)))?;
        Ok(tree)
    }

    /// By itself, so that it is known who made it if the worktree then fails.
    fn make_branch(&self, tree: &Tree) -> Result<(), Error> {
        let words = ["branch", "--quiet", "--no-track", "--", &tree.branch, &tree.base_commit];
        yes(git(&self.root).words(words)).map_err(|why| {
            let what = format!("cannot make the branch {}: {why}", one_line(&tree.branch));
            Error::new(Kind::Refused, what).hint("use another --branch; `git branch` lists them")
        })
    }

    /// A worktree that failed: what was made before is taken back, and what is left is told.
    fn not_made(&self, tree: &Tree, why: &str, how: Option<Removal>) -> Error {
        let (path, branch) = (place(&tree.path), word(&tree.branch));
        let mut left = Vec::new();
        let turn = self.turn();
        if how.is_some_and(|how| self.remove(&tree.path, how, &turn).is_err()) {
            left.push(format!("`git worktree remove --force {path}` removes what was made of it"));
        }
        let drop = || self.drop_branch(&tree.branch, &tree.base_commit, &turn);
        if tree.created_branch && drop().is_err() {
            left.push(format!("`git branch -D {branch}` deletes the branch that was made for it"));
        }
        let hint = match left.is_empty() {
            true => "nothing was left behind; `git worktree list` shows what is there".to_owned(),
            false => left.join("; "),
        };
        let path = one_line(&tree.path.to_string_lossy());
        Error::new(Kind::Refused, format!("cannot make the worktree {path}: {why}")).hint(hint)
    }

    /// Removes a worktree that was just made, and its branch if that was made too. What anybody has
    /// changed there since is left as it is, and is the error.
    pub(crate) fn remove_new(&self, tree: &Tree) -> Result<(), Error> {
        let left = |why: &str| {
            let path = one_line(&tree.path.to_string_lossy());
            Error::new(Kind::Refused, format!("{path} is left as it is: {why}"))
                .hint(format!("`agentctl worktree clean {}` looks closer", place(&tree.path)))
        };
        let head = git(&tree.path).words(["rev-parse", "--verify", "HEAD^{commit}"]).line()?;
        let branch = git(&tree.path).words(["symbolic-ref", "--quiet", "HEAD"]).line_if_any()?;
        if head != tree.base_commit || branch != Some(format!("refs/heads/{}", tree.branch)) {
            return Err(left("another commit is checked out there"));
        }
        let status = ["status", "--porcelain", "-z", "--untracked-files=all", "--ignored"];
        if !git(&tree.path).strict().words(status).out()?.is_empty() {
            return Err(left("files were changed there"));
        }
        let turn = self.turn();
        self.remove(&tree.path, Removal::Careful, &turn)?;
        match tree.created_branch {
            true => self.drop_branch(&tree.branch, &tree.base_commit, &turn),
            false => Ok(()),
        }
    }

    /// Writes the worktree down, without its files; git's complaint if it does not.
    fn register(&self, tree: &Tree) -> Result<(), String> {
        let words = ["worktree", "add", "--quiet", "--no-checkout", "--"];
        yes(git(&self.root).words(words).words([tree.path.as_os_str(), OsStr::new(&tree.branch)]))
    }

    fn well_named(&self, branch: &str) -> Result<(), Error> {
        let name = format!("refs/heads/{branch}");
        let fits = git(&self.root).words(["check-ref-format", &name]).ask()?.yes;
        match fits && !branch.starts_with('-') && branch != "HEAD" {
            true => Ok(()),
            false => {
                let what = format!("git takes no branch of the name {}", one_line(branch));
                Err(Error::new(Kind::Usage, what)
                    .hint("use letters, digits, - and /, such as try/login"))
            }
        }
    }

    /// Refuses a branch that a worktree needs.
    fn unused(&self, branch: &str) -> Result<(), Error> {
        let Some(tree) = self.holder(branch, None)? else { return Ok(()) };
        let (branch, path) = (one_line(branch), one_line(&tree.path.to_string_lossy()));
        let what = format!("the branch {branch} is checked out in {path}");
        Err(Error::new(Kind::Refused, what).hint(match &tree.prunable {
            Some(_) => "that directory is gone: `git worktree prune` forgets it".to_owned(),
            None => format!("use another --branch, or --cwd {} to work there", place(&tree.path)),
        }))
    }

    fn notes(&self, new: &NewTree<'_>, commit: &str, there: bool) -> Result<Vec<String>, Error> {
        let mut notes = Vec::new();
        let remote = format!("refs/remotes/origin/{}", new.branch);
        if !there && new.base.is_none() && self.commit(&remote)?.is_some() {
            let branch = one_line(new.branch);
            notes.push(format!(
                "origin has a branch {branch} too; --base-branch origin/{branch} starts from that"
            ));
        }
        let status = git(&self.root).words(["status", "--porcelain", "-z"]).out()?;
        if !status.is_empty() {
            let root = one_line(&self.root.to_string_lossy());
            notes.push(format!("uncommitted changes in {root} are not carried over"));
        }
        let modules = format!("{commit}:.gitmodules");
        if git(&self.root).words(["cat-file", "-e", &modules]).ask()?.yes {
            let how = "`git submodule update --init` in the worktree fetches them";
            notes.push(format!("submodules are left empty; {how}"));
        }
        Ok(notes)
    }
}

fn elsewhere(new: &NewTree<'_>) -> Error {
    let (branch, base) = (one_line(new.branch), one_line(new.base.unwrap_or_default()));
    let what = format!("the branch {branch} is there already, and is not at {base}");
    Error::new(Kind::Usage, what)
        .hint("leave --base-branch out to go on with that branch, or use another --branch")
}

/// Git's complaint, where it does not say yes.
fn yes(call: Git) -> Result<(), String> {
    match call.ask() {
        Ok(said) if said.yes => Ok(()),
        Ok(said) => Err(said.complaint()),
        Err(why) => Err(why.message),
    }
}
