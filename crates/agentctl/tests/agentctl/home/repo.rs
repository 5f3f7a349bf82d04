//! Real repositories of a home's user.

use super::Agents;
use std::{fs, os::unix::fs::symlink, path::PathBuf};

impl Agents {
    /// A repository in `work/repo` with one commit, and git on the search path.
    pub(crate) fn repo(&self) -> PathBuf {
        let repo = self.empty_repo();
        fs::create_dir(repo.join("src")).expect("a folder");
        fs::write(repo.join("src/a.txt"), "one\n").expect("a file");
        self.own();
        self.git(&["add", "."]);
        self.git(&["commit", "-qm", "first"]);
        repo
    }

    /// The same before its first commit.
    pub(crate) fn empty_repo(&self) -> PathBuf {
        let repo = self.home.work().join("repo");
        fs::create_dir(&repo).expect("a folder");
        symlink("/usr/bin/git", self.home.path("bin/git")).expect("a link");
        let person = "[user]\nname = T\nemail = t@example.org\n[init]\ndefaultBranch = main\n";
        self.home.write(".gitconfig", person);
        self.own();
        self.git(&["init", "-q"]);
        repo
    }

    /// What git says in that repository; it must say yes.
    pub(crate) fn git(&self, words: &[&str]) -> String {
        let mut git = self.home.command("/usr/bin/git");
        git.arg("-C").arg(self.home.work().join("repo")).args(words);
        let answer = git.env("PATH", "/usr/bin:/bin").output().expect("git runs");
        assert!(answer.status.success(), "git {words:?}: {answer:?}");
        String::from_utf8(answer.stdout).expect("text")
    }
}
