//! The project's own tasks, run as `cargo xtask TASK`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tasks talk to a person at a terminal"
)]

mod bench;
mod check;
mod counts;
mod demo;
mod failure;
mod generate;
mod prove;
mod setup;
mod test;
mod tool;

use failure::{Failure, Outcome};
use std::{env, path::PathBuf, process::ExitCode};

const USAGE: &str = "\
usage: cargo xtask TASK

  setup [--print-env]  install what the tests need, pinned, into a cache outside the repository;
                       with --print-env, print the variables that point to it, for `eval`
  gen                  write what is generated from the code: the JSON schemas in docs/schema
  check                sizes, rooms, licences, spelling, formatting, lints
  test [ARGS...]       setup, check, counts, then all tests; ARGS go to `cargo nextest run`
                       (with ARGS counts and doc tests are left out)
  counts [--write]     count instructions of the readers on captured trees under callgrind, and fail
                       where xtask/counts.json says less by more than 5 %, with the function that
                       grew; with --write, write the counts of now down
  prove [--full] [--part NAME]
                       the parts of docs/PROOF.md, or one of them: properties, parsers, security, kills,
                       situations, soak, chaos, fuzz, mutants. Without --full, what `test` runs too
                       (stand-ins, and one real agent for each victim of a kill); with it, all kills and
                       situations with all real agents (half an hour or more), ten minutes of soak and of
                       chaos, all mutants of core (hours; AGENTCTL_MUTANTS_FILES names some files,
                       AGENTCTL_MUTANTS_LONGEST leaves out tests of more seconds,
                       AGENTCTL_MUTANTS_JOBS tries more at a time), each with a dated page in docs/proof,
                       and libFuzzer for AGENTCTL_FUZZ_SECONDS (180) on each target
  demo                 real agents in a home of their own, and what agentctl says of them;
                       ends with a shell in that home if there is a terminal
  bench [--sessions N] [--live N] [--size GB] [--keep DIR] [--quick] [--page] [--homes] [--hold] [--order] [--program FILE]
                       time the release binary on a generated home of N sessions of all agents
                       (10,000; 1,000 with --quick), 5 of them live, against yardsticks; DIR is used
                       in place of the cache. With --page what was found goes into
                       docs/PERFORMANCE.md; with --homes the homes are only made, with --hold the
                       live sessions are started too, until the input ends, with --order it is
                       written down for the linker which functions quick questions run; with
                       --program that file is measured, and nothing is built

The cache is $AGENTCTL_TEST_CACHE, else $XDG_CACHE_HOME/agentctl-tests, else ~/.cache/agentctl-tests.";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    match dispatch(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn dispatch(words: &[String]) -> Outcome<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["setup"] => setup::run(&root()).map(|_| ()),
        ["setup", "--print-env"] => setup::run(&root()).map(|ready| print!("{}", ready.exports())),
        ["check"] => check::run(&root()),
        ["gen"] => generate::write(&root()),
        ["test", passed_on @ ..] => test::run(&root(), passed_on),
        ["prove"] => prove::run(&root(), false, None),
        ["prove", "--full"] => prove::run(&root(), true, None),
        ["prove", "--part", name] => prove::run(&root(), false, Some(name)),
        ["prove", "--full", "--part", name] => prove::run(&root(), true, Some(name)),
        ["demo"] => demo::run(&root()),
        ["counts"] => counts::compared(&root()),
        ["counts", "--write"] => counts::written(&root()),
        ["bench", words @ ..] => bench::run(&root(), words),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        [] => Err(Failure::usage(format!("no task given\n\n{USAGE}"))),
        unknown => Err(Failure::usage(format!("no such task: `{}`\n\n{USAGE}", unknown.join(" ")))),
    }
}

/// The repository: cargo says at run time where this package is, so that one build serves a moved
/// checkout.
fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map_or_else(|| package.clone(), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::dispatch;

    fn exit_code(words: &[&str]) -> u8 {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        dispatch(&words).map_or_else(|failure| failure.exit_code(), |()| 0)
    }

    #[test]
    fn unknown_words_are_usage_errors() {
        assert_eq!(exit_code(&[]), 2);
        assert_eq!(exit_code(&["frobnicate"]), 2);
        assert_eq!(exit_code(&["setup", "--frobnicate"]), 2);
        assert_eq!(exit_code(&["check", "more"]), 2);
        assert_eq!(exit_code(&["prove", "--more"]), 2);
    }

    #[test]
    fn help_is_no_error() {
        assert_eq!(exit_code(&["--help"]), 0);
    }
}
