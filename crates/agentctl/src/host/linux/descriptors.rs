//! What one process has open.

use super::{
    locks,
    process::{Door, path_of},
};
use agentctl_core::host::{OpenFile, Told};
use rustix::{
    fd::BorrowedFd,
    fs::{AtFlags, readlinkat, statat},
    io::Errno,
};
use std::{ffi::CStr, path::Path};

/// A descriptor that leads to a path.
#[derive(Debug)]
pub(super) struct Descriptor {
    number: String,
    file: OpenFile,
}

impl Door {
    /// Open files that have a path.
    pub(super) fn open_files(&self) -> Told<Vec<OpenFile>> {
        Ok(self.descriptors()?.iter().map(|one| one.file.clone()).collect())
    }

    /// The same with their descriptors: looked through once, though each lock of an agent's is asked for.
    fn descriptors(&self) -> Told<&[Descriptor]> {
        if let Some(known) = self.descriptors.get() {
            return Ok(known);
        }
        let mut found = Vec::new();
        let walked = self.each_descriptor(|fds, name| {
            let target = readlinkat(fds, name, Vec::new())?.into_bytes();
            if target.starts_with(b"/memfd:") {
                return Ok(());
            }
            let Some(path) = path_of(target) else { return Ok(()) };
            // The link's own mode says how the file was opened.
            let link = statat(fds, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let file = OpenFile { path, writable: link.st_mode & 0o200 != 0 };
            found.push(Descriptor { number: name.to_string_lossy().into_owned(), file });
            Ok(())
        });
        self.ask(walked)?;
        // None is also what a main thread that has ended shows, until another one loads a program in its place.
        Ok(if found.is_empty() { &[] } else { self.descriptors.get_or_init(|| found) })
    }

    /// Inodes of its sockets.
    pub(super) fn sockets(&self) -> Told<Vec<u64>> {
        let mut sockets = Vec::new();
        let walked = self.each_descriptor(|fds, name| {
            let target = readlinkat(fds, name, Vec::new())?.into_string().unwrap_or_default();
            let inode = target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
            sockets.extend(inode.and_then(|inode| inode.parse::<u64>().ok()));
            Ok(())
        });
        self.ask(walked)?;
        Ok(sockets)
    }

    /// Some descriptor leads to this device and inode.
    pub(super) fn has_open(&self, device: u64, inode: u64) -> Told<bool> {
        let mut found = false;
        let walked = self.each_descriptor(|fds, name| {
            let file = statat(fds, name, AtFlags::empty())?;
            found |= (file.st_dev, file.st_ino) == (device, inode);
            Ok(())
        });
        self.ask(walked)?;
        Ok(found)
    }

    /// It has this open, under whatever name, and it alone has locked that.
    pub(super) fn has_locked(&self, path: &Path, file: (u64, u64)) -> Told<bool> {
        let (named, others): (Vec<_>, Vec<_>) =
            self.descriptors()?.iter().partition(|one| one.file.path == path);
        for one in named.into_iter().chain(others) {
            match self.is_lock_of(&one.number, file) {
                Ok(true) => return Ok(true),
                Ok(false) | Err(Errno::NOENT | Errno::SRCH) => {} // closed or ended since
                Err(why) => return self.ask(Err(why)),
            }
        }
        self.ask(Ok(false))
    }

    /// This descriptor leads to that file, which the process alone has locked through it.
    fn is_lock_of(&self, number: &str, file: (u64, u64)) -> Result<bool, Errno> {
        let below = |dir: &str| format!("{dir}/{number}");
        let seen = statat(&self.dir, below("fd"), AtFlags::empty())?;
        if (seen.st_dev, seen.st_ino) != file {
            return Ok(false);
        }
        Ok(locks::is_alone(&self.piece(below("fdinfo"))?, self.of.pid))
    }

    fn each_descriptor(
        &self,
        see: impl FnMut(BorrowedFd<'_>, &CStr) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        self.each(c"fd", see)
    }
}
