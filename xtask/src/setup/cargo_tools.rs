//! Tools that come as crates: the test runner, and what the bench compares with.

use super::cache::{Cache, Recipe};
use crate::{
    failure::{Failure, Outcome},
    tool,
};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// The nextest installed where there is none; `.config/nextest.toml` says which older ones do.
const NEXTEST: &str = "0.9.143";
/// A yardstick stays the same.
const RIPGREP: &str = "15.1.0";

/// Sees to it that `cargo nextest` works; returns the directory to put on the search path, if the
/// machine has none of its own.
pub(super) fn nextest(cache: &Cache) -> Outcome<Option<PathBuf>> {
    if tool::captured(tool::cargo().args(["nextest", "--version"])).is_ok() {
        return Ok(None);
    }
    let home = cache.ensure(&Recipe {
        name: format!("nextest-{NEXTEST}"),
        is_sound: &|dir| {
            let mut asked = Command::new(dir.join("bin/cargo-nextest"));
            is_version(asked.args(["nextest", "--version"]), NEXTEST)
        },
        fill: &|dir| install(dir, "cargo-nextest", NEXTEST),
    })?;
    Ok(Some(home.join("bin")))
}

/// The `rg` that the bench compares with, installed if it is missing; no test needs it.
pub(crate) fn ripgrep() -> Outcome<PathBuf> {
    let home = Cache::of_this_user()?.ensure(&Recipe {
        name: format!("ripgrep-{RIPGREP}"),
        is_sound: &|dir| is_version(Command::new(dir.join("bin/rg")).arg("--version"), RIPGREP),
        fill: &|dir| install(dir, "ripgrep", RIPGREP),
    })?;
    Ok(home.join("bin/rg"))
}

fn install(dir: &Path, package: &str, version: &str) -> Outcome<()> {
    let pinned = ["install", package, "--version", version, "--locked", "--quiet", "--root"];
    tool::captured(tool::cargo().args(pinned).arg(dir)).map(|_| ())
}

fn is_version(asked: &mut Command, version: &str) -> Outcome<()> {
    let answer = tool::captured(asked)?;
    if answer.split_whitespace().any(|word| word == version) {
        Ok(())
    } else {
        Err(Failure::new(format!("{version} is wanted, and it says `{}`", answer.trim())))
    }
}
