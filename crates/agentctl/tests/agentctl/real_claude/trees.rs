//! Claude Code in worktrees of its own.

use serde_json::{Value, json};

use super::EXE;
use crate::support::{LIMIT, Stage, is_real};

impl Stage {
    /// What git prints in a directory of the sandbox.
    fn git(&self, dir: &str, words: &[&str]) -> String {
        let mut git = self.sandbox.command("git");
        git.current_dir(self.sandbox.root().join(dir)).args(words);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null");
        let made = git.output().expect("git is there");
        assert!(made.status.success(), "{words:?}: {}", String::from_utf8_lossy(&made.stderr));
        String::from_utf8_lossy(&made.stdout).trim_end().to_owned()
    }

    /// A repository with one commit.
    fn repository(&self) {
        self.sandbox.dir("repo");
        self.git("repo", &["init", "-q", "-b", "main"]);
        std::fs::write(self.sandbox.root().join("repo/file"), "one\n").expect("a file");
        for (name, value) in [("user.name", "a"), ("user.email", "a@b.example")] {
            self.git("repo", &["config", name, value]);
        }
        self.git("repo", &["add", "."]);
        self.git("repo", &["commit", "-qm", "one"]);
    }

    fn told(&self, args: &[&str], code: i32) -> Value {
        let answer = self.sandbox.agentctl(&[args, &["--json"]].concat());
        assert_eq!(answer.code, Some(code), "{answer:?}\n{}", self.sandbox.scene());
        answer.json()
    }
}

/// The agent commits one file and leaves another: both are shown, and both keep the worktree.
#[test]
fn launch_in_a_worktree_changes_only_that() {
    let stage = Stage::new();
    stage.repository();
    let repo = stage.sandbox.root().join("repo").display().to_string();
    let gate = stage.sandbox.gate("end");
    let tool = "echo two >file && git commit -qam two && echo three >new";
    let prompt = format!("MOCK:tool {tool}\n{}", gate.until());
    let words =
        ["claude-code", "-p", &prompt, "--worktree", &repo, "--branch", "try/x", "--group", "g-1"];
    let launched = stage.launch(&[&words[..], &["--", "--allowedTools=Bash"]].concat());
    is_real(&launched["session"], EXE);
    let id = launched["session"]["id"].as_str().expect("it has an id").to_owned();
    let tree = stage.sandbox.root().join("repo-try-x");
    assert_eq!(launched["session"]["cwd"], json!(tree), "{launched:#}");
    stage.sandbox.wait_for("its file", LIMIT, || tree.join("new").exists().then_some(()));

    let taken = stage.told(&["worktree", "clean", "g-1", "--force", "--yes"], 5);
    let proofs = taken["worktrees"][0]["proofs"].as_array().expect("a list");
    let never: Vec<&Value> = proofs
        .iter()
        .filter(|proof| proof["verdict"] == "never")
        .map(|proof| &proof["check"])
        .collect();
    assert_eq!(never, [&json!("sessions"), &json!("processes")], "{taken:#}");

    gate.open();
    let waited = stage.sandbox.agentctl(&["wait", &id]);
    assert_eq!(waited.code, Some(0), "{waited:?}");
    let changes = stage.told(&["diff", &id, "--stat"], 0)["changes"].clone();
    let file = |path: &str, added: u64, removed: u64| json!({"path": path, "added": added, "removed": removed});
    let base = stage.git("repo", &["rev-parse", "main"]);
    let expected = json!({
        "base": base, "since": "launch", "worktree": tree, "branch_only": false, "branch": "try/x",
        "commits": 1, "added": 2, "removed": 1, "files": [file("file", 1, 1), file("new", 1, 0)],
    });
    assert_eq!(changes, expected, "{changes:#}");
    assert_eq!(stage.git("repo", &["status", "--porcelain"]), "");
    let compared = stage.told(&["compare", "g-1"], 0);
    let row = &compared["rows"][0];
    assert_eq!((&row["session"]["state"], &row["changes"]), (&json!("done"), &changes), "{row:#}");
    assert!(row["session"]["tokens"]["input"].as_u64().is_some_and(|count| count > 0), "{row:#}");

    let kept = stage.told(&["worktree", "clean", &id], 5);
    assert_eq!(kept["worktrees"][0]["removed"], false, "{kept:#}");
    assert!(tree.join("new").exists());
    stage.git("repo-try-x", &["add", "new"]);
    stage.git("repo-try-x", &["commit", "-qm", "three"]);
    stage.told(&["worktree", "clean", &id, "--delete-branch"], 5);
    stage.told(&["worktree", "clean", &id], 0);
    assert!(!tree.exists());
    let gone = stage.told(&["diff", &id, "--stat"], 0)["changes"].clone();
    assert_eq!((&gone["branch_only"], &gone["commits"]), (&json!(true), &json!(2)), "{gone:#}");
}

/// What dies at once leaves neither worktree nor branch.
#[test]
fn launch_in_a_worktree_that_fails_leaves_nothing() {
    let stage = Stage::new();
    stage.repository();
    let repo = stage.sandbox.root().join("repo").display().to_string();
    let before = stage.git("repo", &["for-each-ref"]);
    let words =
        ["launch", "claude-code", "-p", "MOCK:text hi", "--worktree", &repo, "--", "--bogus"];
    let failed = stage.sandbox.agentctl(&words);
    assert_eq!(failed.code, Some(6), "{failed:?}");
    assert_eq!(stage.git("repo", &["for-each-ref"]), before);
    assert_eq!(stage.git("repo", &["worktree", "list"]).lines().count(), 1);
    let left = std::fs::read_dir(stage.sandbox.root()).expect("a folder").flatten();
    let left = left.filter(|one| one.file_name().to_string_lossy().starts_with("repo-")).count();
    assert_eq!(left, 0);
}
