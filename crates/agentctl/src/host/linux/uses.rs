//! How one process uses a directory: by working there, by its program, by files it has open or mapped.

use super::process::{Door, path_of};
use agentctl_core::host::{Told, Use};
use rustix::{
    fs::{
        AtFlags, CWD, Mode, OFlags, ResolveFlags, fstat, openat, openat2, readlinkat, stat, statat,
    },
    io::Errno,
};
use std::{
    ffi::CString,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// Nobody works deeper.
const DEPTH: usize = 256;

impl Door {
    /// The first use that is found of a directory without links.
    pub(super) fn uses(&self, dir: &Path) -> Told<Option<Use>> {
        let place = Place::of(self, dir);
        let cwd = self.link("cwd")?;
        if cwd.starts_with(dir) || place.above(self, "cwd") {
            return Ok(Some(Use::Works(cwd)));
        }
        if let Some(root) = self.link("root").ok()
            && (root.starts_with(dir) || place.above(self, "root"))
        {
            return Ok(Some(Use::Rooted(root)));
        }
        if let Some(exe) = self.link("exe").ok().filter(|exe| place.holds(self, exe)) {
            return Ok(Some(Use::Runs(exe)));
        }
        let files = self.open_files()?;
        if let Some(file) = files.into_iter().find(|file| place.holds(self, &file.path)) {
            return Ok(Some(Use::Opened(file.path)));
        }
        let maps = self.ask(self.bytes(c"maps"))?;
        let mut mapped: Vec<PathBuf> = maps.split(|byte| *byte == b'\n').filter_map(file).collect();
        mapped.dedup();
        Ok(mapped.into_iter().find(|path| place.holds(self, path)).map(Use::Mapped))
    }

    /// What a path of its own leads to, where it sees other mounts than we do.
    pub(super) fn sees(&self, path: &Path) -> Told<Option<(u64, u64)>> {
        if sees_ours(self) {
            return Ok(None);
        }
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let root = openat(&self.dir, c"root", flags | OFlags::DIRECTORY, Mode::empty());
        let found = root.and_then(|root| {
            openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT).and_then(fstat)
        });
        self.ask(found).map(|found| Some((found.st_dev, found.st_ino)))
    }
}

/// It lives in our namespace of mounts, which stays the same as long as we live.
fn sees_ours(door: &Door) -> bool {
    static OURS: OnceLock<Option<CString>> = OnceLock::new();
    let theirs = readlinkat(&door.dir, "ns/mnt", Vec::new()).ok();
    theirs == *OURS.get_or_init(|| readlinkat(CWD, "/proc/self/ns/mnt", Vec::new()).ok())
}

/// A directory, for a process that may see it under another name.
struct Place<'a> {
    dir: &'a Path,
    /// Its device and number, where the process lives in a mount namespace of its own: paths mean
    /// something else there.
    identity: Option<(u64, u64)>,
}

impl<'a> Place<'a> {
    fn of(door: &Door, dir: &'a Path) -> Self {
        let identity = || stat(dir).ok().map(|found| (found.st_dev, found.st_ino));
        Self { dir, identity: if sees_ours(door) { None } else { identity() } }
    }

    /// A file of that process lies in the directory or below it.
    fn holds(&self, door: &Door, path: &Path) -> bool {
        if path.starts_with(self.dir) {
            return true;
        }
        let Some(folder) = path.parent().filter(|_| self.identity.is_some()) else { return false };
        let mut there = PathBuf::from("root");
        there.push(folder.strip_prefix("/").unwrap_or(folder));
        self.above(door, &there)
    }

    /// The directory, or one above it, is the one that is meant.
    fn above(&self, door: &Door, start: impl AsRef<Path>) -> bool {
        let Some(identity) = self.identity else { return false };
        let mut path = start.as_ref().to_owned();
        let mut below = None;
        for _ in 0..DEPTH {
            let found: Result<_, Errno> = statat(&door.dir, &path, AtFlags::empty());
            let Some(found) = found.ok().map(|found| (found.st_dev, found.st_ino)) else {
                return false;
            };
            if found == identity {
                return true;
            }
            if below.replace(found) == Some(found) {
                return false; // its root is above itself
            }
            path.push("..");
        }
        false
    }
}

/// The file of a line of `maps`: behind five fields.
fn file(line: &[u8]) -> Option<PathBuf> {
    let at = line.iter().position(|byte| *byte == b'/')?;
    let path = path_of(line.get(at..)?.to_vec())?;
    (!path.as_os_str().as_bytes().starts_with(b"/memfd:")).then_some(path)
}
