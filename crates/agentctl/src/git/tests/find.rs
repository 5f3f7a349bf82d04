//! Which repository a directory belongs to.

use super::Folder;
use crate::{error::Kind, git::Repo};
use std::os::unix::fs::symlink;

#[test]
fn a_repository_is_found_from_anywhere_inside() {
    let folder = Folder::new();
    folder.write("repo/deep/er/file", "");
    folder.run("repo", &["worktree", "add", "-q", "../tree", "-b", "b"]);
    symlink(folder.at("repo/deep"), folder.at("link")).expect("a link");
    let (main, common) = (folder.at("repo"), folder.at("repo/.git"));
    let repo = |root| Repo { root, main: main.clone(), common: common.clone() };
    let find = |dir: &str| Repo::find(&folder.at(dir)).expect("it is one");
    assert_eq!(find("repo"), repo(folder.at("repo")));
    assert_eq!(find("repo/deep/er"), repo(folder.at("repo")));
    assert_eq!(find("link/er"), repo(folder.at("repo")));
    assert_eq!(find("tree"), repo(folder.at("tree")));
}

#[test]
fn what_is_no_worktree_is_told_apart() {
    let folder = Folder::new();
    folder.run(".", &["init", "-q", "--bare", "bare.git"]);
    folder.write("plain/file", "");
    let told = |dir: &str| {
        let error = Repo::find(&folder.at(dir)).expect_err("it is none");
        assert_eq!(error.kind, Kind::Usage, "{error}");
        error.message.replace(&folder.at("").display().to_string(), "")
    };
    assert_eq!(told("plain"), "plain is in no git repository");
    assert_eq!(told("gone"), "cannot work in gone: it is not there");
    assert_eq!(told("bare.git"), "bare.git is a bare repository: it has no files to work on");
    let own = "repo/.git is inside a repository's own files, not in its worktree";
    assert_eq!(told("repo/.git"), own);
}

#[test]
fn the_main_worktree_of_a_submodule_is_where_its_files_are() {
    let folder = Folder::new();
    folder.run(".", &["clone", "-q", "repo", "super"]);
    folder.run("super", &["submodule", "--quiet", "add", "../repo", "sub"]);
    folder.run("super/sub", &["worktree", "add", "-q", "../../tree", "-b", "b"]);
    let found = Repo::find(&folder.at("tree")).expect("it is one");
    assert_eq!(found.main, folder.at("super/sub"));
    let trees = found.trees().expect("git tells");
    let paths: Vec<_> = trees.into_iter().map(|tree| tree.path).collect();
    assert_eq!(paths, [folder.at("super/sub"), folder.at("tree")]);
}

#[test]
fn trees_of_a_bare_repository_know_it() {
    let folder = Folder::new();
    folder.run(".", &["clone", "-q", "--bare", "repo", "bare.git"]);
    folder.run("bare.git", &["worktree", "add", "-q", "../tree", "-b", "b"]);
    let found = Repo::find(&folder.at("tree")).expect("it is one");
    assert_eq!((found.main, found.root), (folder.at("bare.git"), folder.at("tree")));
}
