//! What is put before a prompt, as the agent gets it.

use crate::home::{Agents, Answer};
use rustix::fs::{CWD, Mode, mkfifoat};
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
};

/// Keeps what it reads, gets a session, and stays.
fn agents() -> Agents {
    Agents::with(&Agents::GOOD.replace("began=", "cat >\"$HOME/read\"\nbegan="))
}

fn launch(agents: &Agents, words: &[&str]) -> Answer {
    agents.own();
    agents.home.run(&[&["launch", "claude-code"], words].concat())
}

fn read(agents: &Agents, words: &[&str]) -> String {
    let answer = launch(agents, words);
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    fs::read_to_string(agents.home.path("read")).expect("what it read")
}

/// It is refused, with this reason, and nothing is started.
fn refused(agents: &Agents, words: &[&str], says: &str) {
    let answer = launch(agents, words);
    assert_eq!(answer.code, Some(2), "{answer:#?}");
    assert!(answer.stderr.contains(says), "no `{says}`: {answer:#?}");
    assert_eq!(agents.started(), 0, "{answer:#?}");
}

#[test]
fn files_and_a_specification_stand_before_the_prompt() {
    let agents = agents();
    let work = agents.home.work();
    fs::create_dir(work.join("src")).expect("a folder");
    fs::write(work.join("src/a.rs"), "fn a() {}\n").expect("a file");
    fs::write(work.join("spec.md"), "Be good.\n```\ncode\n```\n").expect("a file");
    let words = ["--file", "src/a.rs", "--spec", "spec.md", "-p", "--begin"];
    let expected = "Specification spec.md:\n````\nBe good.\n```\ncode\n```\n````\n\n\
                    File src/a.rs:\n```\nfn a() {}\n```\n\n--begin";
    assert_eq!(read(&agents, &words), expected);
}

#[test]
fn a_specification_may_be_all_of_it() {
    let agents = agents();
    fs::write(agents.home.work().join("spec.md"), "Be good.\n").expect("a file");
    let expected = "Specification spec.md:\n```\nBe good.\n```";
    assert_eq!(read(&agents, &["--spec", "spec.md"]), expected);
}

/// As agentctl 1.x found them: where the agent will work.
#[test]
fn a_file_may_be_where_the_agent_works() {
    let agents = agents();
    let dir = agents.home.work().join("elsewhere");
    fs::create_dir(&dir).expect("a folder");
    fs::write(dir.join("a.txt"), "there").expect("a file");
    let cwd = dir.to_str().expect("a name");
    let expected = "File a.txt:\n```\nthere\n```\n\ngo";
    assert_eq!(read(&agents, &["--cwd", cwd, "--file", "a.txt", "-p", "go"]), expected);
}

#[test]
fn what_is_no_text_is_refused() {
    let agents = agents();
    let work = agents.home.work();
    fs::write(work.join("nought"), b"text\0more").expect("a file");
    fs::write(work.join("latin"), b"\xe9t\xe9").expect("a file");
    fs::write(work.join("long"), "x".repeat((50 << 10) + 1)).expect("a file");
    fs::create_dir(work.join("folder")).expect("a folder");
    mkfifoat(CWD, work.join("pipe"), Mode::RUSR | Mode::WUSR).expect("a pipe");
    let reasons = [
        ("nought", "cannot use nought: it is binary: byte 4 is nought"),
        ("latin", "cannot use latin: it is binary: byte 0 is not UTF-8"),
        ("long", "cannot use long: it has 51201 bytes, more than 51200"),
        ("folder", "cannot use folder: it is a directory"),
        ("pipe", "cannot use pipe: it is no plain file"),
        ("/dev/zero", "cannot use /dev/zero: it is no plain file"),
        ("none", "cannot use none: No such file"),
    ];
    for (file, says) in reasons {
        refused(&agents, &["-p", "go", "--file", file], says);
        refused(&agents, &["--spec", file], says);
    }
    let words = ["-p", "go", "--max-file-size", "51k", "--file", "long"];
    assert!(read(&agents, &words).ends_with("xx\n```\n\ngo"));
}

/// A `gh` that is this script.
fn with_gh(script: &str) -> Agents {
    let agents = agents();
    let gh = agents.home.write("bin/gh", format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}"));
    fs::set_permissions(gh, Permissions::from_mode(0o755)).expect("our file");
    agents
}

#[test]
fn an_issue_is_what_gh_says() {
    let agents = with_gh(
        r#"echo "$@" >"$HOME/asked"
printf '%s\n' '{"title":"It breaks","body":"Mend it.\r\n","url":"https://github.com/a/b/issues/7"}'"#,
    );
    let expected =
        "Issue 7 https://github.com/a/b/issues/7:\n```\nIt breaks\n\nMend it.\n```\n\nsoon";
    assert_eq!(read(&agents, &["--issue", "7", "--repo", "a/b", "-p", "soon"]), expected);
    let asked = fs::read_to_string(agents.home.path("asked")).expect("its words");
    assert_eq!(asked, "issue view 7 --json title,body,url --repo a/b\n");
}

#[test]
fn an_issue_that_cannot_be_read_is_an_error() {
    let none = agents();
    refused(&none, &["--issue", "7"], "no `gh` on PATH");
    refused(&none, &["--issue", "seven"], "no number of an issue");
    refused(&none, &["-p", "go", "--repo", "a/b"], "--issue");
    let failing = with_gh("echo 'HTTP 404: Not Found' >&2; exit 1");
    refused(&failing, &["--issue", "7"], "ended with exit status: 1: HTTP 404: Not Found");
    let odd = with_gh("echo Welcome");
    refused(&odd, &["--issue", "7"], "says what is not understood");
    let long = with_gh("printf '{\"title\":\"t\",\"body\":\"'; printf '%060000d' 0; echo '\"}'");
    refused(&long, &["--issue", "7"], "cannot use issue 7: it has 60003 bytes, more than 51200");
}
