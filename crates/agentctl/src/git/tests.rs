//! Worktrees of real repositories.

mod add;
mod find;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// A folder with a repository in it, and what its owner would type.
struct Folder {
    dir: TempDir,
}

impl Folder {
    /// With a repository `repo` that has one commit.
    fn new() -> Self {
        let folder = Self::empty();
        folder.write("repo/file", "one\n");
        folder.run("repo", &["add", "."]);
        folder.run("repo", &["commit", "-qm", "one"]);
        folder
    }

    /// With a repository `repo` that has no commit.
    fn empty() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = Self { dir };
        folder.run(".", &["init", "-q", "-b", "main", "repo"]);
        folder
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("it is there").join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    /// What git prints.
    fn run(&self, dir: &str, words: &[&str]) -> String {
        run(&self.at(dir), words)
    }
}

fn run(dir: &Path, words: &[&str]) -> String {
    let made = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(["-c", "protocol.file.allow=always"])
        .args(words)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_NAME"), "a")))
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_EMAIL"), "a@example.com")))
        .output()
        .expect("git is there");
    assert!(made.status.success(), "{words:?}: {}", String::from_utf8_lossy(&made.stderr));
    String::from_utf8_lossy(&made.stdout).trim_end().to_owned()
}
