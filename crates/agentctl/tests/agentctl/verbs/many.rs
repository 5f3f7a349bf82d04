//! Several launches of one command, and launches in worktrees.

use crate::{
    home::{Agents, Answer},
    kills::until,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::{collections::BTreeSet, fs, io::Read, path::Path, process::Stdio};

/// Names of what stands beside the repository.
fn beside(agents: &Agents) -> Vec<String> {
    let entries = fs::read_dir(agents.home.work()).expect("a folder").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn branches(agents: &Agents) -> Vec<String> {
    let out = agents.git(&["branch", "--format=%(refname:short)"]);
    out.lines().map(str::to_owned).collect()
}

fn launch(agents: &Agents, words: &[&str]) -> Answer {
    agents.own();
    agents.home.run(&[&["launch"], words].concat())
}

/// The answer of a launch that must have this code.
fn told(agents: &Agents, code: i32, words: &[&str]) -> Value {
    let answer = launch(agents, &[words, &["--json"]].concat());
    assert_eq!(answer.code, Some(code), "{answer:#?}");
    answer.json()
}

/// It is refused with this code and reason, and nothing is left of it.
fn nothing_made(agents: &Agents, (code, says): (i32, &str), words: &[&str]) {
    let before = (beside(agents), agents.started());
    let answer = launch(agents, words);
    assert_eq!(answer.code, Some(code), "{answer:#?}");
    assert!(answer.stderr.contains(says), "no `{says}`: {answer:#?}");
    assert_eq!((beside(agents), agents.started()), before, "{answer:#?}");
}

fn text<'a>(value: &'a Value, place: &str) -> &'a str {
    value.pointer(place).and_then(Value::as_str).unwrap_or_else(|| panic!("no {place}: {value:#}"))
}

const TWO: &[&str] =
    &["--adapter", "claude-code", "--model", "opus", "--adapter", "claude", "--model", "x/haiku-9"];
const IN: &[&str] = &["--cwd", "repo", "-p", "go"];

#[test]
fn each_has_a_worktree_a_branch_and_a_name_of_its_own() {
    let agents = Agents::new();
    agents.repo();
    let all = told(&agents, 0, &[TWO, IN].concat());
    let group = text(&all, "/group");
    assert!(group.starts_with("g-") && group.len() == 8, "{group}");
    let slots = all["slots"].as_array().expect("slots");
    let names: Vec<&str> = slots.iter().map(|slot| text(slot, "/name")).collect();
    assert_eq!(names, ["claude-opus", "claude-haiku-9"]);
    for (slot, name) in slots.iter().zip(&names) {
        let cwd = agents.home.work().join(format!("repo-try-{group}-{name}"));
        assert_eq!(text(slot, "/session/cwd"), cwd.to_str().expect("a name"));
        assert_eq!(fs::read_to_string(cwd.join("src/a.txt")).expect("a file"), "one\n");
        assert_eq!(text(slot, "/session/group"), group);
        assert_eq!(text(slot, "/session/branch"), format!("try/{group}/{name}"));
    }
    let made = [names[1], names[0]].map(|name| format!("try/{group}/{name}"));
    assert_eq!(branches(&agents), [&["main".to_owned()], &made[..]].concat());
    let listed = agents.home.run(&["list", "--group", group, "--json"]).json();
    let ids = |rows: &Value, place: &str| -> BTreeSet<String> {
        let rows = rows.as_array().expect("rows").iter();
        rows.map(|row| text(row, place).to_owned()).collect()
    };
    assert_eq!(ids(&listed["sessions"], "/id"), ids(&all["slots"], "/session/id"));
}

#[test]
fn people_see_each_as_it_comes() {
    let agents = Agents::new();
    agents.repo();
    let words = [TWO, &["--adapter", "codex"], IN].concat();
    let answer = launch(&agents, &words);
    assert_eq!(answer.code, Some(8), "{answer:#?}");
    let names: BTreeSet<&str> =
        answer.stdout.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(names, BTreeSet::from(["claude-haiku-9", "claude-opus"]), "{answer:#?}");
    let dry = launch(&agents, &[&words[..], &["--dry-run"]].concat());
    assert_eq!(dry.code, Some(8), "{dry:#?}");
    assert!(dry.stdout.contains("# codex\n# cannot be started: Codex is not"), "{dry:#?}");
    for says in [": 3 launches\n", "error: codex: Codex is not installed", "hint: "] {
        assert!(answer.stderr.contains(says), "no `{says}`: {answer:#?}");
    }
}

#[test]
fn one_that_fails_stops_no_other_and_leaves_nothing() {
    let agents = Agents::new();
    agents.repo();
    let words = ["--adapter", "codex", "--adapter", "claude-code"];
    let all = told(&agents, 8, &[&words[..], IN].concat());
    assert_eq!(text(&all, "/slots/0/error/kind"), "not_started");
    assert_eq!(all["slots"][0].get("session"), None);
    assert_eq!(text(&all, "/slots/1/session/agent"), "claude-code");
    let group = text(&all, "/group");
    assert_eq!(beside(&agents), ["repo".to_owned(), format!("repo-try-{group}-claude")]);
    assert_eq!(branches(&agents), ["main".to_owned(), format!("try/{group}/claude")]);

    let words = ["--adapter", "codex", "--adapter", "pi", "--group", "mine"];
    told(&agents, 6, &[&words[..], IN].concat());
    assert_eq!(beside(&agents).len(), 2);
}

#[test]
fn what_an_agent_did_before_it_failed_is_kept() {
    let agents = Agents::with("#!/bin/sh\necho work >new\nexit 3\n");
    agents.repo();
    let answer = launch(&agents, &["--worktree", "repo", "--branch", "mine", "-p", "go"]);
    assert_eq!(answer.code, Some(6), "{answer:#?}");
    assert!(answer.stderr.contains("repo-mine is left as it is"), "{answer:#?}");
    let kept = fs::read_to_string(agents.home.work().join("repo-mine/new")).expect("its work");
    assert_eq!(kept, "work\n");
}

#[test]
fn the_same_key_is_the_same_sessions() {
    let agents = Agents::new();
    agents.repo();
    let words = [TWO, IN, &["--key", "k"]].concat();
    let ids = |all: &Value| [0, 1].map(|at| text(&all["slots"][at], "/session/id").to_owned());
    let (first, second) = (told(&agents, 0, &words), told(&agents, 0, &words));
    assert_eq!(ids(&first), ids(&second));
    assert_eq!((beside(&agents).len(), agents.started()), (3, 2));
    assert_eq!(second["slots"][0]["reused"], true);
    assert_eq!(
        (&second["group"], &second["group"]),
        (&first["group"], &second["slots"][0]["session"]["group"])
    );
    let answer = launch(&agents, &words);
    assert!(answer.stderr.contains("claude-opus was launched before with this key"), "{answer:#?}");
}

/// Whoever names a group means it, whatever it is called and however often.
#[test]
fn a_group_may_have_any_name_and_grow() {
    let agents = Agents::new();
    agents.repo();
    let words = [TWO, IN, &["--group", "my group/../x"]].concat();
    let branch = |all: &Value| text(all, "/slots/0/session/branch").to_owned();
    let (first, second) = (told(&agents, 0, &words), told(&agents, 0, &words));
    assert_eq!(branch(&first), "try/my-group-x/claude-opus");
    assert_eq!(branch(&second), "try/my-group-x/claude-opus-2");
    let configured = [TWO, IN, &["--json"]].concat();
    let configured = [&["launch"], &configured[..]].concat();
    let mut command = agents.home.agentctl(&configured);
    let third = agents.home.ask(command.env("AGENTCTL_LAUNCH_GROUP", "set")).json();
    assert_eq!(text(&third, "/group"), "set");
}

/// Who is run by a hook of git has variables that mean another repository.
#[test]
fn variables_of_another_repository_are_not_handed_on() {
    let script = Agents::GOOD.replace("began=", "env | grep ^GIT_ >\"$HOME/git\"\nbegan=");
    let agents = Agents::with(&script);
    agents.repo();
    let words = ["launch", "--worktree", "repo", "--branch", "b", "-p", "go"];
    let words = [&words[..], &["--on-create", "PATH=/bin; env | grep ^GIT_ >$HOME/hook"]].concat();
    let mut command = agents.home.agentctl(&words);
    command.env("GIT_DIR", agents.home.work().join("repo/.git")).env("GIT_INDEX_FILE", "x");
    let answer = agents.home.ask(command.env("GIT_AUTHOR_NAME", "kept"));
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    let seen = |file: &str| fs::read_to_string(agents.home.path(file)).expect("its variables");
    assert_eq!(
        (seen("git"), seen("hook")),
        ("GIT_AUTHOR_NAME=kept\n".to_owned(), "GIT_AUTHOR_NAME=kept\n".to_owned())
    );
}

/// Whoever breaks it off while files are checked out finds nothing half done.
#[test]
fn a_signal_leaves_no_half_made_worktree() {
    let agents = Agents::new();
    let repo = agents.repo();
    fs::write(repo.join(".gitattributes"), "src/* filter=slow\n").expect("a file");
    agents.own();
    agents.git(&["add", "."]);
    agents.git(&["commit", "-qm", "second"]);
    let smudge =
        "PATH=/usr/bin:/bin; >$HOME/began; until test -e $HOME/go; do sleep 0.02; done; cat";
    agents.git(&["config", "filter.slow.smudge", &format!("sh -c '{smudge}'")]);
    let sh = agents.home.path("bin/sh");
    std::os::unix::fs::symlink("/bin/sh", sh).expect("a link");
    let mut command = agents.home.agentctl(&[&["launch"], TWO, IN].concat());
    let mut launched =
        command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
    until("files are checked out", || agents.home.path("began").exists().then_some(()));
    let pid = Pid::from_child(&launched);
    kill_process(pid, Signal::TERM).expect("it is alive");
    fs::write(agents.home.path("go"), "").expect("a file");
    let mut said = String::new();
    launched.stderr.take().expect("a pipe").read_to_string(&mut said).expect("words");
    let status = launched.wait().expect("its end");
    assert_eq!(status.code(), Some(6), "{said}");
    assert!(said.contains("a signal broke it off"), "{said}");
    assert_eq!(
        (beside(&agents), branches(&agents)),
        (vec!["repo".to_owned()], vec!["main".to_owned()]),
        "{said}"
    );
    assert_eq!(agents.started(), 0);
}

#[test]
fn twelve_at_once_are_twelve() {
    let agents = Agents::new();
    agents.repo();
    let twelve = ["--adapter", "claude-code"].repeat(12);
    let all = told(&agents, 0, &[&twelve[..], IN].concat());
    let slots = all["slots"].as_array().expect("slots").iter();
    let cwds: BTreeSet<&str> = slots.map(|slot| text(slot, "/session/cwd")).collect();
    assert_eq!((cwds.len(), agents.started(), branches(&agents).len()), (12, 12, 13));
    assert!(cwds.iter().all(|cwd| Path::new(cwd).join("src/a.txt").is_file()));
}

#[test]
fn a_file_names_them() {
    let agents = Agents::new();
    let repo = agents.repo();
    let text_of = "prompt: go\ncwd: repo\nlabels: {team: a}\nmatrix:\n  - adapter: claude-code\n    \
                   model: [opus, haiku]\n    permission: edit\n  - adapter: claude\n    branch: mine\n    \
                   baseBranch: main\n    labels: {team: b}\n";
    fs::write(agents.home.work().join("m.yaml"), text_of).expect("a file");
    let dry = launch(&agents, &["--matrix", "m.yaml", "--dry-run"]);
    assert_eq!(dry.code, Some(0), "{dry:#?}");
    let plans: Vec<&str> = dry.stdout.lines().filter(|line| line.starts_with("# claude")).collect();
    assert_eq!(
        plans,
        ["# claude-opus-edit-head", "# claude-haiku-edit-head", "# claude-default-default-main"]
    );
    assert!(dry.stdout.contains("worktree add -b mine "), "{dry:#?}");
    assert_eq!((beside(&agents).len(), agents.started()), (2, 0));

    let all = told(&agents, 0, &["--matrix", "m.yaml", "--label", "who=me"]);
    assert_eq!(all["slots"].as_array().map(Vec::len), Some(3));
    let last = &all["slots"][2];
    assert_eq!(text(last, "/session/branch"), "mine");
    assert_eq!(last["session"]["labels"], serde_json::json!({"team": "b", "who": "me"}));
    assert!(repo.with_file_name("repo-mine").join("src/a.txt").is_file());
    nothing_made(
        &agents,
        (5, "the branch mine is checked out in"),
        &["--worktree", "repo", "--branch", "mine", "-p", "go"],
    );
}

#[test]
fn a_mistake_in_the_file_is_told_with_its_line() {
    let agents = Agents::new();
    agents.repo();
    let cases = [
        (
            "prompt: go\ncwd: repo\nmatrix:\n- adapter: pi\n  models: x\n",
            "line 5, column 3: unknown field `models`",
        ),
        (
            "prompt: go\ncwd: repo\nmatrix:\n- adapter: emacs\n",
            "line 4, column 12: no agent is called emacs",
        ),
        (
            "prompt: go\ncwd: repo\nmatrix:\n- {adapter: pi, branch: b}\n- {adapter: codex, branch: b}\n",
            "the same branch: b",
        ),
        (
            "prompt: go\ncwd: repo\nmatrix:\n- {adapter: pi, branch: b}\n- {adapter: codex, branch: b/c}\n",
            "git cannot have both branches: b and b/c",
        ),
        ("prompt: go\ncwd: none\nmatrix:\n- adapter: pi\n", "cannot work in"),
        ("", "cannot use m.yaml: "),
    ];
    for (text, says) in cases {
        fs::write(agents.home.work().join("m.yaml"), text).expect("a file");
        nothing_made(&agents, (2, says), &["--matrix", "m.yaml"]);
    }
    nothing_made(&agents, (2, "cannot use none.yaml: No such file"), &["--matrix", "none.yaml"]);
    nothing_made(&agents, (2, "--matrix"), &["--matrix", "m.yaml", "--adapter", "pi"]);
    nothing_made(
        &agents,
        (2, "--branch names one branch"),
        &[TWO, IN, &["--worktree", "repo", "--branch", "b"]].concat(),
    );
    nothing_made(
        &agents,
        (2, "stands before every --adapter"),
        &["--model", "x", "--adapter", "pi"],
    );
}

#[test]
fn where_there_is_nothing_to_start_from_it_is_said() {
    let agents = Agents::new();
    nothing_made(&agents, (6, "no `git` on PATH"), &[TWO, &["-p", "go"]].concat());
    agents.empty_repo();
    nothing_made(&agents, (2, "is in no git repository"), &[TWO, &["-p", "go"]].concat());
    nothing_made(&agents, (2, "has no commits"), &[TWO, IN].concat());
    nothing_made(&agents, (2, "has no commits"), &["--worktree", "repo", "-p", "go"]);
}

#[test]
fn changes_detached_heads_and_remote_branches_are_defined() {
    let agents = Agents::new();
    let repo = agents.repo();
    fs::write(repo.join("src/a.txt"), "two\n").expect("a file");
    let all = told(&agents, 0, &["--worktree", "repo", "--branch", "a", "-p", "go"]);
    let notes = all["worktree"]["notes"].to_string();
    assert!(
        notes.contains("uncommitted changes in") && notes.contains("not carried over"),
        "{notes}"
    );
    let file = |tree: &str| fs::read_to_string(repo.with_file_name(tree).join("src/a.txt"));
    assert_eq!(file("repo-a").expect("a file"), "one\n");

    agents.git(&["commit", "-qam", "second"]);
    agents.git(&["checkout", "-q", "--detach"]);
    agents.git(&["update-ref", "refs/remotes/origin/theirs", "HEAD~1"]);
    agents.git(&["remote", "add", "origin", "/nowhere"]);
    told(&agents, 0, &["--worktree", "repo", "--branch", "b", "-p", "go"]);
    assert_eq!(file("repo-b").expect("a file"), "two\n");
    let words = ["--worktree", "repo", "--branch", "c", "--base-branch", "theirs", "-p", "go"];
    let all = told(&agents, 0, &words);
    assert!(
        all["worktree"]["notes"].to_string().contains("it starts from origin/theirs"),
        "{all:#}"
    );
    assert_eq!(file("repo-c").expect("a file"), "one\n");
    let words = ["--worktree", "repo", "--branch", "d", "--base-branch", "thiers", "-p", "go"];
    nothing_made(&agents, (2, "no branch, tag or commit is called thiers"), &words);
}

#[test]
fn one_launch_may_have_a_worktree_too() {
    let agents = Agents::new();
    let repo = agents.repo();
    let sub = ["--worktree", "repo", "--cwd", "repo/src", "-p", "go"];
    let one = told(&agents, 0, &sub);
    let branch = text(&one, "/session/branch");
    assert!(branch.starts_with("try/claude-"), "{branch}");
    let tree = format!("repo-{}", branch.replace('/', "-"));
    let cwd = repo.with_file_name(tree).join("src");
    assert_eq!(text(&one, "/session/cwd"), cwd.to_str().expect("a name"));

    let before = beside(&agents);
    let dry = told(&agents, 0, &["--worktree", "repo", "--branch", "x", "-p", "go", "--dry-run"]);
    assert_eq!(text(&dry, "/worktree/branch"), "x");
    assert_eq!((beside(&agents), agents.started()), (before, 1));
    let elsewhere = ["--worktree", "repo", "--cwd", ".", "-p", "go"];
    nothing_made(&agents, (2, "work is not in "), &elsewhere);
    nothing_made(
        &agents,
        (2, "--base-branch is for a worktree"),
        &["--base-branch", "main", "-p", "go"],
    );
    nothing_made(
        &agents,
        (2, "git takes no branch"),
        &["--worktree", "repo", "--branch", "a..b", "-p", "go"],
    );
}
