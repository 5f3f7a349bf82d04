//! Files that would be lost with a worktree, each way: they are still there afterwards.

use super::Trees;
use std::{fs, os::unix::fs::PermissionsExt};

#[test]
fn a_changed_file_stays() {
    let trees = Trees::new();
    trees.write("tree/file", "work\n");
    trees.keeps(&[], &[("changes", "lost")]);
    assert_eq!(trees.read("tree/file"), "work\n");
}

#[test]
fn a_staged_file_stays() {
    let trees = Trees::new();
    trees.write("tree/new", "work\n");
    trees.git("tree", &["add", "new"]);
    trees.keeps(&["--delete-branch"], &[("changes", "lost")]);
    assert_eq!(trees.git("tree", &["show", ":new"]), "work");
}

/// What is staged differs from what lies there, which is as committed.
#[test]
fn a_file_that_is_only_in_the_index_stays() {
    let trees = Trees::new();
    trees.write("tree/file", "work\n");
    trees.git("tree", &["add", "file"]);
    trees.write("tree/file", "one\n");
    trees.keeps(&[], &[("changes", "lost")]);
    assert_eq!(trees.git("tree", &["show", ":file"]), "work");
}

#[test]
fn a_removal_that_is_not_committed_stays() {
    let trees = Trees::new();
    fs::remove_file(trees.at("tree/file")).expect("it was there");
    trees.keeps(&[], &[("changes", "lost")]);
}

#[test]
fn an_untracked_file_stays() {
    let trees = Trees::new();
    trees.write("tree/deep/er/new\u{1b}[31m", "work\n");
    trees.keeps(&[], &[("untracked", "lost")]);
    assert_eq!(trees.read("tree/deep/er/new\u{1b}[31m"), "work\n");
}

#[test]
fn an_untracked_file_stays_though_settings_hide_it() {
    let trees = Trees::new();
    trees.git("repo", &["config", "status.showUntrackedFiles", "no"]);
    trees.write("tree/new", "work\n");
    trees.keeps(&[], &[("untracked", "lost")]);
    assert_eq!(trees.read("tree/new"), "work\n");
}

#[test]
fn a_pipe_that_git_passes_over_stays() {
    let trees = Trees::new();
    let made = trees.agents.home.command("/usr/bin/mkfifo").arg(trees.at("tree/pipe")).status();
    assert!(made.is_ok_and(|made| made.success()));
    trees.keeps(&[], &[("untracked", "lost")]);
    assert!(trees.at("tree/pipe").exists());
}

#[test]
fn an_ignored_file_that_nobody_else_has_stays() {
    let trees = Trees::new();
    trees.write("tree/secret.env", "KEY=1\n");
    trees.keeps(&[], &[("ignored", "lost")]);
    assert_eq!(trees.read("tree/secret.env"), "KEY=1\n");
    trees.write("repo/secret.env", "KEY=2\n");
    trees.keeps(&[], &[("ignored", "lost")]);
    fs::remove_file(trees.at("tree/secret.env")).expect("it is still there");
    trees.write("tree/out/result", "work\n");
    trees.keeps(&[], &[("ignored", "lost")]);
    assert_eq!(trees.read("tree/out/result"), "work\n");
}

/// What tools make again, what is marked as a cache, and what the main worktree has too.
#[test]
fn ignored_files_that_are_not_lost_go() {
    let trees = Trees::new();
    trees.write("tree/node_modules/left-pad/index.js", "");
    let tag = "Signature: 8a477f597d28d172789f06886806bc55\n# made by a test\n";
    trees.write("tree/target/CACHEDIR.TAG", tag);
    trees.write("tree/same.env", "KEY=1\n");
    trees.write("repo/same.env", "KEY=1\n");
    trees.write("kept.env", "KEY=2\n");
    std::os::unix::fs::symlink(trees.at("kept.env"), trees.at("tree/link.env")).expect("a link");
    trees.removes(&[]);
    assert_eq!(trees.read("kept.env"), "KEY=2\n");
    assert_eq!(trees.read("repo/same.env"), "KEY=1\n");
}

#[test]
fn a_target_that_is_no_cache_stays() {
    let trees = Trees::new();
    trees.write("tree/target/notes", "work\n");
    trees.keeps(&[], &[("ignored", "lost")]);
    assert_eq!(trees.read("tree/target/notes"), "work\n");
}

#[test]
fn changes_that_git_was_told_not_to_see_stay() {
    for mark in ["--assume-unchanged", "--skip-worktree"] {
        let trees = Trees::new();
        trees.git("tree", &["update-index", mark, "file"]);
        trees.write("tree/file", "work\n");
        assert_eq!(trees.git("tree", &["status", "--porcelain"]), "", "{mark}");
        trees.keeps(&[], &[("changes", "lost")]);
        assert_eq!(trees.read("tree/file"), "work\n");
        trees.write("tree/file", "one\n");
        trees.removes(&[]);
    }
}

#[test]
fn a_repository_inside_stays() {
    let trees = Trees::new();
    trees.git("tree", &["init", "-q", "node_modules/dep"]);
    trees.write("tree/node_modules/dep/file", "work\n");
    trees.keeps(&[], &[("nested", "never")]);
    trees.keeps(&["--force", "--yes"], &[("nested", "never")]);
    assert_eq!(trees.read("tree/node_modules/dep/file"), "work\n");
}

#[test]
fn a_worktree_inside_stays() {
    let trees = Trees::new();
    trees.git("repo", &["worktree", "add", "-q", "-b", "inner", "../tree/out/inner"]);
    trees.write("tree/out/inner/new", "work\n");
    trees.keeps(&["--force", "--yes"], &[("ignored", "lost"), ("nested", "never")]);
    assert_eq!(trees.read("tree/out/inner/new"), "work\n");
}

#[test]
fn what_cannot_be_read_stays() {
    let trees = Trees::new();
    trees.write("tree/closed/work", "work\n");
    let closed = trees.at("tree/closed");
    let insist = ["--force", "--yes"];
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).expect("our folder");
    if trees.agents.home.user().is_some() {
        trees.keeps(&insist, &[("nested", "never")]);
        // Its files can be listed, and not what they are.
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o444)).expect("our folder");
        trees.keeps(&insist, &[("untracked", "lost"), ("nested", "never")]);
    }
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("our folder");
    assert_eq!(trees.read("tree/closed/work"), "work\n");
}

/// A worktree with a submodule that is filled.
fn with_submodule() -> Trees {
    let trees = Trees::new();
    trees.git(".", &["clone", "-q", "--bare", "repo", "other.git"]);
    let other = trees.at("other.git").display().to_string();
    trees.git("tree", &["submodule", "--quiet", "add", &other, "sub"]);
    trees.git("tree", &["commit", "-qm", "sub"]);
    trees
}

#[test]
fn a_submodule_without_work_goes() {
    with_submodule().removes(&[]);
}

#[test]
fn changes_in_a_submodule_stay_though_settings_hide_them() {
    let trees = with_submodule();
    trees.git("tree", &["config", "submodule.sub.ignore", "all"]);
    trees.write("tree/sub/file", "work\n");
    trees.keeps(&[], &[("changes", "lost"), ("submodules", "lost")]);
    assert_eq!(trees.read("tree/sub/file"), "work\n");
}

/// Its repository goes with the worktree, stash and branches too.
#[test]
fn commits_in_a_submodule_stay() {
    let trees = with_submodule();
    let work = trees.commit("tree/sub", "work");
    trees.git("tree/sub", &["checkout", "-q", "HEAD~1"]);
    trees.keeps(&[], &[("submodules", "lost")]);
    assert_eq!(trees.git("tree/sub", &["cat-file", "-t", &work]), "commit");
    let trees = with_submodule();
    trees.write("tree/sub/file", "work\n");
    trees.git("tree/sub", &["stash", "-q"]);
    trees.keeps(&[], &[("submodules", "lost")]);
    assert_eq!(trees.git("tree/sub", &["show", "stash@{0}:file"]), "work");
}

/// Of a submodule that is no longer checked out, git keeps the repository, and that goes too.
#[test]
fn commits_of_a_submodule_that_was_put_away_stay() {
    let trees = with_submodule();
    let other = trees.at("other.git").display().to_string();
    trees.git("tree", &["submodule", "--quiet", "add", "--name", "deep/er", &other, "away"]);
    trees.git("tree", &["commit", "-qm", "away"]);
    let first = trees.git("tree/away", &["rev-parse", "HEAD"]);
    let work = trees.commit("tree/away", "work");
    trees.git("tree/away", &["checkout", "-q", &first]);
    trees.git("tree", &["submodule", "--quiet", "deinit", "away"]);
    trees.keeps(&[], &[("submodules", "lost")]);
    let own = trees.git("tree", &["rev-parse", "--path-format=absolute", "--git-dir"]);
    let kept = format!("--git-dir={own}/modules/deep/er");
    assert_eq!(trees.git("tree", &[&kept, "cat-file", "-t", &work]), "commit");
    // No submodule is checked out any more: git would refuse by itself, but not with --force.
    trees.git("tree", &["submodule", "--quiet", "deinit", "--all"]);
    trees.keeps(&[], &[("submodules", "lost")]);
    trees.git("tree", &[&kept, "push", "-q", &other, &format!("{work}:refs/heads/kept")]);
    trees.git("tree", &[&kept, "fetch", "-q", "origin"]);
    trees.removes(&[]);
    assert_eq!(trees.git("other.git", &["rev-parse", "kept"]), work);
}
