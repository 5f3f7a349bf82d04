//! Other repositories inside a worktree, and what else would go with its directory.

use super::{
    command::{Git, git},
    work::{Look, files},
};
use crate::error::Error;
use std::{
    fs::{self, FileType, Metadata},
    io::{self, BufRead, BufReader, ErrorKind, Read},
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};

/// What a walk through a worktree found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inside {
    /// Repositories and worktrees of others, by their directories.
    pub(crate) nested: Vec<PathBuf>,
    /// Submodules whose repositories belong to this worktree.
    pub(crate) submodules: Vec<PathBuf>,
    /// Repositories that git keeps for submodules of this worktree which are not checked out.
    pub(crate) put_away: Vec<PathBuf>,
    /// Directories of another file system: removing would go on there.
    pub(crate) mounts: Vec<PathBuf>,
    /// What cannot be looked into.
    pub(crate) unreadable: Vec<PathBuf>,
    /// Pipes, sockets and devices, which git passes over.
    pub(crate) odd: Vec<PathBuf>,
}

/// Walks through a worktree, if it is there, and through what git keeps for its submodules; never
/// through links, and not into repositories of others.
pub(crate) fn inside(tree: &Path, own: &Path) -> Inside {
    let mut found = Inside::default();
    let device = fs::symlink_metadata(tree).map(|stat| stat.dev()).ok();
    let mut checked_out = Vec::new();
    let mut todo = Vec::new();
    if found.is_there(tree) {
        todo.push(tree.to_owned());
    }
    while let Some(dir) = todo.pop() {
        let git = dir.join(".git");
        if dir != tree && found.is_there(&git) {
            match repository(&git).filter(|there| there.starts_with(own)) {
                Some(there) => {
                    found.submodules.push(dir.clone());
                    checked_out.push(there);
                }
                None => {
                    found.nested.push(dir);
                    continue;
                }
            }
        }
        let entries = found.entries(&dir);
        if dir != tree && is_bare(&entries) && !is_tracked(tree, &dir.join("HEAD")) {
            found.nested.push(dir);
            continue;
        }
        for (path, kind) in entries {
            if is_odd(kind) {
                found.odd.push(path);
            } else if kind.is_dir() && path != git {
                match fs::symlink_metadata(&path).map(|stat| stat.dev()).ok() == device {
                    true => todo.push(path),
                    false => found.mounts.push(path),
                }
            }
        }
    }
    found.put_away = found.kept(own);
    found.put_away.retain(|one| !checked_out.contains(one));
    found
}

impl Inside {
    /// It is there; where that cannot be told, that is written down.
    fn is_there(&mut self, path: &Path) -> bool {
        match fs::symlink_metadata(path) {
            Ok(_) => true,
            Err(why) if why.kind() == ErrorKind::NotFound => false,
            Err(_) => {
                self.unreadable.push(path.to_owned());
                false
            }
        }
    }

    /// What is in a directory; what cannot be told is written down.
    fn entries(&mut self, dir: &Path) -> Vec<(PathBuf, FileType)> {
        let Ok(entries) = fs::read_dir(dir) else {
            self.unreadable.push(dir.to_owned());
            return Vec::new();
        };
        let mut told = Vec::new();
        for entry in entries {
            match entry.map(|entry| (entry.path(), entry.file_type())) {
                Ok((path, Ok(kind))) => told.push((path, kind)),
                Ok((path, Err(_))) => self.unreadable.push(path),
                Err(_) => self.unreadable.push(dir.to_owned()),
            }
        }
        told
    }

    /// Every repository that git keeps for submodules, and for theirs. A submodule's name may have slashes.
    fn kept(&mut self, own: &Path) -> Vec<PathBuf> {
        let mut kept = Vec::new();
        let mut todo = vec![own.join("modules")];
        while let Some(dir) = todo.pop() {
            if !self.is_there(&dir) {
                continue;
            }
            let entries = self.entries(&dir);
            if entries.iter().any(|(path, _)| path.ends_with("HEAD")) {
                todo.push(dir.join("modules"));
                kept.push(dir.canonicalize().unwrap_or(dir));
                continue;
            }
            todo.extend(
                entries.into_iter().filter(|(_, kind)| kind.is_dir()).map(|(path, _)| path),
            );
        }
        kept
    }
}

/// A repository without a worktree, as its directory shows.
fn is_bare(entries: &[(PathBuf, FileType)]) -> bool {
    let has = |name: &str| entries.iter().any(|(path, _)| path.ends_with(name));
    ["HEAD", "objects", "refs"].into_iter().all(has)
}

/// Git knows a file: a repository that is committed, as tests of git tools have it, is but files.
fn is_tracked(tree: &Path, file: &Path) -> bool {
    let words = ["--literal-pathspecs", "ls-files", "--error-unmatch", "--"];
    git(tree).words(words).words([file]).ask().is_ok_and(|said| said.yes)
}

fn is_odd(kind: FileType) -> bool {
    kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device()
}

/// Where the repository lies that a `.git` file leads to.
fn repository(git_file: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(git_file).ok()?;
    let told = text.strip_prefix("gitdir: ")?;
    git_file.parent()?.join(told.trim_end_matches('\n')).canonicalize().ok()
}

/// Why a submodule cannot go: what is only there.
pub(crate) fn submodule_work(dir: &Path) -> Result<Vec<String>, Error> {
    let files = files(dir, Look::All)?;
    let counts = [
        (files.changed.len(), "changed"),
        (files.untracked.len(), "untracked"),
        (files.ignored.len(), "ignored"),
    ];
    let mut found: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what} files"))
        .collect();
    found.extend(commits_alone(|| git(dir))?);
    Ok(found)
}

/// Why the repository of a submodule that is not checked out cannot go.
pub(crate) fn put_away_work(repository: &Path) -> Result<Option<String>, Error> {
    // The directory where it was checked out, which it may still name, may be gone.
    commits_alone(|| git(repository).words(["--git-dir=.", "--work-tree=."]))
}

/// Commits that are in no remote of a repository, its stash and its branches included: they lie in the
/// repository, which goes too.
fn commits_alone(ask: impl Fn() -> Git) -> Result<Option<String>, Error> {
    let head = ask().words(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).line_if_any()?;
    let words = ["rev-list", "--count", "--all", "--reflog"];
    let only = ask().words(words).words(head).words(["--not", "--remotes"]).line()?;
    Ok((only != "0").then(|| format!("{only} commits that its remote does not have")))
}

/// What any program can make again: a name that only tools use, or a directory marked as a cache.
pub(crate) fn is_made_again(tree: &Path, ignored: &Path) -> bool {
    const DIRS: &[&str] = &[
        "node_modules",
        "bower_components",
        "__pycache__",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".tox",
        ".gradle",
        ".next",
        ".nuxt",
        ".turbo",
        ".parcel-cache",
        ".svelte-kit",
    ];
    const FILES: &[&str] = &[".eslintcache", ".DS_Store", "Thumbs.db"];
    const ENDS: &[&str] = &["pyc", "pyo", "o", "class", "tsbuildinfo"];
    const TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";
    let name = ignored.file_name().unwrap_or_default();
    let end = ignored.extension().unwrap_or_default();
    let path = tree.join(ignored);
    let is_dir = fs::symlink_metadata(&path).is_ok_and(|stat| stat.is_dir());
    let tagged = || {
        let mut begin = [0; TAG.len()];
        let tag = crate::read::open(&path.join("CACHEDIR.TAG"));
        tag.and_then(|mut tag| tag.read_exact(&mut begin)).is_ok() && begin == *TAG
    };
    let is_one = |known: &[&str]| known.iter().any(|known| *known == name);
    match is_dir {
        true => is_one(DIRS) || tagged() || path.join("pyvenv.cfg").is_file(),
        false => is_one(FILES) || ENDS.iter().any(|known| *known == end),
    }
}

/// How many files are in a directory, and how many bytes; what cannot be read is not counted.
pub(crate) fn weight(dir: &Path) -> (u64, u64) {
    let (mut files, mut bytes) = (0, 0);
    let mut todo = vec![dir.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(stat) if stat.is_dir() => todo.push(entry.path()),
                Ok(stat) => (files, bytes) = (files + 1, bytes + stat.len()),
                Err(_) => {}
            }
        }
    }
    (files, bytes)
}

/// It is a link: what it leads to stays where it is, or is looked at by itself.
pub(crate) fn is_link(tree: &Path, ignored: &Path) -> bool {
    fs::symlink_metadata(tree.join(ignored)).is_ok_and(|stat| stat.is_symlink())
}

/// The main worktree has the very same file there.
pub(crate) fn is_also_in(main: &Path, tree: &Path, ignored: &Path) -> bool {
    let (there, here) = (main.join(ignored), tree.join(ignored));
    let length = |path: &Path| fs::symlink_metadata(path).ok().filter(Metadata::is_file);
    let lengths = length(&there).zip(length(&here));
    lengths.is_some_and(|(there, here)| there.len() == here.len())
        && is_same(&there, &here).unwrap_or(false)
}

/// Two files hold the same; they may be large.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    const ROOM: usize = 64 << 10;
    let open =
        |path: &Path| Ok::<_, io::Error>(BufReader::with_capacity(ROOM, crate::read::open(path)?));
    let (mut one, mut other) = (open(one)?, open(other)?);
    loop {
        let (left, right) = (one.fill_buf()?, other.fill_buf()?);
        let common = left.len().min(right.len());
        if common == 0 || left[..common] != right[..common] {
            return Ok(left.is_empty() && right.is_empty());
        }
        one.consume(common);
        other.consume(common);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_files_are_told_apart_by_their_last_byte() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, end: u8, more: usize| {
            let path = folder.path().join(name);
            let mut bytes = vec![7; (200 << 10) + more];
            bytes.push(end);
            fs::write(&path, bytes).expect("a file");
            path
        };
        let (one, same) = (write("one", 1, 0), write("same", 1, 0));
        let (other, longer) = (write("other", 2, 0), write("longer", 1, 1));
        let same_as = |path: &Path| is_same(&one, path).expect("it can be read");
        assert_eq!([&same, &other, &longer].map(|path| same_as(path)), [true, false, false]);
    }
}
