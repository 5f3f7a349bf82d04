//! The worktrees that git has written down.

use super::command::{git, path};
use crate::error::Error;
use std::path::{Path, PathBuf};

/// Exit code of git where it does not know an option.
const USAGE: i32 = 129;

/// One worktree, as `git worktree list` tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) path: PathBuf,
    /// The commit that is checked out; absent before the first one, and of a bare repository.
    pub(crate) head: Option<String>,
    /// The branch, without `refs/heads/`; absent where a commit is checked out.
    pub(crate) branch: Option<String>,
    /// It is the repository itself, without files to work on.
    pub(crate) bare: bool,
    /// `git worktree lock` holds it, for that reason.
    pub(crate) locked: Option<String>,
    /// Git would forget it, for that reason: mostly, it is gone.
    pub(crate) prunable: Option<String>,
}

/// All worktrees of a directory's repository, the main one first.
pub(super) fn listed(dir: &Path) -> Result<Vec<Listed>, Error> {
    let ask = |end: &'static [&str]| git(dir).words(["worktree", "list", "--porcelain"]).words(end);
    let said = ask(&["-z"]).ask()?;
    if said.yes {
        return Ok(read(&said.out, 0));
    }
    // Git before 2.36 knows no -z there.
    match said.code == Some(USAGE) {
        true => Ok(read(&ask(&[]).out()?, b'\n')),
        false => Err(said.error()),
    }
}

fn read(out: &[u8], end: u8) -> Vec<Listed> {
    let mut trees: Vec<Listed> = Vec::new();
    for line in out.split(|byte| *byte == end).filter(|line| !line.is_empty()) {
        let at = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
        let (name, value) = (&line[..at], line.get(at + 1..).unwrap_or_default());
        let text = String::from_utf8_lossy(value).into_owned();
        if name == b"worktree" {
            trees.push(Listed { path: path(value), ..Listed::default() });
        }
        let Some(tree) = trees.last_mut() else { continue };
        match name {
            b"HEAD" => {
                tree.head = Some(text).filter(|head| head.bytes().any(|digit| digit != b'0'))
            }
            b"branch" => {
                tree.branch = Some(text.strip_prefix("refs/heads/").unwrap_or(&text).to_owned());
            }
            b"bare" => tree.bare = true,
            b"locked" => tree.locked = Some(text),
            b"prunable" => tree.prunable = Some(text),
            _ => {}
        }
    }
    trees
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that mean no good.
    mod hostile {
        use super::*;
        use agentctl_testkit::hostile::Target;

        /// Whatever stands in it, each worktree is told once, with its path.
        #[test]
        fn any_list_of_worktrees_is_read() {
            let run = |out: &[u8]| {
                for end in [0, b'\n'] {
                    let lines = out.split(|byte| *byte == end);
                    let names =
                        lines.filter(|line| *line == b"worktree" || line.starts_with(b"worktree "));
                    let paths: Vec<PathBuf> =
                        names.map(|line| path(line.get(9..).unwrap_or_default())).collect();
                    let read: Vec<PathBuf> =
                        read(out, end).into_iter().map(|tree| tree.path).collect();
                    assert_eq!(read, paths);
                }
            };
            let seeds = || {
                let one = "worktree /a b\0HEAD 12ab\0branch refs/heads/x\0locked why\0\0worktree /c\0bare\0\0";
                vec![one.as_bytes().to_vec(), one.replace('\0', "\n").into_bytes()]
            };
            Target { name: "worktrees", run, seeds }.holds(5_000);
        }
    }

    #[test]
    fn a_list_is_read_whatever_the_names() {
        let out = b"worktree /a\nb\0HEAD 12ab\0branch refs/heads/try/x\0\0\
                    worktree /c d\0HEAD 0000\0detached\0locked on a disk\0prunable gone\0\0\
                    worktree /e\0bare\0locked\0\0";
        let tree = |path: &str| Listed { path: path.into(), ..Listed::default() };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            read(out, 0),
            [
                Listed { head: some("12ab"), branch: some("try/x"), ..tree("/a\nb") },
                Listed { locked: some("on a disk"), prunable: some("gone"), ..tree("/c d") },
                Listed { bare: true, locked: some(""), ..tree("/e") },
            ]
        );
    }
}
