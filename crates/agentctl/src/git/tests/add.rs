//! New worktrees, and taking them back.

use super::Folder;
use crate::{
    error::Kind,
    git::{Binary, NewTree, Repo, Sides, Tree},
};
use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, thread};

fn new(branch: &str) -> NewTree<'_> {
    NewTree { branch, base: None, below: std::path::Path::new("") }
}

fn repo(folder: &Folder) -> Repo {
    Repo::find(&folder.at("repo")).expect("it is one")
}

/// Kind and words of the refusal; it must have made nothing.
fn refusal(folder: &Folder, new: &NewTree<'_>) -> (Kind, String) {
    let before = folder.run("repo", &["for-each-ref"]);
    let error = repo(folder).add_worktree(new).expect_err("it cannot be made");
    assert_eq!(folder.run("repo", &["for-each-ref"]), before);
    let told = format!("{} | {}", error.message, error.hint.unwrap_or_default());
    (error.kind, told.replace(&folder.at("").display().to_string(), ""))
}

#[test]
fn a_new_branch_starts_from_what_is_checked_out() {
    let folder = Folder::new();
    let made = repo(&folder).add_worktree(&new("try/g-a1/cc")).expect("it is made");
    let head = folder.run("repo", &["rev-parse", "HEAD"]);
    let tree = Tree {
        path: folder.at("repo-try-g-a1-cc"),
        branch: "try/g-a1/cc".into(),
        base_commit: head.clone(),
        repo: folder.at("repo"),
        created_branch: true,
        notes: vec![],
    };
    assert_eq!(made, tree);
    assert_eq!(fs::read_to_string(made.path.join("file")).ok().as_deref(), Some("one\n"));
    assert_eq!(folder.run("repo-try-g-a1-cc", &["status", "--porcelain"]), "");
    let again = repo(&folder).plan(&new("try/g-a1-cc")).expect("it can be made");
    assert_eq!(again.path, folder.at("repo-try-g-a1-cc-2"));
    repo(&folder).remove_new(&made).expect("nothing was changed");
    assert!(!made.path.exists());
    assert_eq!(folder.run("repo", &["branch", "--list", "try/*"]), "");
    assert_eq!(folder.run("repo", &["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_branch_that_is_there_is_used_as_it_is_and_stays() {
    let folder = Folder::new();
    folder.run("repo", &["branch", "old"]);
    folder.run("repo", &["commit", "-q", "--allow-empty", "-m", "two"]);
    let old = folder.run("repo", &["rev-parse", "old"]);
    let at = NewTree { base: Some("main"), ..new("old") };
    let told = "the branch old is there already, and is not at main | \
                leave --base-branch out to go on with that branch, or use another --branch";
    assert_eq!(refusal(&folder, &at), (Kind::Usage, told.into()));
    let same = NewTree { base: Some(&old), ..new("old") };
    let made = repo(&folder).add_worktree(&same).expect("it is made");
    assert_eq!((made.created_branch, &made.base_commit), (false, &old));
    let told = "the branch old is checked out in repo-old | \
                use another --branch, or --cwd repo-old to work there";
    assert_eq!(refusal(&folder, &new("old")), (Kind::Refused, told.into()));
    repo(&folder).remove_new(&made).expect("nothing was changed");
    assert_eq!(folder.run("repo", &["rev-parse", "old"]), old);
}

#[test]
fn a_directory_that_is_gone_still_has_its_branch() {
    let folder = Folder::new();
    let made = repo(&folder).add_worktree(&new("b")).expect("it is made");
    fs::remove_dir_all(&made.path).expect("it was there");
    let told = "the branch b is checked out in repo-b | \
                that directory is gone: `git worktree prune` forgets it";
    assert_eq!(refusal(&folder, &new("b")), (Kind::Refused, told.into()));
}

#[test]
fn a_base_may_be_on_the_remote_only() {
    let folder = Folder::new();
    folder.run("repo", &["checkout", "-q", "-b", "feature/far"]);
    folder.run("repo", &["commit", "-q", "--allow-empty", "-m", "far"]);
    folder.run("repo", &["checkout", "-q", "main"]);
    folder.run(".", &["clone", "-q", "repo", "clone"]);
    let far = folder.run("repo", &["rev-parse", "feature/far"]);
    let clone = Repo::find(&folder.at("clone")).expect("it is one");
    let from = NewTree { base: Some("feature/far"), ..new("b") };
    let made = clone.add_worktree(&from).expect("it is made");
    assert_eq!(made.base_commit, far);
    assert_eq!(made.notes, ["it starts from origin/feature/far, as of the last fetch"]);
    assert_eq!(folder.run("clone", &["for-each-ref", "--format=%(upstream)", "refs/heads/b"]), "");
    let near = clone.add_worktree(&NewTree { base: Some("far"), ..new("c") });
    let near = near.expect_err("no remote is called origin/feature");
    assert_eq!(near.message, "no branch, tag or commit is called far");
    assert_eq!(near.hint.as_deref(), Some("did you mean origin/feature/far?"));
    let same = clone.plan(&new("feature/far")).expect("it can be made");
    let hint =
        "origin has a branch feature/far too; --base-branch origin/feature/far starts from that";
    assert_eq!(same.notes, [hint]);
}

#[test]
fn what_cannot_be_a_worktree_is_refused_in_words() {
    let folder = Folder::new();
    let unknown = NewTree { base: Some("main2"), ..new("b") };
    let told = "no branch, tag or commit is called main2 | did you mean main?";
    assert_eq!(refusal(&folder, &unknown), (Kind::Usage, told.into()));
    for wrong in ["", "-x", "a..b", "a b", "HEAD", "x.lock", "a\u{1b}b", "@{-1}"] {
        assert_eq!(refusal(&folder, &new(wrong)).0, Kind::Usage, "{wrong}");
    }
    let option = NewTree { base: Some("--all"), ..new("b") };
    assert_eq!(refusal(&folder, &option).0, Kind::Usage);
    let below = refusal(&folder, &new("main/below")); // `main` is a file there
    assert_eq!(below.0, Kind::Refused, "{}", below.1);
}

#[test]
fn without_a_commit_there_is_nothing_to_start_from() {
    let folder = Folder::empty();
    let told = "repo has no commits: a worktree has nothing to start from | \
                make a first commit, for instance with `git commit --allow-empty`";
    assert_eq!(refusal(&folder, &new("b")), (Kind::Usage, told.into()));
    let from = NewTree { base: Some("main"), ..new("b") };
    assert_eq!(refusal(&folder, &from), (Kind::Usage, told.into()));
}

#[test]
fn a_detached_head_and_a_dirty_tree_give_their_commit() {
    let folder = Folder::new();
    folder.run("repo", &["checkout", "-q", "--detach"]);
    folder.run("repo", &["commit", "-q", "--allow-empty", "-m", "two"]);
    folder.write("repo/file", "changed\n");
    folder.write("repo/other", "new\n");
    let made = repo(&folder).add_worktree(&new("b")).expect("it is made");
    assert_eq!(made.base_commit, folder.run("repo", &["rev-parse", "HEAD"]));
    let told =
        format!("uncommitted changes in {} are not carried over", folder.at("repo").display());
    assert_eq!(made.notes, [told]);
    assert_eq!(fs::read_to_string(made.path.join("file")).ok().as_deref(), Some("one\n"));
    assert!(!made.path.join("other").exists());
}

#[test]
fn submodules_are_left_empty_and_that_is_said() {
    let folder = Folder::new();
    folder.run(".", &["clone", "-q", "repo", "other"]);
    folder.run("repo", &["submodule", "--quiet", "add", "../other", "sub"]);
    folder.run("repo", &["commit", "-qm", "sub"]);
    let made = repo(&folder).add_worktree(&new("b")).expect("it is made");
    let how = "`git submodule update --init` in the worktree fetches them";
    assert_eq!(made.notes, [format!("submodules are left empty; {how}")]);
    assert_eq!(fs::read_dir(made.path.join("sub")).expect("a folder").count(), 0);
    repo(&folder).remove_new(&made).expect("nothing was changed");
}

/// With every kind of program in it that git could run; they leave a file.
fn armed(folder: &Folder) -> PathBuf {
    let ran = folder.at("ran");
    let hook = format!("#!/bin/sh\necho \"$0\" >> '{}'\ncat 2>/dev/null\n", ran.display());
    for name in ["hooks/post-checkout", "hooks/reference-transaction", "program"] {
        folder.write(&format!("repo/.git/{name}"), &hook);
        let path = folder.at(&format!("repo/.git/{name}"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).expect("it is ours");
    }
    let program = folder.at("repo/.git/program").display().to_string();
    for key in
        ["core.fsmonitor", "core.pager", "diff.external", "diff.x.command", "diff.x.textconv"]
    {
        folder.run("repo", &["config", key, &program]);
    }
    folder.write("repo/.git/info/attributes", "* diff=x\n");
    ran
}

#[test]
fn nothing_that_the_repository_brings_is_run() {
    let folder = Folder::new();
    let ran = armed(&folder);
    folder.write("repo/file", "two\n");
    folder.run("repo", &["diff"]);
    assert!(ran.exists(), "a plain git runs it");
    fs::remove_file(&ran).expect("it is ours");
    let made = repo(&folder).add_worktree(&new("b")).expect("it is made");
    fs::write(made.path.join("file"), "three\n").expect("our file");
    for root in [folder.at("repo"), made.path.clone()] {
        let found = Repo::find(&root).expect("it is one");
        let sides = Sides::of_files(&found, "HEAD").expect("it is compared");
        let patch = sides.patch(Binary::Whole).expect("a patch");
        assert!(String::from_utf8_lossy(&patch).contains("-one\n"), "{patch:?}");
        assert_eq!(sides.files().expect("files").len(), 1);
    }
    fs::write(made.path.join("file"), "one\n").expect("our file");
    repo(&folder).remove_new(&made).expect("nothing was changed");
    assert!(!ran.exists(), "{:?}", fs::read_to_string(&ran));
}

#[test]
fn twelve_at_once_are_all_made() {
    let folder = Folder::new();
    let repo = repo(&folder);
    let made: Vec<Tree> = thread::scope(|scope| {
        let slots: Vec<_> = (0..12)
            .map(|slot| {
                let repo = &repo;
                scope.spawn(move || repo.add_worktree(&new(&format!("try/{slot}"))))
            })
            .collect();
        slots.into_iter().map(|slot| slot.join().expect("no panic").expect("it is made")).collect()
    });
    assert_eq!(folder.run("repo", &["worktree", "list"]).lines().count(), 13);
    let clean = |tree: &Tree| folder.run(&tree.path.display().to_string(), &["status", "-s"]);
    assert!(made.iter().all(|tree| clean(tree).is_empty()));
    thread::scope(|scope| {
        for tree in &made {
            scope.spawn(|| repo.remove_new(tree).expect("nothing was changed"));
        }
    });
    assert_eq!(folder.run("repo", &["worktree", "list"]).lines().count(), 1);
    assert_eq!(folder.run("repo", &["branch"]), "* main");
}

#[test]
fn what_was_changed_since_is_not_taken_back() {
    let folder = Folder::new();
    folder.write("repo/.git/info/exclude", "*.env\n");
    let made = repo(&folder).add_worktree(&new("b")).expect("it is made");
    for file in ["untracked", "secret.env"] {
        fs::write(made.path.join(file), "work").expect("a file");
        let error = repo(&folder).remove_new(&made).expect_err("there is work");
        assert_eq!(error.kind, Kind::Refused);
        fs::remove_file(made.path.join(file)).expect("it is still there");
    }
    folder.run("repo-b", &["commit", "-q", "--allow-empty", "-m", "work"]);
    repo(&folder).remove_new(&made).expect_err("there is a commit");
    assert!(made.path.exists());
}
