//! The repository's text files, read once for all checks, whatever is committed.

use crate::failure::{Failure, Outcome};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Directories that hold nothing we wrote, wherever they are: build output and captures.
const PASSED_OVER: &[&str] = &["target", "fixtures", "node_modules", ".git"];
/// And these, from the root: bytes that mean no good.
const FUZZED: &[&str] = &["fuzz/corpus", "fuzz/found", "fuzz/artifacts"];

/// Endings of the files that checks look into; a name without one counts too (`.ci/run`).
const TEXT: &[&str] = &["rs", "toml", "sh", ""];

/// The repository as the checks see it.
#[derive(Debug)]
pub(crate) struct Tree {
    /// Where it is.
    pub(crate) root: PathBuf,
    /// Its files, sorted by path.
    pub(crate) files: Vec<Source>,
}

/// One file.
#[derive(Debug)]
pub(crate) struct Source {
    /// Its path from the root, with slashes.
    pub(crate) path: String,
    /// All of it.
    pub(crate) text: String,
}

impl Tree {
    /// Reads all text files under a root.
    pub(crate) fn read(root: &Path) -> Outcome<Self> {
        let mut files = Vec::new();
        let mut folders = vec![root.to_path_buf()];
        while let Some(folder) = folders.pop() {
            let entries =
                fs::read_dir(&folder).map_err(|why| Failure::io("read", &folder, &why))?;
            for entry in entries {
                let entry = entry.map_err(|why| Failure::io("read", &folder, &why))?;
                let kind = entry.file_type().map_err(|why| Failure::io("read", &folder, &why))?;
                let path = entry.path();
                if kind.is_dir() && !is_passed_over(root, &path) {
                    folders.push(path);
                } else if kind.is_file() && is_text(&path) {
                    files.extend(source(root, &path)?);
                }
            }
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(Self { root: root.to_path_buf(), files })
    }

    /// The Rust sources.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &Source> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// A tree that is nowhere, for tests.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let source = |(path, text): &(&str, &str)| Source {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        Self { root: PathBuf::new(), files: files.iter().map(source).collect() }
    }
}

fn is_passed_over(root: &Path, path: &Path) -> bool {
    let below = path.strip_prefix(root).unwrap_or(path);
    PASSED_OVER.iter().any(|name| below.ends_with(name))
        || FUZZED.iter().any(|dir| below == Path::new(dir))
}

fn is_text(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    TEXT.contains(&ending.as_ref())
}

/// Reads one file; none if it is gone since it was listed, or is not text.
fn source(root: &Path, path: &Path) -> Outcome<Option<Source>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(Failure::io("read", path, &why)),
    };
    let named = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
    Ok(String::from_utf8(bytes).ok().map(|text| Source { path: named, text }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_ours_is_passed_over() {
        let is_over = |path: &str| is_passed_over(Path::new("/r"), Path::new(path));
        assert!(is_over("/r/fuzz/corpus") && is_over("/r/fuzz/target") && is_over("/r/a/fixtures"));
        assert!(!is_over("/r/crates/corpus") && !is_over("/r/src/found") && !is_over("/r/fuzz"));
    }
}
