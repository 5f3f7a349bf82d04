//! Who may do what to us, and what we give away. `docs/SECURITY.md` names the test of each threat.

mod bombs;
mod links;
mod modes;
mod ours;
mod paths;
mod ports;
mod secrets;
mod started;

use crate::home::Home;
use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// Whether there can be another user. CI runs as root: there, not to try is to fail.
pub(crate) fn is_root(home: &Home) -> bool {
    not_tried(home.user().is_none(), "only root can be somebody else");
    home.user().is_some()
}

/// Says that something was not tried, for want of what it takes; CI has all it takes.
#[expect(clippy::print_stderr, reason = "who runs the tests is to know")]
fn not_tried(lacks: bool, why: &str) {
    if lacks {
        assert!(env::var_os("CI").is_none(), "not tried, and CI has to: {why}");
        eprintln!("not tried: {why}");
    }
}

/// Everything below a folder, itself included, sorted; no link is followed.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let mut next = 0;
    while let Some(path) = found.get(next).cloned() {
        if path.symlink_metadata().is_ok_and(|stat| stat.is_dir()) {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            found.extend(entries.map(|entry| entry.path()));
        }
        next += 1;
    }
    found.sort();
    found
}
