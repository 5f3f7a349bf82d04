//! Worktrees that somebody is in, or locked: not even --force removes them.

use super::Trees;
use crate::home::lines::{codex_open, id};
use rustix::fs::{FlockOperation, flock};
use serde_json::json;
use std::{
    fs::{self, File, Permissions},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::Path,
    process::Child,
};

const INSIST: &[&str] = &["--force", "--yes", "--delete-branch"];

/// A process of the home's user, ended with this value.
struct Held(Child);

impl Held {
    fn start(trees: &Trees, dir: &Path, script: &str) -> Self {
        let mut shell = trees.agents.home.command("/bin/sh");
        shell.current_dir(dir).env("PATH", "/usr/bin:/bin").args(["-c", script]);
        shell.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = shell.process_group(0).spawn().expect("a shell");
        // It says a word once it is as it should be, and ends when its input does.
        let mut word = [0; 3];
        let out = child.stdout.as_mut().expect("it was asked for");
        std::io::Read::read_exact(out, &mut word).expect("it says that it is there");
        Self(child)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_that_works_there_keeps_it() {
    let trees = Trees::new();
    trees.write("tree/deep/new", "work\n");
    let held = Held::start(&trees, &trees.at("tree/deep"), "echo ok; read line");
    trees.keeps(&[], &[("processes", "never"), ("untracked", "lost")]);
    trees.keeps(INSIST, &[("processes", "never"), ("untracked", "lost")]);
    assert_eq!(trees.read("tree/deep/new"), "work\n");
    let answer = trees.clean(INSIST).json();
    let details = answer["worktrees"][0]["proofs"][3]["details"].to_string();
    assert!(details.contains(&format!("pid {} (sh) works in", held.0.id())), "{details}");
}

#[test]
fn an_open_file_keeps_it() {
    let trees = Trees::new();
    let script = format!("exec 5<'{}'; echo ok; read line", trees.at("tree/file").display());
    let _held = Held::start(&trees, Path::new("/"), &script);
    trees.keeps(INSIST, &[("processes", "never")]);
}

#[test]
fn a_program_that_lies_there_keeps_it() {
    let trees = Trees::new();
    let shell = trees.at("tree/out/shell");
    std::fs::create_dir_all(trees.at("tree/out")).expect("a folder");
    let copied = std::process::Command::new("cp").arg("/bin/sh").arg(&shell).status();
    assert!(copied.is_ok_and(|copied| copied.success()));
    trees.own();
    let script = format!("exec '{}' -c 'echo ok; read line'", shell.display());
    let _held = Held::start(&trees, Path::new("/"), &script);
    trees.keeps(INSIST, &[("processes", "never"), ("ignored", "lost")]);
}

/// An agent whose process works elsewhere, such as a server, is told by its session.
#[test]
fn a_live_session_keeps_it() {
    let trees = Trees::new();
    let home = &trees.agents.home;
    let process = home.stand_in();
    home.register(&process, &id(1), json!({"status": "busy", "cwd": trees.at("tree")}));
    trees.own();
    trees.keeps(INSIST, &[("sessions", "never")]);
    let by_id = trees.run(&["worktree", "clean", &id(1), "--json"]);
    assert_eq!(by_id.code, Some(5), "{by_id:#?}");
    process.end();
    trees.removes(&[]);
}

/// Without locks, nobody can tell whether a process that is there has the session.
#[test]
fn a_session_that_may_live_keeps_it() {
    let trees = Trees::new();
    let home = &trees.agents.home;
    let mut lines = codex_open(&id(1), "Begin");
    for line in &mut lines {
        line["timestamp"] = json!(jiff::Timestamp::now().to_string());
        if line["payload"]["cwd"].is_string() {
            line["payload"]["cwd"] = json!(trees.at("tree"));
        }
    }
    let codex = home.program("codex");
    let copied = std::process::Command::new("cp").arg("/bin/sleep").arg(&codex).status();
    assert!(copied.is_ok_and(|copied| copied.success()));
    let mut process = home.command(codex).arg("1000").spawn().expect("a stand-in");
    home.codex(&id(1), &lines);
    trees.own();
    let clean = ["worktree", "clean", "./tree", "--json"];
    let mut clean = trees.with_git(home.agentctl(&clean));
    let answer = home.ask(clean.env("AGENTCTL_PORTABLE", "true"));
    process.kill().and_then(|()| process.wait()).expect("a child");
    assert_eq!(answer.code, Some(5), "{answer:#?}");
    let one = &answer.json()["worktrees"][0];
    let bad: Vec<_> = super::proofs(one).filter(|(_, verdict)| *verdict != "safe").collect();
    assert_eq!(bad, [("sessions", "lost")], "{one:#}");
    trees.removes(&[]);
}

/// What cannot be read may be the session that is there.
#[test]
fn a_registry_that_cannot_be_read_keeps_it() {
    let trees = Trees::new();
    let broken = trees.agents.home.write(".claude/sessions/12.json", "{");
    trees.own();
    let listed = trees.run(&["worktree", "list", "repo", "--json"]).json();
    assert_eq!(listed["problems"].as_array().map(Vec::len), Some(1), "{listed:#}");
    trees.keeps(&[], &[("sessions", "lost")]);
    let answer = trees.clean(&[]).json();
    let details = answer["worktrees"][0]["proofs"][2]["details"].to_string();
    assert!(details.contains(&broken.display().to_string()), "{details}");
    std::fs::remove_file(broken).expect("it is still there");
    trees.removes(&[]);
}

/// An editor under `sudo` may work there, and cannot be asked by the person who began it.
#[test]
fn a_process_of_root_that_a_person_began_keeps_it() {
    let trees = Trees::new();
    let cat = trees.agents.home.program("mighty");
    std::fs::copy("/bin/cat", &cat).expect("a copy");
    std::fs::set_permissions(&cat, Permissions::from_mode(0o4755)).expect("our file");
    let inner = format!("echo ok; exec '{}'", cat.display());
    let script = format!("exec script --quiet --command \"{inner}\" /dev/null");
    let _held = Held::start(&trees, Path::new("/"), &script);
    if trees.agents.home.user().is_none() {
        return; // it is no more than we are
    }
    trees.keeps(&[], &[("processes", "lost")]);
    // Nor is what was made for a launch that failed taken back under it.
    std::fs::write(trees.agents.home.path("bin/claude"), "#!/bin/sh\nexit 3\n").expect("our file");
    let launch = ["launch", "claude-code", "-p", "hi", "--json", "--worktree", "repo"];
    let failed = trees.run(&[&launch[..], &["--branch", "x"]].concat());
    let hint = failed.json()["error"]["hint"].to_string();
    assert!(hint.contains("is left as it is: some processes cannot"), "{failed:#?}");
    assert!(trees.at("repo-x/file").exists());
}

#[test]
fn a_lock_of_git_or_of_a_person_keeps_it() {
    let trees = Trees::new();
    trees.git("repo", &["worktree", "lock", "--reason", "on a disk", "../tree"]);
    trees.keeps(INSIST, &[("locked", "never")]);
    trees.git("repo", &["worktree", "unlock", "../tree"]);
    assert_eq!(trees.run(&["lock", "./tree", "--reason", "mine"]).code, Some(0));
    trees.keeps(INSIST, &[("locked", "never")]);
    assert_eq!(trees.run(&["unlock", "./tree"]).code, Some(0));
    trees.removes(&[]);
}

/// Whoever is launching there right now has no process and no session yet.
#[test]
fn a_launch_that_is_under_way_keeps_it() {
    let trees = Trees::new();
    let tree = trees.at("tree").display().to_string();
    let name = tree.replace('/', "%2f").replace('.', "%2e");
    let claim =
        trees.agents.home.write(format!(".local/state/agentctl/locks/{name}.lock"), "somebody");
    trees.own();
    let file = File::options().read(true).write(true).open(&claim).expect("a file");
    flock(&file, FlockOperation::NonBlockingLockExclusive).expect("nobody has it");
    let answer = trees.clean(INSIST);
    assert_eq!(answer.code, Some(5), "{answer:#?}");
    let message = answer.json()["refused"][0]["message"].to_string();
    assert!(message.contains("another launch is under way"), "{message}");
    fs::write(&claim, "`agentctl worktree clean`, pid 1").expect("a file");
    let answer = trees.clean(INSIST).json();
    let message = answer["refused"][0]["message"].to_string();
    assert!(message.contains("another `agentctl worktree clean` is at work in"), "{message}");
    assert!(trees.at("tree/.git").exists());
    drop(file);
    trees.removes(&[]);
}

#[test]
fn the_main_worktree_is_never_removed() {
    let trees = Trees::new();
    for target in ["./repo", "repo"] {
        let answer = trees.run(&["worktree", "clean", target, "--json", "--force", "--yes"]);
        assert_eq!(answer.code, Some(5), "{answer:#?}");
        let one = &answer.json()["worktrees"][0];
        assert_eq!(super::proofs(one).collect::<Vec<_>>(), [("main", "never")]);
    }
    assert_eq!(trees.read("repo/file"), "one\n");
    trees.write("tree/deep/file", "");
    let below = trees.run(&["worktree", "clean", "tree/deep", "--force", "--yes"]);
    assert_eq!(below.code, Some(5), "{below:#?}");
    let outside = trees.run(&["worktree", "clean", "/", "--force", "--yes"]);
    assert_eq!(outside.code, Some(5), "{outside:#?}");
}
