//! Launches in a worktree of their own.

use super::Trees;
use serde_json::{Value, json};
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
};

const LAUNCH: &[&str] = &["launch", "claude-code", "-p", "hi", "--json", "--worktree", "repo"];

impl Trees {
    fn launch(&self, more: &[&str]) -> Value {
        let answer = self.run(&[LAUNCH, more].concat());
        assert_eq!(answer.code, Some(0), "{answer:#?}");
        answer.json()
    }

    /// Everything of git's that a failed launch must leave as it was.
    fn refs(&self) -> String {
        let list = |words| self.git("repo", words);
        format!("{}\n{}", list(&["worktree", "list"]), list(&["for-each-ref"]))
    }
}

#[test]
fn a_launch_works_in_a_worktree_of_its_own() {
    let trees = Trees::new();
    let head = trees.git("repo", &["rev-parse", "HEAD"]);
    trees.write("repo/file", "dirty\n");
    let launched = trees.launch(&["--branch", "try/x"]);
    let tree = trees.at("repo-try-x");
    let dirty =
        format!("uncommitted changes in {} are not carried over", trees.at("repo").display());
    let made = json!({"path": tree, "branch": "try/x", "created_branch": true, "base": head,
        "repo": trees.at("repo"), "notes": [dirty]});
    assert_eq!(launched["worktree"], made);
    let session = &launched["session"];
    assert_eq!((&session["cwd"], &session["branch"]), (&json!(tree), &json!("try/x")));
    assert_eq!(fs::read_to_string(tree.join("file")).ok().as_deref(), Some("one\n"));
    let launch = session["launch_id"].as_str().expect("an id");
    let receipt = trees.agents.home.path(format!(".local/state/agentctl/launches/{launch}.json"));
    let receipt: Value = serde_json::from_slice(&fs::read(receipt).expect("a file")).expect("JSON");
    assert_eq!(
        (&receipt["branch"], &receipt["base"], &receipt["repo"]),
        (&json!("try/x"), &json!(head), &json!(trees.at("repo")))
    );
    // It is taken, and stays.
    let id = session["id"].as_str().expect("an id");
    let clean = trees.run(&["worktree", "clean", id, "--force", "--yes"]);
    assert_eq!(clean.code, Some(5), "{clean:#?}");
    let again = trees.run(&[LAUNCH, &["--branch", "try/x"]].concat());
    assert_eq!(again.code, Some(5), "{again:#?}");
    assert_eq!(trees.run(&["stop", id]).code, Some(0));
    let clean = trees.run(&["worktree", "clean", &tree.display().to_string(), "--delete-branch"]);
    assert_eq!(clean.code, Some(0), "{clean:#?}");
    assert!(!tree.exists());
}

#[test]
fn a_branch_that_is_not_named_is_made_up() {
    let trees = Trees::new();
    let branch = trees.launch(&[])["worktree"]["branch"].as_str().expect("a name").to_owned();
    let end = branch.strip_prefix("try/claude-").expect("it says who works there");
    assert!(end.len() == 6 && end.bytes().all(|byte| byte.is_ascii_hexdigit()), "{branch}");
    assert!(trees.at(&format!("repo-try-claude-{end}/file")).exists());
}

#[test]
fn a_directory_of_the_repository_is_meant_in_the_worktree() {
    let trees = Trees::new();
    trees.commit("repo", "deep/file");
    let launched = trees.launch(&["--branch", "x", "--cwd", "repo/deep"]);
    assert_eq!(launched["session"]["cwd"], json!(trees.at("repo-x/deep")));
    trees.write("repo/new/file", "");
    let before = trees.refs();
    for (cwd, says) in [("tree", "is not in"), ("repo/new", "is not in the commit")] {
        let answer = trees.run(&[LAUNCH, &["--branch", "y", "--cwd", cwd]].concat());
        assert_eq!(answer.code, Some(2), "{answer:#?}");
        assert!(answer.stdout.contains(says), "{answer:#?}");
    }
    assert_eq!(trees.refs(), before);
}

#[test]
fn a_dry_run_makes_nothing() {
    let trees = Trees::new();
    let before = trees.refs();
    let words = [LAUNCH, &["--branch", "x", "--base-branch", "b", "--dry-run"]].concat();
    let dry = trees.run(&words);
    assert_eq!(dry.code, Some(0), "{dry:#?}");
    assert_eq!(dry.json()["cwd"], json!(trees.at("repo-x")));
    assert_eq!(dry.json()["worktree"]["branch"], "x");
    let shown = trees.run(&words.into_iter().filter(|word| *word != "--json").collect::<Vec<_>>());
    assert!(shown.stdout.starts_with("git -C "), "{shown:#?}");
    assert!(shown.stdout.contains(" worktree add -b x "), "{shown:#?}");
    assert_eq!(trees.refs(), before);
    assert!(!trees.at("repo-x").exists());
}

#[test]
fn a_launch_that_fails_leaves_no_worktree_and_no_branch() {
    let trees = Trees::new();
    let before = trees.refs();
    fs::write(trees.agents.home.path("bin/claude"), "#!/bin/sh\nexit 3\n").expect("our file");
    let failed = trees.run(&[LAUNCH, &["--branch", "x"]].concat());
    assert_eq!(failed.code, Some(6), "{failed:#?}");
    assert_eq!(trees.refs(), before);
    assert!(!trees.at("repo-x").exists());
    // What the agent wrote before it failed is work, and told.
    fs::write(trees.agents.home.path("bin/claude"), "#!/bin/sh\necho work >new\nexit 3\n")
        .expect("our file");
    let failed = trees.run(&[LAUNCH, &["--branch", "x"]].concat());
    assert_eq!(failed.code, Some(6), "{failed:#?}");
    assert!(failed.json()["error"]["hint"].to_string().contains("is left as it is"), "{failed:#?}");
    assert_eq!(trees.read("repo-x/new"), "work\n");
    // A branch that was there before stays, with a worktree that is gone again.
    let before = trees.refs();
    trees.git("repo", &["branch", "old"]);
    fs::write(trees.agents.home.path("bin/claude"), "#!/bin/sh\nexit 3\n").expect("our file");
    let failed = trees.run(&[LAUNCH, &["--branch", "old"]].concat());
    assert_eq!(failed.code, Some(6), "{failed:#?}");
    assert!(trees.git("repo", &["branch", "--list", "old"]).contains("old"));
    trees.git("repo", &["branch", "-q", "-D", "old"]);
    assert_eq!(trees.refs(), before);
}

/// Git makes the branch first, and the directory cannot be made.
#[test]
fn a_worktree_that_cannot_be_made_leaves_no_branch() {
    let trees = Trees::new();
    let before = trees.refs();
    let folder = trees.at("");
    fs::set_permissions(&folder, Permissions::from_mode(0o555)).expect("our folder");
    let failed = trees.run(&[LAUNCH, &["--branch", "x"]].concat());
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).expect("our folder");
    if trees.agents.home.user().is_some() {
        assert_eq!(failed.code, Some(5), "{failed:#?}");
        assert!(failed.stdout.contains("nothing was left behind"), "{failed:#?}");
        assert_eq!(trees.refs(), before);
    }
}

/// What could not be taken back is told, and not that nothing is there.
#[test]
fn what_is_left_of_a_worktree_that_failed_is_told() {
    let trees = Trees::new();
    trees.fake_git("*'reset --hard'*|*'worktree remove'*) echo 'fatal: no room' >&2; exit 128 ;;");
    let failed = trees.run(&[LAUNCH, &["--branch", "x y".replace(' ', "'").as_str()]].concat());
    assert_eq!(failed.code, Some(5), "{failed:#?}");
    let path = trees.at("repo-x-y").display().to_string();
    let left = format!(
        "`git worktree remove --force {path}` removes what was made of it; \
         `git branch -D 'x'\\''y'` deletes the branch that was made for it"
    );
    assert_eq!(failed.json()["error"]["hint"], left);
    assert!(trees.at("repo-x-y/.git").exists());
}

/// Each has its worktree, its branch and its session, whoever is making one at the same moment.
#[test]
fn twelve_launches_at_once_are_twelve() {
    let trees = Trees::new();
    let start = |_| {
        let mut launch = trees.with_git(trees.agents.home.agentctl(LAUNCH));
        launch.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        launch.spawn().expect("it starts")
    };
    let started: Vec<_> = (0..12).map(start).collect();
    let mut found = std::collections::BTreeSet::new();
    for one in started {
        let done = one.wait_with_output().expect("it ends");
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        assert_eq!(done.status.code(), Some(0), "{text}");
        let launched: Value = serde_json::from_str(&text).expect("JSON");
        let tree = &launched["worktree"];
        assert_eq!(launched["session"]["cwd"], tree["path"], "{launched:#}");
        found.insert(tree["branch"].as_str().expect("a name").to_owned());
    }
    assert_eq!(found.len(), 12, "{found:?}");
    let listed = trees.run(&["worktree", "list", "repo", "--json"]).json();
    let live = |one: &&Value| one["sessions"][0]["live"] == true && one["sessions"][1].is_null();
    assert_eq!(listed["worktrees"].as_array().expect("a list").iter().filter(live).count(), 12);
}

#[test]
fn a_key_makes_one_worktree() {
    let trees = Trees::new();
    let first = trees.launch(&["--key", "k"]);
    let before = trees.refs();
    let second = trees.launch(&["--key", "k"]);
    assert_eq!((&second["reused"], &second["worktree"]), (&json!(true), &Value::Null));
    assert_eq!(second["session"]["id"], first["session"]["id"]);
    assert_eq!(trees.refs(), before);
}

#[test]
fn what_is_no_repository_is_an_error() {
    let trees = Trees::new();
    let launch = |words: &[&str]| {
        let base = ["launch", "claude-code", "-p", "hi"];
        trees.run(&[&base, words].concat())
    };
    for (words, says) in [
        (&["--worktree", "/"][..], "in no git repository"),
        (&["--worktree", "gone"], "cannot work in"),
        (&["--worktree", "repo", "--base-branch", "main2"], "did you mean main?"),
        (&["--worktree", "repo", "--branch", "a..b"], "no branch of the name"),
        (&["--branch", "x"], "--worktree"),
    ] {
        let answer = launch(words);
        assert_eq!(answer.code, Some(2), "{answer:#?}");
        assert!(answer.stderr.contains(says), "{answer:#?}");
    }
    trees.git(".", &["init", "-q", "empty"]);
    let empty = launch(&["--worktree", "empty"]);
    assert_eq!(empty.code, Some(2), "{empty:#?}");
    assert!(empty.stderr.contains("has no commits"), "{empty:#?}");
    let mut without = trees.agents.home.agentctl(&["launch", "-p", "hi", "--worktree", "repo"]);
    let answer = trees.agents.home.ask(&mut without); // its search path has no git
    assert_eq!(answer.code, Some(6), "{answer:#?}");
    assert!(answer.stderr.contains("git is not installed"), "{answer:#?}");
}
