//! What sessions changed: `diff` and `compare`.

use super::Trees;
use crate::home::lines::{codex_open, id, prompt, reply};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
};

impl Trees {
    /// An ended session in a directory, launched at this commit if one is named; `more` is in its receipt.
    fn session(&self, number: u32, dir: &str, more: Value) {
        let mut lines = [prompt("Begin"), reply("Done")];
        lines.iter_mut().for_each(|line| line["cwd"] = json!(self.at(dir)));
        self.agents.home.claude(&id(number), &lines);
        let name = format!("l{number}");
        self.agents.receipt(&name, &self.agents.launched(&name, &id(number), more));
        self.own();
    }

    fn changes(&self, number: u32) -> Value {
        let answer = self.run(&["diff", &id(number), "--stat", "--json"]);
        assert_eq!(answer.code, Some(0), "{answer:#?}");
        answer.json()["changes"].clone()
    }
}

/// Committed, changed, staged, removed, moved, untracked, and no text.
fn worked(trees: &Trees) -> String {
    trees.commit("repo", "moved-before");
    trees.git("tree", &["reset", "-q", "--hard", "main"]);
    let base = trees.git("tree", &["rev-parse", "HEAD"]);
    trees.commit("tree", "committed");
    trees.git("tree", &["mv", "moved-before", "moved"]);
    trees.write("tree/file", "two\nthree\n");
    trees.write("tree/new\u{1b}[2Jfile", "hostile \u{1b}[31m line\n");
    fs::write(trees.at("tree/picture"), [0, 1, 2, 0]).expect("a file");
    trees.own();
    base
}

#[test]
fn everything_since_the_launch_is_shown() {
    let trees = Trees::new();
    let base = worked(&trees);
    let status = trees.git("tree", &["status", "--porcelain", "-z"]);
    trees.session(1, "tree", json!({"base": base, "branch": "b", "repo": trees.at("repo")}));
    let file = |path: &str, added: u64, removed: u64| json!({"path": path, "added": added, "removed": removed});
    let expected = json!({
        "base": base, "since": "launch", "worktree": trees.at("tree"), "branch_only": false,
        "branch": "b", "commits": 1, "added": 4, "removed": 1,
        "files": [
            file("committed", 1, 0),
            file("file", 2, 1),
            {"path": "moved", "from": "moved-before", "added": 0, "removed": 0},
            file("new\u{1b}[2Jfile", 1, 0),
            {"path": "picture"},
        ],
    });
    assert_eq!(trees.changes(1), expected);
    assert_eq!(
        trees.git("tree", &["status", "--porcelain", "-z"]),
        status,
        "the index is as it was"
    );
    let shown = trees.run(&["diff", &id(1), "--stat"]);
    assert!(shown.stdout.ends_with("5 files changed, +4 -1, 1 commit\n"), "{shown:#?}");
    assert!(shown.stderr.contains("checked out when it was launched"), "{shown:#?}");
    let patch = trees.run(&["diff", &id(1), "--json"]).json();
    assert!(patch["patch"].as_str().is_some_and(|text| text.contains("+hostile")), "{patch:#}");
}

/// Names need not be text, and may look like patterns.
#[test]
fn files_of_any_name_are_shown() {
    let trees = Trees::new();
    let base = trees.git("repo", &["rev-parse", "main"]);
    let odd = std::ffi::OsStr::from_bytes(b"tree/\xff\xfe");
    fs::write(trees.agents.home.work().join(odd), "one\n").expect("a file");
    for name in ["tree/[a-z]*", "tree/:(top)x", "tree/-n", "tree/two\nlines"] {
        trees.write(name, "one\n");
    }
    trees.git("tree", &["init", "-q", "inner"]);
    trees.session(1, "tree", json!({"base": base}));
    let changes = trees.changes(1);
    assert_eq!(
        (&changes["added"], changes["files"].as_array().map(Vec::len)),
        (&json!(5), Some(5))
    );
}

/// What goes into a pipe can be applied, to the byte.
#[test]
fn a_patch_can_be_applied() {
    let trees = Trees::new();
    let base = worked(&trees);
    trees.session(1, "tree", json!({"base": base}));
    let mut diff = trees.with_git(trees.agents.home.agentctl(&["diff", &id(1)]));
    let patch = diff.output().expect("it runs").stdout;
    fs::write(trees.at("patch"), patch).expect("a file");
    trees.own();
    trees.git("repo", &["status"]); // it was given to its user since git last looked
    trees.git("repo", &["apply", "--index", "../patch"]);
    for name in ["committed", "moved", "file", "picture", "new\u{1b}[2Jfile"] {
        assert_eq!(
            fs::read(trees.at("repo").join(name)).ok(),
            fs::read(trees.at("tree").join(name)).ok()
        );
    }
}

/// For eyes, it is painted, and nothing of the files steers the terminal.
#[test]
fn a_patch_for_eyes_is_safe() {
    let trees = Trees::new();
    let base = worked(&trees);
    trees.session(1, "tree", json!({"base": base}));
    let mut diff = trees.with_git(trees.agents.home.agentctl(&["diff", &id(1)]));
    let shown = diff.env("CLICOLOR_FORCE", "1").output().expect("it runs").stdout;
    let shown = String::from_utf8(shown).expect("text");
    assert!(shown.contains("\u{1b}[32m+hostile ^[[31m line\u{1b}[0m\n"), "{shown:?}");
    assert!(!shown.contains("\u{1b}[2J") && !shown.contains("\u{1b}[31m line"), "{shown:?}");
}

/// Neither a program of the repository's nor a setting of the person's changes what is shown.
#[test]
fn no_program_of_the_repository_is_run() {
    let trees = Trees::new();
    let base = worked(&trees);
    trees.session(1, "tree", json!({"base": base}));
    let plain = trees.run(&["diff", &id(1), "--json"]).json();
    let ran = trees.at("ran").display().to_string();
    let program = format!("touch '{ran}'; cat");
    for (name, value) in [
        ("diff.external", program.as_str()),
        ("diff.evil.textconv", &program),
        ("core.fsmonitor", &program),
        ("diff.noprefix", "true"),
        ("color.diff", "always"),
    ] {
        trees.git("repo", &["config", name, value]);
    }
    let attributes = trees.at("repo/.git/info/attributes");
    fs::create_dir_all(attributes.parent().expect("it has one")).expect("a folder");
    fs::write(attributes, "* diff=evil\n").expect("a file");
    trees.own();
    assert_eq!(trees.run(&["diff", &id(1), "--json"]).json(), plain);
    assert!(!trees.at("ran").exists());
}

/// Of a clone that left files out, a look fetches none, and nobody is asked on the terminal.
#[test]
fn nothing_is_fetched_for_a_look() {
    let trees = Trees::new();
    trees.write("repo/file", "two\n");
    trees.git("repo", &["commit", "-qam", "two"]);
    trees.git("repo", &["config", "uploadpack.allowFilter", "true"]);
    let from = format!("file://{}", trees.at("repo").display());
    trees.git(".", &["clone", "-q", "--filter=blob:none", &from, "part"]);
    let base = trees.git("part", &["rev-parse", "HEAD~1"]);
    trees.session(1, "part", json!({"base": base}));
    let missing = ["rev-list", "--objects", "--all", "--missing=print"];
    let before = trees.git("part", &missing);
    assert!(before.contains("\n?"), "{before}");
    let answer = trees.run(&["diff", &id(1), "--stat"]);
    assert_eq!(trees.git("part", &missing), before);
    assert!(!answer.stderr.is_empty() && answer.code != Some(0), "{answer:#?}");
}

#[test]
fn without_a_launch_it_is_said_since_when() {
    let trees = Trees::new();
    trees.commit("tree", "work");
    trees.session(1, "tree", json!({}));
    let since = |changes: &Value| (changes["since"].clone(), changes["commits"].clone());
    assert_eq!(since(&trees.changes(1)), (json!("default_branch"), json!(1)));
    trees.git("tree", &["branch", "-q", "--set-upstream-to", "main"]);
    assert_eq!(since(&trees.changes(1)), (json!("upstream"), json!(1)));
    trees.git("tree", &["branch", "-q", "--unset-upstream"]);
    trees.git("repo", &["checkout", "-q", "--detach"]);
    trees.git("repo", &["branch", "-q", "-D", "main"]);
    assert_eq!(since(&trees.changes(1)), (json!("head"), json!(0)));
    // The commit of a receipt may be gone, or forged.
    trees.session(2, "tree", json!({"base": "--output=/dev/null"}));
    assert_eq!(trees.changes(2)["since"], "head");
}

#[test]
fn of_a_worktree_that_is_gone_the_branch_is_shown() {
    let trees = Trees::new();
    let base = trees.git("repo", &["rev-parse", "main"]);
    trees.commit("tree", "work");
    trees.session(1, "tree", json!({"base": base, "branch": "b", "repo": trees.at("repo")}));
    trees.removes(&[]);
    let changes = trees.changes(1);
    assert_eq!((&changes["branch_only"], &changes["added"]), (&json!(true), &json!(1)));
    trees.git("repo", &["branch", "-q", "-D", "b"]);
    let gone = trees.run(&["diff", &id(1)]);
    assert_eq!(gone.code, Some(1), "{gone:#?}");
    trees.session(2, "plain", json!({}));
    assert_eq!(trees.run(&["diff", &id(2)]).code, Some(1));
    trees.write("plain/file", "");
    assert_eq!(trees.run(&["diff", &id(2)]).code, Some(2));
}

#[test]
fn of_a_bare_repository_the_branch_is_shown_too() {
    let trees = Trees::new();
    let base = trees.git("repo", &["rev-parse", "main"]);
    trees.git(".", &["clone", "-q", "--bare", "repo", "bare.git"]);
    trees.git("bare.git", &["worktree", "add", "-q", "-b", "c", "../other"]);
    trees.commit("other", "work");
    trees.session(1, "other", json!({"base": base, "branch": "c", "repo": trees.at("bare.git")}));
    assert_eq!(trees.run(&["worktree", "clean", "./other"]).code, Some(0));
    let changes = trees.changes(1);
    assert_eq!((&changes["branch_only"], &changes["added"]), (&json!(true), &json!(1)));
}

#[test]
fn a_group_is_compared_side_by_side() {
    let trees = Trees::new();
    let base = trees.git("repo", &["rev-parse", "main"]);
    trees.git("repo", &["worktree", "add", "-q", "-b", "c", "../other"]);
    trees.commit("tree", "work");
    trees.write("other/file", "");
    for (number, dir) in [(1, "tree"), (2, "other"), (3, "gone")] {
        trees.session(number, dir, json!({"base": base, "group": "g-1"}));
    }
    let answer = trees.run(&["compare", "g-1", "--json"]);
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    let rows = answer.json()["rows"].as_array().expect("a list").clone();
    let told = |row: &Value| {
        let (changes, session) = (&row["changes"], &row["session"]);
        json!([
            session["id"],
            session["state"],
            row["seconds"],
            session["tokens"]["output"],
            changes["added"],
            changes["removed"],
            changes["commits"],
            changes["branch"]
        ])
    };
    let told: Vec<Value> = rows.iter().map(told).collect();
    assert_eq!(
        told,
        [
            json!([id(1), "done", 5, 20, 1, 0, 1, "b"]),
            json!([id(2), "done", 5, 20, 0, 1, 0, "c"]),
            json!([id(3), "done", 5, 20, null, null, null, null]),
        ]
    );
    assert!(rows[2]["unknown"].as_str().is_some_and(|why| why.contains("is gone")), "{rows:#?}");
    let shown = trees.run(&["compare", "g-1"]);
    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{shown:#?}");
    assert!(lines[1].contains("+1 -0") && lines[2].contains("+0 -1"), "{shown:#?}");
    assert_eq!(trees.run(&["compare", "nobody"]).code, Some(3));
}

/// What the numbers do not tell is said, of one and of many.
#[test]
fn what_is_not_counted_is_said() {
    let trees = Trees::new();
    let base = trees.git("repo", &["rev-parse", "main"]);
    let made = json!({"base": base, "branch": "b", "repo": trees.at("repo"), "group": "g-1"});
    trees.session(1, "tree", made);
    trees.git("tree", &["init", "-q", "inner"]);
    trees.commit("tree/inner", "work");
    trees.session(2, "repo", json!({"base": base, "group": "g-1"}));
    let inner = "inner/ is a repository of its own: what was done there is not counted";
    let dirty =
        "what was uncommitted at the launch already is counted too: it had no worktree of its own";
    assert_eq!(trees.changes(1)["notes"], json!([inner]));
    assert_eq!(trees.changes(2)["notes"], json!([dirty]));
    let one = trees.run(&["diff", &id(1), "--stat"]);
    assert!(one.stderr.contains(inner), "{one:#?}");
    let both = trees.run(&["compare", "g-1"]);
    assert!(both.stderr.contains(inner) && both.stderr.contains(dirty), "{both:#?}");
    fs::remove_dir_all(trees.at("tree/inner")).expect("it was there");
    trees.removes(&[]);
    let gone = trees.run(&["compare", "g-1"]);
    assert!(gone.stderr.contains("only what was committed on b is shown"), "{gone:#?}");
}

/// Another agent has the id of one, and a registry cannot be read: the others are compared.
#[test]
fn one_bad_session_of_a_group_hides_no_other() {
    let trees = Trees::new();
    let base = trees.git("repo", &["rev-parse", "main"]);
    for number in [1, 2] {
        trees.session(number, "tree", json!({"base": base, "group": "g-1"}));
    }
    trees.agents.home.codex(&id(2), &codex_open(&id(2), "Begin"));
    let closed = trees.agents.home.claude(&id(3), &[prompt("Begin"), reply("Done")]);
    let receipt = json!({"base": base, "group": "g-1"});
    trees.agents.receipt("l3", &trees.agents.launched("l3", &id(3), receipt));
    trees.own();
    fs::set_permissions(closed, fs::Permissions::from_mode(0o000)).expect("our file");
    let answer = trees.run(&["compare", "g-1", "--json"]);
    let found = answer.json();
    let told: Vec<(&Value, &Value)> = found["rows"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| (&row["session"]["agent"], &row["session"]["id"]))
        .filter(|(_, one)| **one != json!(id(3)))
        .collect();
    let agent = json!("claude-code");
    assert_eq!(told, [(&agent, &json!(id(1))), (&agent, &json!(id(2)))], "{found:#}");
    if trees.agents.home.user().is_some() {
        assert_eq!(answer.code, Some(8), "{answer:#?}");
        assert_eq!(found["problems"].as_array().map(Vec::len), Some(1), "{found:#}");
    }
}
