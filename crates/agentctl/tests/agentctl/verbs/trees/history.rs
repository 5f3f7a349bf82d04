//! Commits and operations that would be lost with a worktree, each way.

use super::Trees;
use std::fs;

#[test]
fn commits_stay_on_their_branch() {
    let trees = Trees::new();
    let work = trees.commit("tree", "work");
    trees.removes(&[]);
    assert_eq!(trees.git("repo", &["rev-parse", "b"]), work);
}

#[test]
fn a_branch_with_commits_of_its_own_is_not_deleted() {
    let trees = Trees::new();
    let work = trees.commit("tree", "work");
    trees.keeps(&["--delete-branch"], &[("commits", "lost")]);
    assert_eq!(trees.git("repo", &["rev-parse", "b"]), work);
    // A tag, another branch or a remote keeps them.
    trees.git("repo", &["tag", "kept", "b"]);
    let gone = trees.removes(&["--delete-branch"]);
    assert_eq!(gone["branch_deleted"], true);
    assert_eq!(trees.git("repo", &["branch", "--list", "b"]), "");
    assert_eq!(trees.git("repo", &["rev-parse", "kept"]), work);
}

#[test]
fn a_branch_that_was_pushed_is_deleted() {
    let trees = Trees::new();
    trees.git(".", &["clone", "-q", "--bare", "repo", "far.git"]);
    let far = trees.at("far.git").display().to_string();
    trees.git("repo", &["remote", "add", "origin", &far]);
    let first = trees.commit("tree", "first");
    trees.git("tree", &["push", "-q", "-u", "origin", "b"]);
    let second = trees.commit("tree", "second");
    trees.keeps(&["--delete-branch"], &[("commits", "lost")]);
    assert_eq!(trees.git("repo", &["rev-parse", "b", "origin/b"]), format!("{second}\n{first}"));
    trees.git("tree", &["push", "-q"]);
    trees.removes(&["--delete-branch"]);
    assert_eq!(trees.git("far.git", &["rev-parse", "b"]), second);
    assert!(!trees.try_git("repo", &["config", "branch.b.merge"]).0);
}

/// Without its branch, the other worktree would be left with nothing that is checked out.
#[test]
fn a_branch_that_another_worktree_needs_is_not_deleted() {
    let trees = Trees::new();
    trees.git("repo", &["worktree", "add", "-q", "--force", "../second", "b"]);
    let answer = trees.clean(&["--delete-branch", "--force", "--yes"]);
    assert_eq!(answer.code, Some(5), "{answer:#?}");
    assert!(answer.stdout.contains("is checked out in"), "{answer:#?}");
    assert!(trees.at("tree/file").exists());
    assert_eq!(trees.git("second", &["status", "--porcelain"]), "");
}

/// Somebody commits between the last look and the deletion.
#[test]
fn a_branch_that_moves_at_the_last_moment_is_not_deleted() {
    let trees = Trees::new();
    let words = ["commit-tree", "-p", "b", "-m", "work", "b^{tree}"];
    let work = trees.git("repo", &words);
    let moves =
        format!("/usr/bin/git -C '{}' update-ref refs/heads/b {work}", trees.at("repo").display());
    trees.fake_git(&format!("*'branch --quiet -D'*|*'update-ref '*) {moves} ;;"));
    let answer = trees.clean(&["--delete-branch"]);
    assert_eq!(answer.code, Some(5), "{answer:#?}");
    assert_eq!(trees.git("repo", &["rev-parse", "b"]), work);
    let one = &answer.json()["worktrees"][0];
    assert_eq!((&one["removed"], &one["branch_deleted"]), (&true.into(), &false.into()));
    assert!(one["message"].to_string().contains("its branch stays"), "{one:#}");
}

/// A rebase comes back to its branch, which is checked out nowhere meanwhile.
#[test]
fn a_branch_that_is_rebased_elsewhere_is_not_deleted() {
    let trees = torn();
    assert!(!trees.try_git("tree", &["rebase", "-q", "main"]).0);
    trees.git("repo", &["worktree", "add", "-q", "--force", "../second", "b"]);
    let clean = ["worktree", "clean", "./second", "--delete-branch", "--force", "--yes"];
    let answer = trees.run(&clean);
    assert_eq!(answer.code, Some(5), "{answer:#?}");
    assert!(trees.at("second/file").exists());
    assert!(trees.git("repo", &["branch", "--list", "b"]).contains('b'));
}

#[test]
fn commits_of_a_detached_head_stay() {
    let trees = Trees::new();
    trees.git("tree", &["checkout", "-q", "--detach"]);
    let work = trees.commit("tree", "work");
    trees.keeps(&[], &[("commits", "lost")]);
    assert_eq!(trees.git("tree", &["rev-parse", "HEAD"]), work);
    trees.git("tree", &["branch", "kept"]);
    trees.removes(&[]);
    assert_eq!(trees.git("repo", &["rev-parse", "kept"]), work);
}

/// They were made without a branch, and then left: only the worktree's own reflog leads to them.
#[test]
fn commits_that_were_left_stay() {
    let trees = Trees::new();
    trees.git("tree", &["checkout", "-q", "--detach"]);
    let work = trees.commit("tree", "work");
    trees.git("tree", &["checkout", "-q", "b"]);
    trees.keeps(&[], &[("commits", "lost")]);
    assert_eq!(trees.git("tree", &["rev-parse", "HEAD@{1}"]), work);
}

/// Git takes a log that it cannot read for an empty one, and answers with the branch's.
#[test]
fn commits_of_a_log_that_cannot_be_read_stay() {
    let trees = Trees::new();
    trees.git("tree", &["checkout", "-q", "--detach"]);
    let work = trees.commit("tree", "work");
    trees.git("tree", &["checkout", "-q", "b"]);
    let path = ["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"];
    let log = trees.git("tree", &path);
    fs::rename(&log, trees.at("log")).expect("it was there");
    fs::create_dir(&log).expect("a folder in its place");
    trees.own();
    let answer = trees.clean(&[]);
    assert_eq!(answer.code, Some(5), "{answer:#?}");
    assert!(answer.stdout.contains("what was checked out before cannot be told"), "{answer:#?}");
    assert_eq!(trees.git("tree", &["cat-file", "-t", &work]), "commit");
    fs::remove_dir(&log).expect("it is still there");
    fs::rename(trees.at("log"), &log).expect("it is still there");
    trees.keeps(&[], &[("commits", "lost")]);
}

/// The branch remembers what it was reset from; with the branch, that goes.
#[test]
fn commits_that_were_reset_away_stay_with_the_branch() {
    let trees = Trees::new();
    let work = trees.commit("tree", "work");
    trees.git("tree", &["reset", "-q", "--hard", "HEAD~1"]);
    trees.keeps(&["--delete-branch"], &[("commits", "lost")]);
    trees.removes(&[]);
    assert_eq!(trees.git("repo", &["rev-parse", "b@{1}"]), work);
}

#[test]
fn refs_of_the_worktree_alone_stay() {
    let trees = Trees::new();
    let work = trees.git("tree", &["commit-tree", "-m", "work", "HEAD^{tree}"]);
    trees.git("tree", &["update-ref", "refs/worktree/mine", &work]);
    trees.keeps(&[], &[("commits", "lost")]);
    assert_eq!(trees.git("tree", &["rev-parse", "refs/worktree/mine"]), work);
}

/// The stash belongs to the repository: it stays, and that is said.
#[test]
fn stashed_changes_stay_when_the_worktree_goes() {
    let trees = Trees::new();
    trees.write("tree/file", "work\n");
    trees.git("tree", &["stash", "-q"]);
    let gone = trees.removes(&["--delete-branch"]);
    let stash = gone["proofs"].as_array().and_then(|proofs| proofs.last()).expect("a proof");
    let fact = "1 stashed on its branch stay: the stash is the repository's";
    assert_eq!((&stash["check"], &stash["fact"]), (&"stash".into(), &fact.into()));
    assert_eq!(trees.git("repo", &["show", "stash@{0}:file"]), "work");
}

/// Two branches with different words in one file: whatever combines them stops in the middle.
fn torn() -> Trees {
    let trees = Trees::new();
    trees.write("repo/file", "theirs\n");
    trees.git("repo", &["commit", "-qam", "theirs"]);
    trees.write("tree/file", "ours\n");
    trees.git("tree", &["commit", "-qam", "ours"]);
    trees
}

#[test]
fn operations_that_are_under_way_stay() {
    let cases: [(&[&str], &str); 4] = [
        (&["rebase", "-q", "main"], "rebase-merge"),
        (&["merge", "-q", "main"], "MERGE_HEAD"),
        (&["cherry-pick", "main"], "CHERRY_PICK_HEAD"),
        (&["revert", "--no-edit", "main"], "REVERT_HEAD"),
    ];
    for (words, mark) in cases {
        let trees = torn();
        assert!(!trees.try_git("tree", words).0, "{words:?}");
        let mark = trees.git("tree", &["rev-parse", "--path-format=absolute", "--git-path", mark]);
        let answer = trees.clean(&[]);
        assert_eq!(answer.code, Some(5), "{answer:#?}");
        let one = &answer.json()["worktrees"][0];
        let operation = super::proofs(one).find(|(check, _)| *check == "operation");
        assert_eq!(operation, Some(("operation", "lost")), "{one:#}");
        assert!(fs::exists(&mark).is_ok_and(|there| there), "{words:?}");
    }
}

#[test]
fn a_bisection_and_a_mailbox_stay() {
    let trees = Trees::new();
    trees.git("tree", &["bisect", "start"]);
    trees.keeps(&[], &[("operation", "lost")]);
    trees.git("tree", &["bisect", "reset"]);
    trees.write("mail", "From: a <a@b.example>\nSubject: x\n\n---\n diff --git a/none b/none\n");
    let mail = trees.at("mail").display().to_string();
    assert!(!trees.try_git("tree", &["am", "-q", &mail]).0);
    trees.keeps(&[], &[("operation", "lost")]);
    trees.git("tree", &["am", "--abort"]);
    trees.removes(&[]);
}

#[test]
fn a_git_command_at_work_is_not_disturbed() {
    let trees = Trees::new();
    let own = trees.git("tree", &["rev-parse", "--path-format=absolute", "--git-dir"]);
    fs::write(format!("{own}/index.lock"), "").expect("a file");
    trees.own();
    trees.keeps(&[], &[("operation", "lost")]);
}
