//! Worktrees: what is made for launches, what sessions changed there, and that no work is lost.

mod changes;
mod clean;
mod close;
mod files;
mod held;
mod history;
mod launch;

use crate::home::{Agents, Answer};
use serde_json::Value;
use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, process::Command};

/// A home with a repository `repo` and a worktree `tree` of it on the branch `b`.
struct Trees {
    agents: Agents,
}

impl Trees {
    fn new() -> Self {
        let trees = Self { agents: Agents::new() };
        trees.own();
        trees.git(".", &["init", "-q", "-b", "main", "repo"]);
        trees.write("repo/file", "one\n");
        trees.write("repo/.gitignore", "*.env\nnode_modules/\ntarget/\nout/\n");
        trees.git("repo", &["add", "."]);
        trees.git("repo", &["commit", "-qm", "one"]);
        trees.git("repo", &["worktree", "add", "-q", "-b", "b", "../tree"]);
        trees
    }

    fn own(&self) {
        self.agents.own();
    }

    fn at(&self, path: &str) -> PathBuf {
        self.agents.home.work().join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
        fs::write(path, text).expect("a file");
        self.own();
    }

    fn with_git(&self, mut command: Command) -> Command {
        let bin = self.agents.home.path("bin");
        command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "a")
                .env(format!("GIT_{who}_EMAIL"), "a@b.example");
        }
        command
    }

    /// Whether git says yes, and what it prints.
    fn try_git(&self, dir: &str, words: &[&str]) -> (bool, String) {
        let mut command = self.with_git(self.agents.home.command("/usr/bin/git"));
        command.current_dir(self.at(dir)).args(["-c", "protocol.file.allow=always"]).args(words);
        let made = command.output().expect("git is there");
        let text =
            [made.stdout, made.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        (made.status.success(), text.concat())
    }

    /// What git prints.
    fn git(&self, dir: &str, words: &[&str]) -> String {
        let (yes, text) = self.try_git(dir, words);
        assert!(yes, "{words:?}: {text}");
        text.trim_end().to_owned()
    }

    /// Whenever agentctl calls git, these branches of a `case` over its words come first.
    fn fake_git(&self, cases: &str) {
        let script =
            format!("#!/bin/sh\ncase \"$*\" in\n{cases}\nesac\nexec /usr/bin/git \"$@\"\n");
        let path = self.agents.home.write("bin/git", script);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("our file");
        self.own();
    }

    /// A commit of all that is there; its hash.
    fn commit(&self, dir: &str, name: &str) -> String {
        self.write(&format!("{dir}/{name}"), name);
        self.git(dir, &["add", "-A"]);
        self.git(dir, &["commit", "-qm", name]);
        self.git(dir, &["rev-parse", "HEAD"])
    }

    fn run(&self, args: &[&str]) -> Answer {
        self.agents.home.ask(&mut self.with_git(self.agents.home.agentctl(args)))
    }

    /// `worktree clean tree` with more words.
    fn clean(&self, more: &[&str]) -> Answer {
        self.run(&[&["worktree", "clean", "./tree", "--json"], more].concat())
    }

    /// It is refused with more words, for these reasons alone; nothing is removed.
    fn keeps(&self, more: &[&str], reasons: &[(&str, &str)]) {
        let answer = self.clean(more);
        assert_eq!(answer.code, Some(5), "{answer:#?}");
        let one = &answer.json()["worktrees"][0];
        let found: Vec<(&str, &str)> =
            proofs(one).filter(|(_, verdict)| *verdict != "safe").collect();
        assert_eq!(found, reasons, "{one:#}");
        assert_eq!(
            (&one["removed"], &one["branch_deleted"]),
            (&Value::Bool(false), &Value::Bool(false))
        );
        assert!(one["hint"].is_string(), "{one:#}");
        assert!(self.at("tree/.git").exists());
        assert!(self.git("repo", &["branch", "--list", "b"]).ends_with(" b"));
    }

    /// It is removed with more words.
    fn removes(&self, more: &[&str]) -> Value {
        let answer = self.clean(more);
        assert_eq!(answer.code, Some(0), "{answer:#?}");
        let one = answer.json()["worktrees"][0].clone();
        assert_eq!(one["removed"], true, "{one:#}");
        assert!(!self.at("tree").exists());
        assert_eq!(self.git("repo", &["worktree", "list"]).lines().count(), 1);
        one
    }
}

/// Every check and its verdict.
fn proofs(one: &Value) -> impl Iterator<Item = (&str, &str)> {
    let proofs = one["proofs"].as_array().expect("proofs are a list").iter();
    proofs.map(|proof| {
        let word = |name: &str| proof[name].as_str().expect("a word");
        (word("check"), word("verdict"))
    })
}
