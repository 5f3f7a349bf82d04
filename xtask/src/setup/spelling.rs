//! The spelling checker: a pinned wheel, unpacked into the cache.

use super::{
    cache::{Cache, Recipe, digest},
    ready::bad_pin,
    system,
};
use crate::{
    failure::{Failure, Outcome},
    tool,
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The path of the `typos` program, installed first if it is missing.
pub(crate) fn typos(root: &Path) -> Outcome<PathBuf> {
    let pins = root.join("xtask/requirements.txt");
    let text = fs::read_to_string(&pins).map_err(|why| Failure::io("read", &pins, &why))?;
    let version = version(&text).ok_or_else(|| bad_pin(&pins, "no line `typos==VERSION`"))?;
    let cache = Cache::of_this_user()?;
    system::ensure(&cache, system::FOR_SPELLING)?;
    let home = cache.ensure(&Recipe {
        name: format!("typos-{version}-{}", digest(text.as_bytes())),
        is_sound: &|dir| is_version(&dir.join("bin/typos"), version),
        fill: &|dir| fill(dir, &pins),
    })?;
    Ok(home.join("bin/typos"))
}

fn fill(dir: &Path, pins: &Path) -> Outcome<()> {
    let pip = ["install", "--quiet", "--no-input", "--disable-pip-version-check"];
    let exact = ["--no-deps", "--only-binary=:all:", "--require-hashes", "--requirement"];
    let mut install = Command::new("pip3");
    install.args(pip).args(exact).arg(pins).arg("--target").arg(dir);
    tool::captured(&mut install).map(|_| ())
}

fn is_version(program: &Path, version: &str) -> Outcome<()> {
    let answer = tool::captured(Command::new(program).arg("--version"))?;
    if answer.split_whitespace().any(|word| word == version) {
        Ok(())
    } else {
        Err(Failure::new(format!("typos is to be {version} but says `{}`", answer.trim())))
    }
}

fn version(pins: &str) -> Option<&str> {
    pins.lines().find_map(|line| line.strip_prefix("typos=="))?.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn the_pin_is_read_from_the_requirements() {
        assert_eq!(version("# a\ntypos==1.51.1 \\\n    --hash=sha256:00\n"), Some("1.51.1"));
        assert_eq!(version("ruff==1.0\n"), None);
    }
}
