//! What the README shows is there.

use super::made::COMMANDS;
use crate::home::Home;
use std::{collections::BTreeSet, fs};

fn readme() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    fs::read_to_string(path).expect("the README")
}

/// Texts between backquotes.
fn spans(line: &str) -> Vec<&str> {
    line.split('`').skip(1).step_by(2).collect()
}

#[test]
fn commands_of_the_table_and_their_flags_exist() {
    let home = Home::new();
    let text = readme();
    let mut commands = BTreeSet::new();
    for row in text.lines().filter(|line| line.starts_with("| `agentctl ")) {
        let calls: Vec<&str> =
            spans(row).into_iter().filter(|span| span.starts_with("agentctl ")).collect();
        let mut help = String::new();
        for call in calls {
            // A command may have commands of its own: `config show`.
            let is_word = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase());
            let words: Vec<&str> = call.split(' ').skip(1).take_while(is_word).collect();
            let command = words.first().copied().expect("a command");
            let answer = home.run(&[words.as_slice(), &["--help"]].concat());
            assert_eq!(answer.code, Some(0), "{call}");
            help.push_str(&answer.stdout);
            commands.insert(command.to_owned());
        }
        let shown: String = spans(row).join(" ").replace(['[', ']'], " ");
        for flag in shown.split(' ').filter(|word| word.starts_with('-')) {
            let known = help.split([' ', ',', '\n', '[', ']', '=']).any(|word| word == flag);
            assert!(known, "no {flag} in: {row}");
        }
    }
    assert_eq!(commands, COMMANDS.iter().copied().map(str::to_owned).collect());
}

/// The two commands at the top: one is ours, the other is cargo's.
#[test]
fn the_first_two_commands_can_be_given() {
    let text = readme();
    let block = text.split("```").nth(1).expect("a block");
    let mut calls = block.lines().skip(1).map(|line| line.split('#').next().unwrap_or(line).trim());
    let ours = calls.next().expect("a command");
    let words: Vec<&str> = ours.split(" -- ").collect();
    assert_eq!(words[0], "cargo run --release --package agentctl");
    let home = Home::new();
    let args: Vec<&str> = words[1].split(' ').collect();
    assert_eq!(home.run(&args).code, Some(0));
    assert_eq!(calls.next(), Some("cargo xtask test"));
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cargo/config.toml");
    assert!(fs::read_to_string(config).expect("a file").contains("xtask = "));
}

/// The example has the columns that the program has.
#[test]
fn the_example_has_our_columns() {
    let home = Home::new();
    let list = home.run(&["list", "--since", "all"]).stdout;
    let heads = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let text = readme();
    let shown = text.lines().find(|line| line.starts_with("ID ")).expect("an example");
    assert_eq!(heads(shown), heads(list.lines().next().expect("a head")));
}

/// Links of the README lead somewhere.
#[test]
fn links_lead_to_files() {
    let text = readme();
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    for target in targets.filter(|target| !target.contains("://")) {
        let path = format!("{}/../../{target}", env!("CARGO_MANIFEST_DIR"));
        assert!(fs::metadata(&path).is_ok(), "no {target}");
    }
}

/// The settings it names are understood.
#[test]
fn the_portable_way_can_be_asked_for() {
    assert!(readme().contains("`AGENTCTL_PORTABLE=1`"));
    let home = Home::new();
    let answer = home.ask(home.agentctl(&["list"]).env("AGENTCTL_PORTABLE", "1"));
    assert_eq!(answer.code, Some(0), "{answer:#?}");
}
