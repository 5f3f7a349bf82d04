//! The git branch that a directory is on, as git's own files say.

use std::{
    ffi::OsString,
    fs::File,
    io::Read,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

/// Neither of the two files is longer.
const LONGEST: u64 = 8 << 10;

/// The branch; none outside of a repository, and where no branch is checked out.
pub(crate) fn branch(dir: &Path) -> Option<OsString> {
    let dot = dir.ancestors().map(|above| above.join(".git")).find(|dot| dot.exists())?;
    let folder = match dot.is_dir() {
        true => dot,
        false => {
            let text = short(&dot)?;
            let path = text.strip_prefix(b"gitdir: ")?.trim_ascii_end();
            dot.parent()?.join(PathBuf::from(std::ffi::OsStr::from_bytes(path)))
        }
    };
    let head = short(&folder.join("HEAD"))?;
    let name = head.strip_prefix(b"ref: refs/heads/")?.trim_ascii_end();
    // A repository that keeps its references in a table says so there.
    (!name.contains(&0) && name != b".invalid").then(|| OsString::from_vec(name.to_vec()))
}

fn short(path: &Path) -> Option<Vec<u8>> {
    let file = path.is_file().then(|| File::open(path).ok())??;
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_branch_is_found_in_repositories_and_worktrees() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        fs::create_dir_all(top.join("repo/.git/worktrees/tree")).unwrap();
        fs::create_dir_all(top.join("repo/src")).unwrap();
        fs::create_dir_all(top.join("tree")).unwrap();
        fs::write(top.join("repo/.git/HEAD"), "ref: refs/heads/a/$(b)\n").unwrap();
        fs::write(top.join("repo/.git/worktrees/tree/HEAD"), b"ref: refs/heads/\xff\n").unwrap();
        fs::write(top.join("tree/.git"), "gitdir: ../repo/.git/worktrees/tree\n").unwrap();
        assert_eq!(branch(&top.join("repo/src")), Some("a/$(b)".into()));
        assert_eq!(branch(&top.join("tree")), Some(OsString::from_vec(vec![0xff])));
        fs::write(top.join("repo/.git/HEAD"), "0123456789abcdef\n").unwrap();
        assert_eq!(branch(&top.join("repo")), None);
        fs::write(top.join("repo/.git/HEAD"), "ref: refs/heads/.invalid\n").unwrap();
        assert_eq!(branch(&top.join("repo")), None);
    }
}
