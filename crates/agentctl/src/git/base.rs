//! The commit that a new worktree starts from.

use super::{
    command::{git, parts},
    names::near,
    repo::Repo,
};
use crate::error::{Error, Kind};
use agentctl_core::text::one_line;
use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

/// Where a worktree starts.
pub(super) struct Base {
    pub(super) commit: String,
    /// What the person should know of it.
    pub(super) note: Option<String>,
}

impl Repo {
    /// The commit of a name: a branch, a tag, a commit, or a branch that only a remote has; without
    /// one, what is checked out.
    pub(super) fn base(&self, name: Option<&str>) -> Result<Base, Error> {
        let Some(name) = name else {
            let commit = self.commit("HEAD")?.ok_or_else(|| self.without_commits())?;
            return Ok(Base { commit, note: None });
        };
        if let Some(commit) = self.commit(name)? {
            return Ok(Base { commit, note: None });
        }
        if self.commit("HEAD")?.is_none() {
            return Err(self.without_commits());
        }
        self.of_remote(name)
    }

    /// The commit that a name leads to, if it leads to one.
    pub(crate) fn commit(&self, name: &str) -> Result<Option<String>, Error> {
        let name = format!("{name}^{{commit}}");
        let words = ["rev-parse", "--verify", "--quiet", "--end-of-options", &name];
        git(&self.root).words(words).line_if_any()
    }

    /// A commit has a directory of this name.
    pub(super) fn has_dir(&self, commit: &str, below: &Path) -> Result<bool, Error> {
        if below.as_os_str().is_empty() {
            return Ok(true);
        }
        let mut name = OsString::from(format!("{commit}:"));
        name.push(below);
        let words = [OsStr::new("cat-file"), OsStr::new("-t"), &name];
        Ok(git(&self.root).words(words).line_if_any()?.as_deref() == Some("tree"))
    }

    fn of_remote(&self, name: &str) -> Result<Base, Error> {
        let refs = self.branches()?;
        let ends = format!("/{name}");
        let remotes = refs.iter().filter_map(|branch| branch.strip_prefix("refs/remotes/"));
        let mut there: Vec<&str> = remotes.filter(|branch| branch.ends_with(&ends)).collect();
        // `a/b` may be the branch b of the remote a/…, or a/b of another: git knows the remotes.
        let known = String::from_utf8_lossy(&git(&self.root).words(["remote"]).out()?).into_owned();
        there.retain(|branch| known.lines().any(|remote| *branch == format!("{remote}{ends}")));
        let usual = there.iter().find(|branch| **branch == format!("origin{ends}")).copied();
        let found = match there.as_slice() {
            [] => return Err(self.unknown(name, &refs)),
            [only] => only,
            several => usual.ok_or_else(|| {
                let what = format!("several remotes have a branch {}", one_line(name));
                Error::new(Kind::Ambiguous, what)
                    .hint(format!("say which: {}", one_line(&several.join(", "))))
            })?,
        };
        let commit = self.commit(&format!("refs/remotes/{found}"))?;
        let commit = commit.ok_or_else(|| self.unknown(name, &refs))?;
        let found = one_line(found);
        Ok(Base { commit, note: Some(format!("it starts from {found}, as of the last fetch")) })
    }

    /// Full names of all branches, those of remotes too.
    pub(super) fn branches(&self) -> Result<Vec<String>, Error> {
        let words = ["for-each-ref", "--format=%(refname)%00", "refs/heads", "refs/remotes"];
        let out = git(&self.root).words(words).out()?;
        let names = parts(&out).map(|name| String::from_utf8_lossy(name).trim().to_owned());
        Ok(names.filter(|name| !name.is_empty()).collect())
    }

    fn unknown(&self, name: &str, refs: &[String]) -> Error {
        let short = |name: &str| {
            let heads = name.strip_prefix("refs/heads/");
            heads.or_else(|| name.strip_prefix("refs/remotes/")).map(str::to_owned)
        };
        let names: Vec<String> = refs.iter().filter_map(|name| short(name)).collect();
        let near = near(name, names.iter().map(String::as_str));
        let what = format!("no branch, tag or commit is called {}", one_line(name));
        let error = Error::new(Kind::Usage, what);
        match near.is_empty() {
            true => error.hint("`git fetch` brings branches that were made elsewhere"),
            false => error.hint(format!("did you mean {}?", one_line(&near.join(", ")))),
        }
    }

    fn without_commits(&self) -> Error {
        let main = one_line(&self.main.to_string_lossy());
        Error::new(
            Kind::Usage,
            format!("{main} has no commits: a worktree has nothing to start from"),
        )
        .hint("make a first commit, for instance with `git commit --allow-empty`")
    }
}
