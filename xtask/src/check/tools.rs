//! Checks that other programs make; each says itself what it found and where.

use super::{report::Verdict, tree::Tree};
use crate::{failure::Outcome, setup, tool};
use std::process::Command;

/// Spelling, by typos with `_typos.toml`.
pub(crate) fn spelling(tree: &Tree) -> Outcome<Verdict> {
    let typos = setup::typos(&tree.root)?;
    verdict(Command::new(typos).args(["--format", "brief"]).current_dir(&tree.root))
}

/// Formatting, by rustfmt.
pub(crate) fn format(tree: &Tree) -> Outcome<Verdict> {
    verdict(tool::cargo().args(["fmt", "--all", "--check"]).current_dir(&tree.root))
}

/// Lints, by clippy, with every warning an error.
pub(crate) fn lints(tree: &Tree) -> Outcome<Verdict> {
    let words = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
    verdict(tool::cargo().args(words).current_dir(&tree.root))
}

fn verdict(command: &mut Command) -> Outcome<Verdict> {
    Ok(if tool::shown(command)? { Verdict::Found(Vec::new()) } else { Verdict::Told })
}
