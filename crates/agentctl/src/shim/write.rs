//! Files of ours, whole or not at all.

use crate::host::STOPS;
use agentctl_core::receipt::Stopped;
use serde::Serialize;
use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// Makes a directory that only its owner may enter.
pub(crate) fn make_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Writes a file as a whole, and returns once it is on the disk.
pub(crate) fn whole(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(value)?;
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    let written = draft_of(&draft, &text).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
        return written;
    }
    match path.parent() {
        Some(dir) => File::open(dir)?.sync_all(),
        None => Ok(()),
    }
}

/// Writes down that a process is stopped on purpose, and where.
pub(crate) fn stopped(state: &Path, stop: &Stopped) -> io::Result<PathBuf> {
    let dir = state.join(STOPS);
    make_dir(&dir)?;
    let path = dir.join(format!("{}-{}.json", stop.process.pid, stop.process.start));
    whole(&path, stop).map(|()| path)
}

fn draft_of(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text)?;
    file.sync_all()
}
