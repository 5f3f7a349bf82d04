//! The parts, what each proves, and how it is run.

use super::{chaos, fuzz, kills, mutants, named, situations, soak};
use crate::{
    failure::{Failure, Outcome},
    setup, tool,
};
use std::{fs, path::Path, time::Instant};

/// One part of the proof.
struct Part {
    name: &'static str,
    what: &'static str,
    how: How,
}

/// How a part is run.
enum How {
    /// Tests that this filter of nextest selects.
    Tests(&'static str),
    /// Tests that this page names.
    Named(&'static str),
    /// The kill matrix.
    Kills,
    /// Situations, in worlds of their own.
    Situations,
    /// What is told while daemons are killed: of stand-ins, or of real agents for ten minutes.
    Soak,
    /// Random steps with the truth after each: a few sequences, or ten minutes of them.
    Chaos,
    /// libFuzzer; only when all is run.
    Fuzz,
    /// cargo-mutants; likewise.
    Mutants,
}

const PARTS: &[Part] = &[
    Part {
        name: "properties",
        what: "for any evidence, bytes, ids, locks and histories",
        how: How::Tests("binary(core) and package(agentctl-core)"),
    },
    Part {
        name: "parsers",
        what: "a corpus and mutations for every parser of foreign bytes",
        how: How::Tests("test(/(^|::)hostile::/) - test(bad_input::)"),
    },
    Part {
        name: "security",
        what: "every test that docs/SECURITY.md names",
        how: How::Named("docs/SECURITY.md"),
    },
    Part { name: "kills", what: "whoever is killed, at whichever step", how: How::Kills },
    Part {
        name: "situations",
        what: "real processes in namespaces of their own, against the kernel",
        how: How::Situations,
    },
    Part { name: "soak", what: "what is told while daemons are killed", how: How::Soak },
    Part { name: "chaos", what: "random launches, kills and faults", how: How::Chaos },
    Part { name: "fuzz", what: "libFuzzer on the parsers of core (--full)", how: How::Fuzz },
    Part {
        name: "mutants",
        what: "the tests of core notice a change of any rule (--full)",
        how: How::Mutants,
    },
];

/// Runs the part of this name, or all; the long ones as far as they go only if `full`.
pub(crate) fn run(root: &Path, full: bool, only: Option<&str>) -> Outcome<()> {
    let wanted: Vec<&Part> =
        PARTS.iter().filter(|part| only.is_none_or(|name| name == part.name)).collect();
    if wanted.is_empty() {
        let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        return Err(Failure::usage(format!("no such part; there are {}", names.join(", "))));
    }
    let mut failed = Vec::new();
    for part in wanted {
        println!("{}: {}", part.name, part.what);
        let began = Instant::now();
        let outcome = match part.how {
            How::Tests(filter) => tests(root, filter),
            How::Named(page) => page_tests(root, page),
            How::Kills => kills::run(root, full),
            How::Situations => situations::run(root, full),
            How::Soak if full => soak::run(root),
            How::Soak => tests(root, "test(soak_of_stand_ins)"),
            How::Chaos if full => chaos::run(root),
            How::Chaos => tests(root, "test(chaos_of_a_few) + test(chaos_that_was_found)"),
            How::Fuzz if full => fuzz::run(root),
            How::Mutants if full => mutants::run(root),
            How::Fuzz | How::Mutants => {
                println!("left out: run with --full");
                continue;
            }
        };
        let took = began.elapsed().as_secs();
        match outcome {
            Ok(()) => println!("{}: holds ({took} s)\n", part.name),
            Err(why) => {
                println!("{}: FAILED ({took} s): {why}\n", part.name);
                failed.push(part.name);
            }
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(format!("not proved: {}", failed.join(", ")))),
    }
}

fn page_tests(root: &Path, page: &str) -> Outcome<()> {
    let path = root.join(page);
    let text = fs::read_to_string(&path).map_err(|why| Failure::io("read", &path, &why))?;
    tests(root, &named::filter(&text))
}

fn tests(root: &Path, filter: &str) -> Outcome<()> {
    let ready = setup::run(root)?;
    let mut nextest = tool::cargo();
    nextest.args(["nextest", "run", "--workspace", "--locked", "--no-fail-fast", "-E", filter]);
    match tool::shown(nextest.envs(ready.environment()).current_dir(root))? {
        true => Ok(()),
        false => Err(Failure::new("some tests fail")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_not_there_is_a_usage_error() {
        let failure = run(Path::new("/"), false, Some("nothing")).expect_err("no such part");
        assert_eq!(failure.exit_code(), 2);
    }

    #[test]
    fn every_part_is_on_the_page() {
        let page = include_str!("../../../docs/PROOF.md");
        for part in PARTS {
            assert!(page.contains(&format!("--part {}`", part.name)), "{}", part.name);
        }
    }
}
