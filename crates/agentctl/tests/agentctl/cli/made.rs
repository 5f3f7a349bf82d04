//! Help, completions and manual pages.

use crate::home::{Answer, Home};
use std::{collections::BTreeSet, fs, path::Path};

/// All that people call; hidden commands are for ourselves and have no page.
pub(super) const COMMANDS: &[&str] = &[
    "list",
    "status",
    "explain",
    "peek",
    "logs",
    "launch",
    "resume",
    "wait",
    "events",
    "send",
    "approve",
    "deny",
    "attach",
    "stop",
    "locks",
    "lock",
    "unlock",
    "hook",
    "config",
    "fuse",
    "fuses",
    "budget",
    "daemon",
    "webhook",
    "metrics",
    "worktree",
    "diff",
    "compare",
    "prune",
    "doctor",
    "completions",
    "man",
];
const ALIASES: &[&str] = &["ls", "ps", "show"];

fn run(home: &Home, args: &[&str]) -> String {
    let answer = home.run(args);
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{answer:#?}");
    assert!(!answer.stdout.is_empty(), "{answer:#?}");
    answer.stdout
}

#[test]
fn every_command_has_help() {
    let home = Home::new();
    let all = run(&home, &["--help"]);
    let listed: BTreeSet<&str> = all
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
        .collect();
    let known: BTreeSet<&str> = COMMANDS.iter().copied().chain(["help"]).collect();
    assert_eq!(listed, known);
    assert!(!all.contains("__shim"), "{all}");
    for command in COMMANDS.iter().chain(ALIASES) {
        let long = run(&home, &[command, "--help"]);
        assert!(long.contains("Usage: agentctl"), "{long}");
        assert_eq!(run(&home, &["help", command]), long);
        run(&home, &[command, "-h"]);
    }
    run(&home, &["--version"]);
}

/// Runs a shell or a formatter of this machine.
fn by(home: &Home, words: &[&str], file: &Path) -> Answer {
    let mut command = home.command(words[0]);
    command.args(&words[1..]).arg(file).env("PATH", "/usr/bin:/bin").env("LC_ALL", "C.UTF-8");
    Answer::of(&mut command, &home.root().join("out"))
}

#[test]
fn completions_are_understood_by_their_shells() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = home.root().join(format!("completions.{shell}"));
        let text = run(&home, &["completions", shell]);
        for command in COMMANDS {
            assert!(text.contains(command), "no {command} for {shell}");
        }
        fs::write(&script, text).expect("a file");
        if matches!(shell, "bash" | "zsh" | "fish") {
            let checked = by(&home, &[shell, "-n"], &script);
            assert_eq!((checked.code, checked.stderr.as_str()), (Some(0), ""), "{shell}");
        }
    }
}

/// The shell offers what there is.
#[test]
fn bash_completes_commands() {
    let home = Home::new();
    let script = home.root().join("completions.bash");
    fs::write(&script, run(&home, &["completions", "bash"])).expect("a file");
    let line = ". \"$0\"; COMP_WORDS=(agentctl ex); COMP_CWORD=1; \
                _agentctl agentctl ex agentctl; echo \"${COMPREPLY[@]}\"";
    let answer = by(&home, &["bash", "-c", line], &script);
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), "explain\n"), "{answer:#?}");
}

#[test]
fn manual_pages_can_be_shown() {
    let home = Home::new();
    let dir = home.work();
    if let Some(user) = home.user() {
        std::os::unix::fs::chown(&dir, Some(user), None).expect("our folder");
    }
    assert_eq!(home.run(&["man", "--dir", "pages"]).code, Some(0));
    let mut pages: Vec<String> = fs::read_dir(dir.join("pages"))
        .expect("pages")
        .map(|page| page.expect("a page").file_name().to_string_lossy().into_owned())
        .collect();
    pages.sort();
    let mut expected: Vec<String> =
        COMMANDS.iter().map(|command| format!("agentctl-{command}.1")).collect();
    expected.extend(["agentctl.1", "agentctl-help.1"].map(str::to_owned));
    expected.sort();
    assert_eq!(pages, expected);
    for page in pages {
        let file = dir.join("pages").join(&page);
        let text = fs::read_to_string(&file).expect("a page");
        assert!(text.starts_with(".ie") || text.starts_with(".TH"), "{page}: {text}");
        let shown = by(&home, &["groff", "-man", "-Tutf8", "-ww"], &file);
        let is_page = shown.stdout.contains("General Commands Manual");
        assert_eq!((shown.code, shown.stderr.as_str(), is_page), (Some(0), "", true), "{page}");
    }
    assert_eq!(
        run(&home, &["man", "list"]),
        fs::read_to_string(dir.join("pages/agentctl-list.1")).expect("a page")
    );
}

/// A page is called as it is asked for.
#[test]
fn manual_pages_name_themselves_in_full() {
    let home = Home::new();
    let page = run(&home, &["man", "explain"]);
    assert!(page.contains(".TH agentctl-explain 1"), "{page}");
    assert!(page.contains("agentctl explain") || page.contains("agentctl\\-explain"), "{page}");
}

#[test]
fn pages_that_cannot_be_written_are_an_error() {
    let home = Home::new();
    let answer = home.run(&["man", "--dir", "/dev/null/pages"]);
    assert_eq!(answer.code, Some(1), "{answer:#?}");
    assert!(answer.stderr.contains("/dev/null/pages"), "it does not say where: {answer:#?}");
}
