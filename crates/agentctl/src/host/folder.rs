//! The names in a directory, with as few questions as the operating system allows.

use rustix::{
    fd::{BorrowedFd, OwnedFd},
    fs::{CWD, FileType, Mode, OFlags, openat},
};
use std::{ffi::CStr, io, path::Path};

/// What is done with each name; the directory is open meanwhile.
pub(super) type See<'a> = dyn FnMut(BorrowedFd<'_>, &CStr, FileType) -> io::Result<()> + 'a;

/// Sees every name, in no order, but not the directory itself and the one above.
pub(super) fn each(dir: &Path, see: &mut See<'_>) -> io::Result<()> {
    each_in(open(dir)?, see)
}

/// A directory, to be asked about.
pub(super) fn open(dir: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(openat(CWD, dir, flags, Mode::empty())?)
}

/// The same as [`each`] of one that is open.
pub(super) fn each_in(dir: OwnedFd, see: &mut See<'_>) -> io::Result<()> {
    walk(dir, &mut |at, name, kind| match name.to_bytes() {
        b"." | b".." => Ok(()),
        _ => see(at, name, kind),
    })
}

#[cfg(target_os = "linux")]
use whole as walk;

#[cfg(not(target_os = "linux"))]
use by_parts as walk;

/// Most directories are told in one piece.
#[cfg(target_os = "linux")]
fn whole(dir: OwnedFd, see: &mut See<'_>) -> io::Result<()> {
    use rustix::fd::AsFd;
    const ROOM: usize = 32 << 10;
    let mut room: Vec<u8> = Vec::with_capacity(ROOM);
    let mut names = rustix::fs::RawDir::new(&dir, room.spare_capacity_mut());
    while let Some(name) = names.next() {
        let name = name?;
        see(dir.as_fd(), name.file_name(), name.file_type())?;
    }
    Ok(())
}

/// The same on every operating system, in pieces that begin small.
#[cfg(any(test, not(target_os = "linux")))]
fn by_parts(dir: OwnedFd, see: &mut See<'_>) -> io::Result<()> {
    let mut names = rustix::fs::Dir::new(dir)?;
    while let Some(name) = names.read() {
        let name = name?;
        see(names.fd()?, name.file_name(), name.file_type())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn both_ways_of_walking_see_every_name() {
        let folder = tempfile::tempdir().expect("a directory");
        for number in 0..3000 {
            std::fs::write(folder.path().join(format!("{number:0>40}")), "").expect("a file");
        }
        std::fs::create_dir(folder.path().join("below")).expect("a directory");
        let names = |walk: fn(OwnedFd, &mut See<'_>) -> io::Result<()>| {
            let dir = std::fs::File::open(folder.path()).expect("a directory");
            let mut names = BTreeSet::new();
            let seen = walk(dir.into(), &mut |at, name, kind| {
                let there = rustix::fs::statat(at, name, rustix::fs::AtFlags::empty())?;
                assert!(kind == FileType::from_raw_mode(there.st_mode));
                assert!(names.insert(name.to_owned()));
                Ok(())
            });
            seen.map(|()| names).expect("names")
        };
        assert_eq!(names(walk).len(), 3003);
        assert_eq!(names(walk), names(by_parts));
    }
}
