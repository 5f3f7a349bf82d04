//! The commands that prompts and status bars run all day, read without building the whole program's words.
//!
//! What is not plain (a mistake, a call for help) is left to the whole parser, which alone answers people:
//! what is understood here, it understands alike.

use super::args::{Cli, Command, List, One, PEEKED, PORTABLE, Peek};
use clap::{Args, Parser, builder::BoolishValueParser};
use std::{env, ffi::OsString};

/// One command, as the whole program would read it.
#[derive(Parser)]
#[command(name = "agentctl", disable_help_flag = true)]
struct Alone<A: Args> {
    #[command(flatten)]
    args: A,
    #[arg(long, env = PORTABLE, value_parser = BoolishValueParser::new())]
    portable: bool,
}

/// These words ask for nothing but the version.
pub(super) fn is_version(words: &[OsString]) -> bool {
    matches!(words, [_, word] if word == "--version" || word == "-V")
}

/// What these words mean, if that is plain from the first on.
pub(super) fn parse(words: &[OsString]) -> Option<Cli> {
    let rest = words.get(1..)?;
    if let Some(command) = bare(rest) {
        return Some(Cli { command, portable: false });
    }
    match rest.first().and_then(|word| word.to_str())? {
        "list" | "ls" | "ps" => alone(rest, Command::List),
        "status" | "show" => alone(rest, Command::Status),
        "explain" => alone(rest, Command::Explain),
        "peek" => alone(rest, Command::Peek),
        _ => None,
    }
}

/// The barest of all: to read these few words by rules takes as long as to read a live session.
fn bare(words: &[OsString]) -> Option<Command> {
    if env::var_os(PORTABLE).is_some() {
        return None;
    }
    let words: Vec<&str> = words.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    let (words, json) = match words.as_slice() {
        [words @ .., "--json"] => (words, true),
        words => (words, false),
    };
    let one = |id: &str| One { id: id.to_owned(), json };
    match *words {
        ["list" | "ls" | "ps"] => Some(Command::List(List { json, ..List::default() })),
        [_, id] if id.starts_with('-') || id.is_empty() => None,
        ["status" | "show", id] => Some(Command::Status(one(id))),
        ["explain", id] => Some(Command::Explain(one(id))),
        ["peek", id] => Some(Command::Peek(Peek { one: one(id), lines: PEEKED, full: false })),
        _ => None,
    }
}

fn alone<A: Args>(words: &[OsString], command: impl Fn(A) -> Command) -> Option<Cli> {
    let Alone { args, portable } = Alone::<A>::try_parse_from(words).ok()?;
    Some(Cli { command: command(args), portable })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn what_is_understood_here_the_whole_parser_understands_alike() {
        for line in [
            "agentctl list",
            "agentctl ps --json",
            "agentctl show 8f25 --json",
            "agentctl explain list",
            "agentctl ls -a --since all --json --portable",
            "agentctl ps --agent claude --state working,idle --status error -n 3 --sort cwd -w",
            "agentctl list --cwd . --cwd /tmp --group a --stalled --usage --timeout -1s",
            "agentctl list --timeout none --limit=7",
            "agentctl status 8f25",
            "agentctl show --json -- -x",
            "agentctl explain pid:7 --json",
            "agentctl peek 8f25",
            "agentctl peek 8f25 --json",
            "agentctl peek -n 4 --full 8f25@/tmp",
        ] {
            let whole = Cli::try_parse_from(words(line)).ok().map(|cli| format!("{cli:?}"));
            let quick = parse(&words(line)).map(|cli| format!("{cli:?}"));
            assert_eq!(quick, whole, "{line}");
        }
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_whole_parser() {
        for line in [
            "agentctl",
            "agentctl --portable list",
            "agentctl list --help",
            "agentctl list -h",
            "agentctl list --version",
            "agentctl list more",
            "agentctl list --agent nobody",
            "agentctl status",
            "agentctl wait 8f25",
            "agentctl -V -V",
        ] {
            assert!(parse(&words(line)).is_none(), "{line}");
        }
        assert!(is_version(&words("agentctl -V")) && is_version(&words("agentctl --version")));
        assert!(!is_version(&words("agentctl -V list")));
    }
}
