//! Files of ours, whole or not at all, and for their owner only.

use serde::Serialize;
use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

/// Makes a directory that only its owner may enter.
pub(crate) fn make_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Writes a file as a whole, and returns once it is on the disk.
pub(crate) fn whole(path: &Path, value: &impl Serialize) -> io::Result<()> {
    by(path, value, |draft| fs::rename(draft, path))
}

/// The same for a file that must not be there yet: of many who try, one succeeds.
pub(crate) fn fresh(path: &Path, value: &impl Serialize) -> io::Result<()> {
    by(path, value, |draft| {
        fs::hard_link(draft, path)?;
        fs::remove_file(draft)
    })
}

/// Removes a file, and returns once that is on the disk.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    settle(path)
}

fn by(
    path: &Path,
    value: &impl Serialize,
    place: impl Fn(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let text = serde_json::to_vec(value)?;
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    let written = draft_of(&draft, &text).and_then(|()| place(&draft));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
        return written;
    }
    settle(path)
}

fn settle(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(dir) => File::open(dir)?.sync_all(),
        None => Ok(()),
    }
}

fn draft_of(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text)?;
    file.sync_all()
}
