//! Files of ours, whole or not at all, and for their owner only.

use crate::read::LONGEST;
use rustix::{fs::OFlags, process::geteuid};
use serde::Serialize;
use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// What files end with that are not yet, or never became, what they are for.
pub(crate) const DRAFT: &str = "draft";

/// Makes a directory that only its owner may enter. One that is there must be ours: in another user's he
/// could put links, and files that we then take for our own.
pub(crate) fn make_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let (stat, own) = (fs::metadata(dir)?, geteuid());
    if stat.uid() != own.as_raw() && !own.is_root() {
        return Err(io::Error::other("it belongs to another user"));
    }
    if stat.uid() == own.as_raw() && stat.mode() & 0o022 != 0 {
        fs::set_permissions(dir, Permissions::from_mode(stat.mode() & 0o7755))?;
    }
    Ok(())
}

/// Opens a file to add to it, and makes it if it is not there. No link is followed.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    ours(OpenOptions::new().append(true), path)
}

/// Opens a file to lock it, and makes it if it is not there; likewise.
pub(crate) fn lockable(path: &Path) -> io::Result<File> {
    ours(OpenOptions::new().read(true).write(true), path)
}

fn ours(open: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NOFOLLOW.bits()).expect("flags are small");
    open.create(true).mode(0o600).custom_flags(flags).open(path)
}

/// Writes a file as a whole, and returns once it is on the disk.
pub(crate) fn whole(path: &Path, value: &impl Serialize) -> io::Result<()> {
    within(path, value, LONGEST)
}

/// The same for one that may be longer; where it is longer still, the kind of the error is `FileTooLarge`.
pub(crate) fn within(path: &Path, value: &impl Serialize, longest: u64) -> io::Result<()> {
    by((path, longest), value, |draft| fs::rename(draft, path))
}

/// The same for a file that must not be there yet: of many who try, one succeeds.
pub(crate) fn fresh(path: &Path, value: &impl Serialize) -> io::Result<()> {
    by((path, LONGEST), value, |draft| {
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
    (path, longest): (&Path, u64),
    value: &impl Serialize,
    place: impl Fn(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let text = serde_json::to_vec(value)?;
    // What nobody could read is as good as not written, and passes for written.
    if text.len() as u64 > longest {
        let what = format!("it would be longer than {} KiB: use shorter words", longest >> 10);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    let (draft, mut file) = draft_of(path)?;
    let written = file.write_all(&text).and_then(|()| file.sync_all());
    let written = written.and_then(|()| place(&draft));
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

/// A new file beside that one. A process that was killed may have left one, and pids come back: that
/// one is passed over, not told as a file that is there already.
fn draft_of(path: &Path) -> io::Result<(PathBuf, File)> {
    const TRIES: u32 = 1000;
    for number in 0..TRIES {
        let draft = path.with_extension(format!("{}-{number}.{DRAFT}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft) {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
            made => return Ok((draft, made?)),
        }
    }
    Err(io::Error::other("too many drafts lie there"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_could_read_is_not_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file.json");
        let most = "x".repeat(usize::try_from(LONGEST).expect("a size") - "\"\"".len());
        whole(&path, &most).expect("it fits");
        assert_eq!(crate::read::whole::<String>(&path).expect("it can be read"), most);
        assert!(whole(&path, &format!("{most}x")).is_err());
        assert!(fresh(&folder.path().join("other.json"), &format!("{most}x")).is_err());
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn a_draft_of_a_killed_namesake_is_in_nobody_s_way() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file.json");
        let left = path.with_extension(format!("{}-0.{DRAFT}", std::process::id()));
        fs::write(&left, "half").expect("a file");
        fresh(&path, &1).expect("it is not there yet");
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), Some("1"));
        let again = fresh(&path, &2).expect_err("it is there");
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        whole(&path, &3).expect("it may be there");
        let mut names: Vec<PathBuf> = fs::read_dir(folder.path())
            .expect("a folder")
            .flatten()
            .map(|one| one.path())
            .collect();
        names.sort();
        assert_eq!(names, [left, path]);
    }
}
