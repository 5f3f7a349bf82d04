//! Ways to lose work that only a close look sees, and what `worktree clean` says of them.

use super::Trees;
use crate::home::lines::{id, prompt, reply};
use serde_json::{Value, json};
use std::{
    fs::{self, File, FileTimes},
    os::unix::fs::{MetadataExt, PermissionsExt},
    process::Stdio,
    time::{Duration, Instant},
};

/// Each has the other's branch for a proof that the commit stays.
#[test]
fn two_at_once_do_not_lose_what_both_have() {
    let trees = Trees::new();
    let work = trees.commit("tree", "work");
    trees.git("repo", &["worktree", "add", "-q", "-b", "c", "../other", "b"]);
    // Neither goes on before both have looked.
    let seen = trees.at("seen").display().to_string();
    trees.write("seen/.keep", "");
    trees.fake_git(&format!(
        "*' rev-list '*'--stdin'*) /usr/bin/git \"$@\"; code=$?; : >'{seen}'/$PPID; n=0
         while [ $(ls '{seen}' | wc -l) -lt 2 ] && [ $n -lt 400 ]; do sleep 0.05; n=$((n+1)); done
         exit $code ;;"
    ));
    let children = ["./tree", "./other"].map(|path| {
        let args = ["worktree", "clean", path, "--delete-branch"];
        let mut command = trees.with_git(trees.agents.home.agentctl(&args));
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs")
    });
    let mut codes = children.map(|mut child| child.wait().expect("it ends").code());
    codes.sort();
    assert_eq!(codes, [Some(0), Some(5)]);
    let names = trees.git("repo", &["branch", "--contains", &work, "--format=%(refname:short)"]);
    assert!(matches!(names.as_str(), "b" | "c"), "{names}");
}

#[test]
fn a_bare_repository_inside_stays() {
    let trees = Trees::new();
    trees.git("tree", &["init", "-q", "--bare", "node_modules/x.git"]);
    trees.own();
    trees.keeps(&["--force", "--yes"], &[("nested", "never")]);
    assert!(trees.at("tree/node_modules/x.git/HEAD").exists());
    // One that is committed is but files.
    let trees = Trees::new();
    for name in ["HEAD", "objects/none", "refs/none"] {
        trees.write(&format!("tree/fixture.git/{name}"), "ref: refs/heads/main\n");
    }
    trees.git("tree", &["add", "-A"]);
    trees.git("tree", &["commit", "-qm", "fixture"]);
    trees.removes(&[]);
}

#[test]
fn a_file_of_another_case_stays_though_settings_hide_it() {
    let trees = Trees::new();
    trees.git("repo", &["config", "core.ignoreCase", "true"]);
    trees.write("tree/FILE", "work\n");
    trees.keeps(&[], &[("untracked", "lost")]);
    assert_eq!(trees.read("tree/FILE"), "work\n");
}

/// As long as before, and of the same time.
#[test]
fn a_change_stays_though_settings_hide_it() {
    let trees = Trees::new();
    trees.git("repo", &["config", "core.checkStat", "minimal"]);
    trees.git("repo", &["config", "core.trustctime", "false"]);
    let old = fs::metadata(trees.at("repo/file")).and_then(|stat| stat.modified());
    let old = old.expect("it is there") - Duration::from_secs(60);
    let set = |text: &str| {
        trees.write("tree/file", text);
        let file = File::options().write(true).open(trees.at("tree/file")).expect("a file");
        file.set_times(FileTimes::new().set_modified(old)).expect("our file");
    };
    set("one\n");
    trees.git("tree", &["update-index", "--refresh"]);
    let changed = || fs::metadata(trees.at("tree/file")).expect("it is there").ctime();
    let (before, began) = (changed(), Instant::now());
    // Git looks at whole seconds.
    while changed() == before && began.elapsed() < Duration::from_secs(10) {
        set("two\n");
    }
    assert_eq!(trees.git("tree", &["status", "--porcelain"]), "");
    trees.keeps(&[], &[("changes", "lost")]);
    assert_eq!(trees.read("tree/file"), "two\n");
}

#[test]
fn a_changed_mode_stays_though_settings_hide_it() {
    let trees = Trees::new();
    trees.git("repo", &["config", "core.fileMode", "false"]);
    let file = trees.at("tree/file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("our file");
    assert_eq!(trees.git("tree", &["status", "--porcelain"]), "");
    trees.keeps(&[], &[("changes", "lost")]);
}

/// A file of the name that tools give to a directory was made by a person.
#[test]
fn a_file_with_the_name_of_a_cache_stays() {
    let trees = Trees::new();
    trees.write("repo/.git/info/exclude", "node_modules\n");
    trees.write("tree/node_modules", "work\n");
    trees.keeps(&[], &[("ignored", "lost")]);
    assert_eq!(trees.read("tree/node_modules"), "work\n");
}

#[test]
fn commits_that_only_orig_head_leads_to_stay() {
    let trees = Trees::new();
    let work = trees.git("tree", &["commit-tree", "-m", "work", "HEAD^{tree}"]);
    trees.git("tree", &["update-ref", "ORIG_HEAD", &work]);
    trees.keeps(&[], &[("commits", "lost")]);
}

#[test]
fn files_that_only_a_ref_of_the_worktree_leads_to_stay() {
    let trees = Trees::new();
    let blob = trees.git("tree", &["hash-object", "-w", "file"]);
    trees.git("tree", &["update-ref", "refs/worktree/mine", &blob]);
    trees.keeps(&[], &[("commits", "lost")]);
}

#[test]
fn the_default_branch_is_not_deleted() {
    let trees = Trees::new();
    trees.git("repo", &["checkout", "-q", "--detach"]);
    trees.git("tree", &["checkout", "-q", "main"]);
    let answer = trees.clean(&["--delete-branch", "--force", "--yes"]);
    assert_eq!(answer.code, Some(5), "{answer:#?}");
    assert!(answer.stdout.contains("main is the repository's default branch"), "{answer:#?}");
    assert!(trees.at("tree/file").exists());
    trees.removes(&[]);
}

fn fact(one: &Value, check: &str) -> String {
    let proofs = one["proofs"].as_array().expect("a list");
    let found = proofs.iter().find(|proof| proof["check"] == check).expect("it was looked at");
    found["fact"].as_str().expect("a word").to_owned()
}

#[test]
fn commits_that_nobody_else_has_are_counted() {
    let trees = Trees::new();
    trees.commit("tree", "first");
    let dry = trees.clean(&["--dry-run"]).json();
    let alone = "its commits stay on the branch b (1 of them on no other branch)";
    assert_eq!(fact(&dry["worktrees"][0], "commits"), alone);
    trees.git(".", &["clone", "-q", "--bare", "repo", "far.git"]);
    let far = trees.at("far.git").display().to_string();
    trees.git("repo", &["remote", "add", "origin", &far]);
    trees.git("tree", &["push", "-q", "origin", "b"]);
    trees.commit("tree", "second");
    let gone = trees.removes(&[]);
    assert_eq!(fact(&gone, "commits"), "its commits stay on the branch b (1 of them not pushed)");
}

/// Git refuses where it has kept submodules, though none is left.
#[test]
fn an_empty_place_for_submodules_is_no_hindrance() {
    let trees = Trees::new();
    fs::create_dir(trees.at("repo/.git/worktrees/tree/modules")).expect("a folder");
    trees.own();
    assert!(!trees.try_git("repo", &["worktree", "remove", "../tree"]).0);
    trees.removes(&[]);
}

/// Of a launch of many that was killed, there is a worktree and no session.
#[test]
fn a_group_without_sessions_is_found_by_its_branches() {
    let trees = Trees::new();
    trees.git("tree", &["branch", "-q", "-m", "b", "try/g-a1b2c3/claude"]);
    let answer = trees.run(&["worktree", "clean", "g-a1b2c3", "--repo", "repo", "--json"]);
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    assert!(!trees.at("tree").exists());
    let again = trees.run(&["worktree", "clean", "g-a1b2c3", "--repo", "repo", "--json"]);
    assert_eq!(again.code, Some(3), "{again:#?}");
}

#[test]
fn the_same_target_twice_is_one() {
    let trees = Trees::new();
    let mut lines = [prompt("Begin"), reply("Done")];
    lines.iter_mut().for_each(|line| line["cwd"] = json!(trees.at("tree")));
    trees.agents.home.claude(&id(1), &lines);
    trees.own();
    let (whole, short) = (id(1), id(1)[..8].to_owned());
    let answer = trees.run(&["worktree", "clean", &whole, &whole, &short, "./tree", "--json"]);
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    let answer = answer.json();
    assert_eq!(answer["worktrees"].as_array().map(Vec::len), Some(1), "{answer:#}");
    assert_eq!(answer["refused"], json!([]));
    // A word that is a directory is none any more once that is gone.
    let trees = Trees::new();
    let answer = trees.run(&["worktree", "clean", "tree", "tree", "--json"]);
    assert_eq!(answer.code, Some(0), "{answer:#?}");
}

#[test]
fn a_file_is_no_worktree() {
    let trees = Trees::new();
    let answer = trees.run(&["worktree", "clean", "tree/file", "--json"]);
    assert_eq!(answer.code, Some(5), "{answer:#?}");
    let one = &answer.json()["refused"][0];
    assert!(one["message"].to_string().contains("is a file, not a worktree"), "{one:#}");
    assert!(one["hint"].to_string().contains("name the whole worktree"), "{one:#}");
}

#[test]
fn an_ignored_directory_is_told_with_its_size() {
    let trees = Trees::new();
    trees.write("tree/out/deep/one", "12345");
    trees.write("tree/out/two", "678");
    let one = trees.clean(&["--force", "--dry-run"]).json()["worktrees"][0].clone();
    let proofs = one["proofs"].as_array().expect("a list");
    let ignored = proofs.iter().find(|proof| proof["check"] == "ignored").expect("a proof");
    assert_eq!(ignored["details"], json!(["out/ (files: 2, bytes: 8)"]));
}
