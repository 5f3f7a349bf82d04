//! Other repositories inside a worktree, and what else would go with its directory.

use super::{
    command::git,
    work::{Look, files},
};
use crate::error::Error;
use std::{
    fs::{self, FileType},
    io::Read,
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
    /// Directories of another file system: removing would go on there.
    pub(crate) mounts: Vec<PathBuf>,
    /// What cannot be looked into.
    pub(crate) unreadable: Vec<PathBuf>,
    /// Pipes, sockets and devices, which git passes over.
    pub(crate) odd: Vec<PathBuf>,
}

/// Walks through a worktree, never through links, and not into other repositories.
pub(crate) fn inside(tree: &Path, own: &Path) -> Inside {
    let mut found = Inside::default();
    let device = fs::symlink_metadata(tree).map(|stat| stat.dev()).ok();
    let mut todo = vec![tree.to_owned()];
    while let Some(dir) = todo.pop() {
        let Ok(entries) = fs::read_dir(&dir) else {
            found.unreadable.push(dir);
            continue;
        };
        for entry in entries {
            let Ok(entry) = entry else {
                found.unreadable.push(dir.clone());
                continue;
            };
            let path = entry.path();
            if entry.file_name() == ".git" {
                if dir != tree {
                    let list = match is_submodule(&path, own) {
                        true => &mut found.submodules,
                        false => &mut found.nested,
                    };
                    list.push(dir.clone());
                }
                continue;
            }
            let Ok(kind) = entry.file_type() else { continue };
            if is_odd(kind) {
                found.odd.push(path);
            } else if kind.is_dir() {
                match fs::symlink_metadata(&path).map(|stat| stat.dev()).ok() == device {
                    true => todo.push(path),
                    false => found.mounts.push(path),
                }
            }
        }
    }
    found
}

fn is_odd(kind: FileType) -> bool {
    kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device()
}

/// Its repository lies where git keeps what belongs to this worktree.
fn is_submodule(git_file: &Path, own: &Path) -> bool {
    let Ok(text) = fs::read_to_string(git_file) else { return false };
    let Some(told) = text.strip_prefix("gitdir: ") else { return false };
    let there = git_file.parent().unwrap_or(git_file).join(told.trim_end_matches('\n'));
    there.canonicalize().is_ok_and(|there| there.starts_with(own))
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
    // Its stash and its branches lie in its own repository, which goes too.
    let words = ["rev-list", "--count", "--all", "HEAD", "--reflog", "--not", "--remotes"];
    let only = git(dir).words(words).line()?;
    if only != "0" {
        found.push(format!("{only} commits that its remote does not have"));
    }
    Ok(found)
}

/// What any program can make again: a name that only tools use, or a directory marked as a cache.
pub(crate) fn is_made_again(tree: &Path, ignored: &Path) -> bool {
    const NAMES: &[&str] = &[
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
        ".eslintcache",
        ".DS_Store",
        "Thumbs.db",
    ];
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
    NAMES.iter().any(|known| *known == name)
        || !is_dir && ENDS.iter().any(|known| *known == end)
        || is_dir && (tagged() || path.join("pyvenv.cfg").is_file())
}

/// It is a link: what it leads to stays where it is, or is looked at by itself.
pub(crate) fn is_link(tree: &Path, ignored: &Path) -> bool {
    fs::symlink_metadata(tree.join(ignored)).is_ok_and(|stat| stat.is_symlink())
}

/// The main worktree has the very same file there.
pub(crate) fn is_also_in(main: &Path, tree: &Path, ignored: &Path) -> bool {
    let regular = |path: &Path| fs::symlink_metadata(path).is_ok_and(|stat| stat.is_file());
    let (there, here) = (main.join(ignored), tree.join(ignored));
    let whole = || fs::read(&there).ok().zip(fs::read(&here).ok());
    regular(&there) && regular(&here) && whole().is_some_and(|(there, here)| there == here)
}
