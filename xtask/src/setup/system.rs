//! Commands of the operating system, as Debian's packages.

use super::cache::{Cache, step};
use crate::{
    failure::{Failure, Outcome},
    tool,
};
use std::process::Command;

/// A command that must be there, and the Debian package that brings it.
pub(super) struct Need {
    command: &'static str,
    package: &'static str,
}

/// What tests and the rest of setup start.
pub(super) const FOR_TESTS: &[Need] = &[
    Need { command: "git", package: "git" },
    Need { command: "tmux", package: "tmux" },
    Need { command: "screen", package: "screen" },
    Need { command: "setsid", package: "util-linux" },
    Need { command: "setpriv", package: "util-linux" },
    Need { command: "unshare", package: "util-linux" },
    Need { command: "flock", package: "util-linux" },
    Need { command: "mount", package: "mount" },
    Need { command: "perl", package: "perl-base" },
    Need { command: "script", package: "bsdutils" },
    Need { command: "strace", package: "strace" },
    Need { command: "ps", package: "procps" },
    Need { command: "zsh", package: "zsh" },
    Need { command: "fish", package: "fish" },
    Need { command: "prometheus", package: "prometheus" },
    Need { command: "groff", package: "groff-base" },
    Need { command: "node", package: "nodejs" },
    Need { command: "npm", package: "npm" },
];

/// What counts instructions.
pub(super) const FOR_COUNTS: &[Need] = &[Need { command: "valgrind", package: "valgrind" }];

/// What the bench measures with.
pub(super) const FOR_BENCH: &[Need] = &[
    Need { command: "find", package: "findutils" },
    Need { command: "strace", package: "strace" },
    Need { command: "time", package: "time" },
];

/// What tells which code a program runs.
pub(super) const FOR_ORDER: &[Need] = &[Need { command: "qemu-x86_64", package: "qemu-user" }];

/// What installs the spelling checker.
pub(super) const FOR_SPELLING: &[Need] = &[Need { command: "pip3", package: "python3-pip" }];

/// Installs the packages of those commands that are missing.
pub(super) fn ensure(cache: &Cache, needs: &[Need]) -> Outcome<()> {
    if missing(needs).is_empty() {
        return Ok(());
    }
    // apt-get fails where another one is at work.
    let _turn = cache.turn()?;
    let packages = missing(needs);
    if !packages.is_empty() {
        install(&packages)?;
    }
    match missing(needs).join(" ") {
        none if none.is_empty() => Ok(()),
        still => Err(Failure::new(format!("commands are missing though installed: {still}"))),
    }
}

/// Sees to it that instructions can be counted.
pub(crate) fn valgrind() -> Outcome<()> {
    ensure(&Cache::of_this_user()?, FOR_COUNTS)
}

/// Sees to it that runs can be measured.
pub(crate) fn watchers() -> Outcome<()> {
    ensure(&Cache::of_this_user()?, FOR_BENCH)
}

/// Sees to it that what a program runs can be told.
pub(crate) fn emulator() -> Outcome<()> {
    ensure(&Cache::of_this_user()?, FOR_ORDER)
}

fn missing(needs: &[Need]) -> Vec<&'static str> {
    let mut packages: Vec<_> = needs
        .iter()
        .filter(|need| !tool::is_on_path(need.command))
        .map(|need| need.package)
        .collect();
    packages.dedup();
    packages
}

/// Installs packages with apt-get, or says what a person has to install.
fn install(packages: &[&str]) -> Outcome<()> {
    let named = packages.join(" ");
    if !tool::is_on_path("apt-get") {
        return Err(Failure::new(format!("install what these Debian packages bring: {named}")));
    }
    if tool::captured(Command::new("id").arg("-u"))?.trim() != "0" {
        return Err(Failure::new(format!(
            "packages are missing, and only root may install them: apt-get install {named}"
        )));
    }
    step(&format!("installing Debian packages: {named}"));
    tool::captured(apt().args(["update", "--quiet"]))?;
    tool::captured(apt().args(["install", "--yes", "--no-install-recommends"]).args(packages))?;
    Ok(())
}

fn apt() -> Command {
    let mut apt = Command::new("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    apt
}
