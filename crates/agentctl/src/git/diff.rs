//! What differs between a commit and a worktree or a branch.

use super::{
    command::{Git, git, parts},
    repo::Repo,
    work::{Look, files, own_dir},
};
use crate::error::{Error, Kind};
use agentctl_core::{
    text::one_line,
    wire::{ChangedFile, Since},
};
use std::{
    fs::{self, File},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// What people have set for their own eyes, or to run a program of theirs, does not count.
const PLAIN: &[&str] = &[
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-relative",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--submodule=short",
    "--find-renames",
    "-O/dev/null",
];

/// Two sides to compare: a commit, and what became of it.
pub(crate) struct Sides<'a> {
    repo: &'a Repo,
    base: &'a str,
    after: After<'a>,
    /// Repositories inside, of which nothing is compared.
    pub(crate) others: Vec<PathBuf>,
}

enum After<'a> {
    /// The files of a worktree, seen through an index of ours that knows the untracked ones too.
    Files(TempDir),
    /// What is committed on a branch.
    Branch(&'a str),
}

/// How changes of no text are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    /// In a line.
    Named,
    /// Whole, so that the patch can be applied.
    Whole,
}

impl<'a> Sides<'a> {
    /// A commit and the files of the worktree, committed, changed and untracked.
    pub(crate) fn of_files(repo: &'a Repo, base: &'a str) -> Result<Self, Error> {
        let room = |why: std::io::Error| Error::new(Kind::Io, format!("no room to compare: {why}"));
        let dir = tempfile::tempdir().map_err(room)?;
        let (own, index) = (own_dir(&repo.root)?.join("index"), dir.path().join("index"));
        if own.exists() {
            fs::copy(&own, &index).map_err(room)?;
            // By its time git knows which files may have changed since though they look the same.
            let time = fs::metadata(&own).and_then(|stat| stat.modified());
            let copy = File::options().write(true).open(&index);
            time.and_then(|time| copy?.set_modified(time)).map_err(room)?;
        }
        // A file may go between a look and the next: then another look is taken.
        const TRIES: usize = 3;
        let (mut missed, mut others) = (None, Vec::new());
        for _ in 0..TRIES {
            (missed, others) = with_untracked(repo, &index)?;
            if missed.is_none() {
                break;
            }
        }
        if let Some(why) = missed {
            return Err(why);
        }
        Ok(Self { repo, base, after: After::Files(dir), others })
    }

    /// A commit and what is committed on a branch.
    pub(crate) fn of_branch(repo: &'a Repo, base: &'a str, branch: &'a str) -> Self {
        Self { repo, base, after: After::Branch(branch), others: Vec::new() }
    }

    fn call(&self, how: &[&str]) -> Git {
        let call = git(&self.repo.root).strict().words(["diff"]).words(PLAIN).words(how);
        match &self.after {
            After::Files(dir) => call.index(&dir.path().join("index")).words([self.base, "--"]),
            After::Branch(branch) => call.words([self.base, &format!("refs/heads/{branch}"), "--"]),
        }
    }

    /// The patch.
    pub(crate) fn patch(&self, binary: Binary) -> Result<Vec<u8>, Error> {
        match binary {
            Binary::Named => self.call(&["--patch"]).out(),
            Binary::Whole => self.call(&["--patch", "--binary", "--full-index"]).out(),
        }
    }

    /// Every file that differs, and by how much.
    pub(crate) fn files(&self) -> Result<Vec<ChangedFile>, Error> {
        Ok(read(&self.call(&["--numstat", "-z"]).out()?))
    }

    /// How many commits were added.
    pub(crate) fn commits(&self) -> Result<u64, Error> {
        let to = match &self.after {
            After::Files(_) => "HEAD".to_owned(),
            After::Branch(branch) => format!("refs/heads/{branch}"),
        };
        let range = format!("{}..{to}", self.base);
        let count = git(&self.repo.root).words(["rev-list", "--count", &range, "--"]).line()?;
        count.parse().map_err(|_| {
            Error::new(Kind::Io, format!("git rev-list tells no number: {}", one_line(&count)))
        })
    }
}

/// Tells an index of the files that git does not know yet; why not, if one of them is gone. And which
/// of them are repositories.
fn with_untracked(repo: &Repo, index: &Path) -> Result<(Option<Error>, Vec<PathBuf>), Error> {
    let untracked = files(&repo.root, Look::Work)?.untracked;
    let is_other = |name: &PathBuf| name.as_os_str().as_bytes().ends_with(b"/");
    let (others, untracked): (Vec<_>, Vec<_>) = untracked.into_iter().partition(is_other);
    let names = untracked.iter().map(|name| name.as_os_str().as_bytes());
    let list: Vec<u8> = names.flat_map(|name| name.iter().copied().chain([0])).collect();
    if list.is_empty() {
        return Ok((None, others));
    }
    let words = ["--literal-pathspecs", "add", "--intent-to-add", "--sparse"];
    let from = ["--pathspec-from-file=-", "--pathspec-file-nul"];
    let call = git(&repo.root).words(words).words(from);
    let said = call.index(index).input(&list)?.ask()?;
    Ok(((!said.yes).then(|| said.error()), others))
}

/// `ADDED TAB REMOVED TAB PATH NUL`; where a file was moved, an empty path and then both.
fn read(out: &[u8]) -> Vec<ChangedFile> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut files = Vec::new();
    let mut rest = parts(out);
    while let Some(entry) = rest.next() {
        let mut fields = entry.splitn(3, |byte| *byte == b'\t');
        let mut number = || fields.next().and_then(|field| text(field).parse().ok());
        let (added, removed) = (number(), number());
        let (path, from) = match fields.next().filter(|path| !path.is_empty()) {
            Some(path) => (text(path), None),
            None => {
                let from = rest.next().map(text);
                (rest.next().map(text).unwrap_or_default(), from)
            }
        };
        files.push(ChangedFile { path, from, added, removed });
    }
    files
}

impl Repo {
    /// The branch that others start from, by its short name: what the remote says, else by its name.
    pub(crate) fn default_branch(&self) -> Result<Option<String>, Error> {
        let words = ["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"];
        let told = git(&self.main).words(words).line_if_any()?;
        if let Some(name) = told.as_deref().and_then(|to| to.strip_prefix("refs/remotes/origin/")) {
            return Ok(Some(name.to_owned()));
        }
        for name in ["main", "master"] {
            if self.commit(&format!("refs/heads/{name}"))?.is_some() {
                return Ok(Some(name.to_owned()));
            }
        }
        Ok(None)
    }

    /// The commit since which a worktree's own work counts, where no launch tells: what it has in common
    /// with its upstream, or with the default branch.
    pub(crate) fn fork_point(&self) -> Result<(String, Since), Error> {
        let head = self.commit("HEAD")?.ok_or_else(|| {
            Error::new(Kind::No, "nothing is committed yet: there is nothing to compare with")
        })?;
        if let Some(common) = self.common_with("@{upstream}")? {
            return Ok((common, Since::Upstream));
        }
        for name in ["refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"] {
            if let Some(common) = self.common_with(name)? {
                return Ok((common, Since::DefaultBranch));
            }
        }
        Ok((head, Since::Head))
    }

    fn common_with(&self, other: &str) -> Result<Option<String>, Error> {
        let Some(other) = self.commit(other)? else { return Ok(None) };
        git(&self.root).words(["merge-base", "HEAD", &other]).line_if_any()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that mean no good.
    mod hostile {
        use super::*;
        use agentctl_testkit::hostile::Target;

        /// Whatever stands in it, no more files are told than there are names.
        #[test]
        fn any_counts_are_read() {
            let run = |out: &[u8]| {
                let (files, names) = (read(out), parts(out).count());
                let moved = files.iter().filter(|file| file.from.is_some()).count();
                assert!(files.len() + moved <= names, "{files:?}");
            };
            let seeds = || vec![b"1\t2\ta b\0-\t-\tpic\x003\t0\t\0old\0new\tname\0".to_vec()];
            Target { name: "numstat", run, seeds }.holds(5_000);
        }
    }

    #[test]
    fn counts_are_read_with_their_names() {
        let file = |path: &str, from: Option<&str>, added, removed| ChangedFile {
            path: path.into(),
            from: from.map(str::to_owned),
            added,
            removed,
        };
        assert_eq!(
            read(b"1\t2\ta b\0-\t-\tpic\x003\t0\t\0old\0new\tname\0"),
            [
                file("a b", None, Some(1), Some(2)),
                file("pic", None, None, None),
                file("new\tname", Some("old"), Some(3), Some(0)),
            ]
        );
    }
}
