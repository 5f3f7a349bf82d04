//! Tools that come as crates: the test runner.

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

/// Sees to it that `cargo nextest` works; returns the directory to put on the search path, if the
/// machine has none of its own.
pub(super) fn nextest(cache: &Cache) -> Outcome<Option<PathBuf>> {
    if tool::captured(tool::cargo().args(["nextest", "--version"])).is_ok() {
        return Ok(None);
    }
    let home = cache.ensure(&Recipe {
        name: format!("nextest-{NEXTEST}"),
        is_sound: &is_nextest,
        fill: &|dir| {
            let pinned = ["install", "cargo-nextest", "--version", NEXTEST, "--locked", "--quiet"];
            tool::captured(tool::cargo().args(pinned).arg("--root").arg(dir)).map(|_| ())
        },
    })?;
    Ok(Some(home.join("bin")))
}

fn is_nextest(dir: &Path) -> Outcome<()> {
    let program = dir.join("bin/cargo-nextest");
    let answer = tool::captured(Command::new(program).args(["nextest", "--version"]))?;
    if answer.split_whitespace().any(|word| word == NEXTEST) {
        Ok(())
    } else {
        Err(Failure::new(format!("nextest is to be {NEXTEST} but says `{}`", answer.trim())))
    }
}
