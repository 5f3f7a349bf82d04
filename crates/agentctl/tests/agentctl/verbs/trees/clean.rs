//! What `worktree clean` removes, how it says so, and what it lists.

use super::Trees;
use crate::home::lines::{id, prompt, reply};
use serde_json::{Value, json};
use std::{fs, process::Stdio};

#[test]
fn a_dry_run_removes_nothing_and_says_what_it_would() {
    let trees = Trees::new();
    let answer = trees.clean(&["--dry-run", "--delete-branch"]);
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    let one = &answer.json()["worktrees"][0];
    assert_eq!((&one["removed"], &one["branch_deleted"]), (&json!(true), &json!(true)));
    assert!(trees.at("tree/file").exists());
    let gone = trees.removes(&["--delete-branch"]);
    let all: Vec<_> = super::proofs(&gone).collect();
    let checks = [
        "main",
        "locked",
        "sessions",
        "processes",
        "operation",
        "changes",
        "untracked",
        "ignored",
        "nested",
        "commits",
        "stash",
    ];
    assert_eq!(all, checks.map(|check| (check, "safe")));
    assert_eq!(trees.git("repo", &["branch", "--list", "b"]), "");
}

#[test]
fn force_needs_a_yes_and_says_what_is_lost() {
    let trees = Trees::new();
    trees.write("tree/new", "work\n");
    let unasked = trees.clean(&["--force"]);
    assert_eq!(unasked.code, Some(5), "{unasked:#?}");
    let one = &unasked.json()["worktrees"][0];
    assert!(one["hint"].to_string().contains("--yes"), "{unasked:#?}");
    assert!(one["message"].to_string().contains("nobody can be asked"), "{unasked:#?}");
    let lost: Vec<_> = super::proofs(one).filter(|(_, verdict)| *verdict == "lost").collect();
    assert_eq!(lost, [("untracked", "lost")], "{unasked:#?}");
    assert_eq!(trees.read("tree/new"), "work\n");
    let dry = trees.run(&["worktree", "clean", "./tree", "--force", "--dry-run"]);
    assert_eq!(dry.code, Some(0), "{dry:#?}");
    assert!(dry.stdout.contains("not untracked  1 untracked\n                 new\n"), "{dry:#?}");
    assert!(dry.stdout.contains("would be removed, with what only it had"), "{dry:#?}");
    assert_eq!(trees.read("tree/new"), "work\n");
    let forced = trees.removes(&["--force", "--yes"]);
    assert_eq!(forced["forced"], true);
}

/// What agentctl shows on a terminal of sixty columns where these keys are pressed.
fn on_terminal(trees: &Trees, words: &str, keys: &str) -> (Option<i32>, String) {
    let program = trees.agents.home.program("agentctl").display().to_string();
    let line = format!("exec {program} {words}");
    let mut script = trees.with_git(trees.agents.home.command("/usr/bin/script"));
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    script.env("SHELL", "/bin/sh").env("TERM", "dumb").env("COLUMNS", "60");
    script.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = script.spawn().expect("a terminal");
    let mut input = child.stdin.take().expect("it was asked for");
    std::io::Write::write_all(&mut input, keys.as_bytes()).expect("a key");
    let made = child.wait_with_output().expect("it ends");
    (made.status.code(), String::from_utf8_lossy(&made.stdout).replace("\r\n", "\n"))
}

#[test]
fn tables_fit_the_terminal() {
    let trees = Trees::new();
    group(&trees);
    for words in ["worktree list repo", "compare g-1"] {
        let (code, text) = on_terminal(&trees, words, "");
        assert_eq!(code, Some(0), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() >= 3, "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 60), "{text}");
    }
}

/// What a file holds does not steer the terminal.
#[test]
fn a_patch_on_a_terminal_is_safe() {
    let trees = Trees::new();
    group(&trees);
    trees.write("tree/new", "\u{1b}]0;HACKED\u{7}\n");
    let (code, text) = on_terminal(&trees, &format!("diff {}", id(1)), "");
    assert_eq!(code, Some(0), "{text:?}");
    assert!(text.contains("+^[]0;HACKED^G"), "{text:?}");
    assert!(!text.contains("\u{1b}]"), "{text:?}");
}

/// A person on a terminal is told what is lost, and asked.
#[test]
fn a_person_is_asked() {
    let trees = Trees::new();
    trees.write("tree/new\u{1b}[2J", "work\n");
    let ask = |answer: &str| on_terminal(&trees, "worktree clean ./tree --force", answer);
    for no in ["n\n", "\n"] {
        let (code, text) = ask(no);
        assert_eq!(code, Some(5), "{text}");
        assert!(
            text.contains("this would be lost for good:\n  1 untracked\n    new[2J\n"),
            "{text:?}"
        );
        assert!(text.contains("left as it is"), "{text}");
    }
    assert_eq!(trees.read("tree/new\u{1b}[2J"), "work\n");
    let (code, text) = ask("y\n");
    assert_eq!(code, Some(0), "{text}");
    assert!(!trees.at("tree").exists());
}

#[test]
fn one_that_cannot_go_keeps_no_other() {
    let trees = Trees::new();
    trees.git("repo", &["worktree", "add", "-q", "-b", "c", "../other"]);
    trees.write("other/new", "work\n");
    let answer =
        trees.run(&["worktree", "clean", "./other", "nobody", "./tree", "./tree", "--json"]);
    assert_eq!(answer.code, Some(8), "{answer:#?}");
    let answer = answer.json();
    let removed: Vec<&Value> =
        answer["worktrees"].as_array().expect("a list").iter().map(|one| &one["removed"]).collect();
    assert_eq!(removed, [&json!(false), &json!(true)]);
    assert_eq!(answer["refused"][0]["name"], "nobody");
    assert!(!trees.at("tree").exists() && trees.at("other/new").exists());
    let two = trees.run(&["worktree", "clean", "nobody", "noone"]);
    assert!(two.stderr.starts_with("error: nobody: no session nobody\nhint: "), "{two:#?}");
    let alone = trees.run(&["worktree", "clean", "nobody"]);
    assert_eq!(alone.code, Some(3), "{alone:#?}");
    let elsewhere = trees.run(&["worktree", "clean", "./other", "--repo", "/"]);
    assert_eq!(elsewhere.code, Some(2), "{elsewhere:#?}");
}

/// Two ended sessions of a group, each in a worktree of its own.
fn group(trees: &Trees) {
    trees.git("repo", &["worktree", "add", "-q", "-b", "c", "../other"]);
    for (number, dir) in [(1, "tree"), (2, "other")] {
        let cwd = json!(trees.at(dir));
        let mut lines = [prompt("Begin"), reply("Done")];
        lines.iter_mut().for_each(|line| line["cwd"] = cwd.clone());
        trees.agents.home.claude(&id(number), &lines);
        let (name, base) = (format!("l{number}"), trees.git("repo", &["rev-parse", "main"]));
        let more = json!({"group": "g-1", "base": base, "repo": trees.at("repo"), "branch": dir});
        trees.agents.receipt(&name, &trees.agents.launched(&name, &id(number), more));
    }
    trees.own();
}

#[test]
fn a_session_and_a_group_name_their_worktrees() {
    let trees = Trees::new();
    group(&trees);
    let one = trees.run(&["worktree", "clean", &id(1)[..8], "--json"]);
    assert_eq!(one.code, Some(0), "{one:#?}");
    assert!(!trees.at("tree").exists() && trees.at("other").exists());
    let rest = trees.run(&["worktree", "clean", "g-1", "--json", "--delete-branch"]);
    assert_eq!(rest.code, Some(8), "{rest:#?}");
    let rest = rest.json();
    assert_eq!(rest["worktrees"][0]["branch"], "c");
    assert!(rest["refused"][0]["message"].to_string().contains("is gone"), "{rest:#}");
    assert!(!trees.at("other").exists());
}

/// The directory was removed by hand: what git has of it goes by the same proofs, with its branch.
#[test]
fn a_worktree_that_is_gone_is_forgotten() {
    let trees = Trees::new();
    let gone = |trees: &Trees| fs::remove_dir_all(trees.at("tree")).expect("it was there");
    let clean = |more: &[&str]| {
        let answer = trees.run(&[&["worktree", "clean", "./tree", "--json"], more].concat());
        (answer.code, answer.json())
    };
    trees.git("tree", &["checkout", "-q", "--detach"]);
    let work = trees.commit("tree", "work");
    trees.git("tree", &["checkout", "-q", "b"]);
    trees.write("tree/new", "work\n");
    trees.git("tree", &["add", "new"]);
    gone(&trees);
    // We are in no repository, and no launch tells of one.
    let (code, unknown) = clean(&[]);
    assert_eq!((code, unknown["refused"].as_array().map(Vec::len)), (Some(5), Some(1)));
    let (code, kept) = clean(&["--repo", "repo", "--delete-branch"]);
    assert_eq!(code, Some(5), "{kept:#}");
    let one = &kept["worktrees"][0];
    let bad: Vec<_> = super::proofs(one).filter(|(_, verdict)| *verdict != "safe").collect();
    assert_eq!(bad, [("changes", "lost"), ("commits", "lost")], "{one:#}");
    trees.git("repo", &["branch", "kept", &work]);
    let own = trees.at("repo/.git/worktrees/tree").display().to_string();
    trees.git(&own, &["read-tree", "HEAD"]);
    let (code, done) = clean(&["--repo", "repo", "--delete-branch"]);
    assert_eq!(code, Some(0), "{done:#}");
    assert_eq!(trees.git("repo", &["worktree", "list"]).lines().count(), 1);
    assert_eq!(trees.git("repo", &["branch", "--list", "b"]), "");
}

/// A session of a group that cannot be told is no reason to say nothing.
#[test]
fn a_group_that_cannot_be_told_is_refused() {
    let trees = Trees::new();
    let launched = |name: &str, number| {
        trees.agents.launched(name, &id(number), json!({"group": "g-2", "repo": trees.at("repo")}))
    };
    trees.agents.receipt("l9", &launched("l9", 9));
    trees.own();
    let nothing = trees.run(&["worktree", "clean", "g-2", "--json"]);
    assert_eq!(nothing.code, Some(3), "{nothing:#?}");
    group(&trees);
    trees.agents.receipt("l1", &launched("l1", 1));
    trees.own();
    let some = trees.run(&["worktree", "clean", "g-2", "--json"]);
    assert_eq!(some.code, Some(8), "{some:#?}");
    assert!(some.json()["refused"][0]["message"].to_string().contains(&id(9)), "{some:#?}");
    assert!(!trees.at("tree").exists());
}

#[test]
fn a_session_of_a_directory_is_meant() {
    let trees = Trees::new();
    group(&trees);
    let name = format!("{}@{}", &id(1)[..8], trees.at("tree").display());
    let answer = trees.run(&["worktree", "clean", &name, "--json"]);
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    assert!(!trees.at("tree").exists());
}

#[test]
fn worktrees_are_listed_with_their_sessions_and_their_work() {
    let trees = Trees::new();
    group(&trees);
    let head = trees.commit("tree", "work");
    trees.write("tree/file", "changed\n");
    trees.write("tree/new", "untracked\n");
    let process = trees.agents.home.stand_in();
    trees.agents.home.register(
        &process,
        &id(3),
        json!({"status": "busy", "cwd": trees.at("other")}),
    );
    trees.git("repo", &["worktree", "lock", "--reason", "mine", "../other"]);
    trees.own();
    let answer = trees.run(&["worktree", "list", "repo", "--json"]);
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    let base = trees.git("repo", &["rev-parse", "main"]);
    let session = |number, state: &str, live| json!({"id": id(number), "agent": "claude-code", "state": state, "live": live});
    let expected = json!({"schema": 1, "repo": trees.at("repo"), "problems": [], "worktrees": [
        {"path": trees.at("repo"), "branch": "main", "head": base, "main": true, "changed": 0,
         "untracked": 0, "only_here": 0, "sessions": []},
        {"path": trees.at("tree"), "branch": "b", "head": head, "main": false, "changed": 1,
         "untracked": 1, "only_here": 1, "sessions": [session(1, "done", false)]},
        {"path": trees.at("other"), "branch": "c", "head": base, "main": false, "locked": "mine",
         "changed": 0, "untracked": 0, "only_here": 0,
         "sessions": [session(3, "working", true), session(2, "done", false)]},
    ]});
    let mut found = answer.json();
    for tree in found["worktrees"].as_array_mut().expect("a list") {
        for one in tree["sessions"].as_array_mut().expect("a list") {
            let one = one.as_object_mut().expect("an object");
            let pid = one.remove("pid").and_then(|pid| pid.as_u64());
            assert_eq!(pid, (one["live"] == true).then_some(u64::from(process.pid())), "{one:?}");
            assert!(one.remove("updated_at").is_some(), "{one:?}");
        }
    }
    let order = |one: &Value| one["path"] == json!(trees.at("other"));
    found["worktrees"].as_array_mut().expect("a list").sort_by_key(order);
    assert_eq!(found, expected, "{found:#}");
    if trees.agents.home.user().is_some() {
        std::os::unix::fs::chown(trees.at("repo/.git"), Some(0), None).expect("we are root");
        let theirs = trees.run(&["worktree", "list", "repo"]);
        assert_eq!(theirs.code, Some(5), "{theirs:#?}");
        assert!(theirs.stderr.contains("belongs to another user"), "{theirs:#?}");
        assert!(theirs.stderr.contains("safe.directory"), "{theirs:#?}");
    }
    let outside = trees.run(&["worktree", "list", "/"]);
    assert_eq!(outside.code, Some(2), "{outside:#?}");
}
