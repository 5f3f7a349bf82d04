//! The file system as it is.

use agentctl_core::host::{Bytes, Entry, Files, Kind, Stat};
use jiff::Timestamp;
use rustix::fs::OFlags;
use std::{
    fs::{self, File, FileType, Metadata, OpenOptions},
    io,
    os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// This machine's file system, asked anew each time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Disk;

impl Files for Disk {
    fn entries(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            // Costs a call only where the file system leaves the type out of its directories.
            match entry.file_type() {
                Ok(kind) => entries.push(Entry { name, kind: kind_of(kind) }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(entries)
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        fs::metadata(path).map(|found| stat_of(&found))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Bytes>> {
        // Looked at before and after: even an open that does not block would wake the writer of a
        // FIFO, and what the path leads to may change in between.
        regular(&fs::metadata(path)?)?;
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let found = file.metadata()?;
        regular(&found)?;
        Ok(Box::new(Opened { file, size: found.len() }))
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
    }
}

struct Opened {
    file: File,
    size: u64,
}

impl Bytes for Opened {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            match self.file.read_at(&mut buf[done..], at + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }
}

fn regular(found: &Metadata) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    let what = match found.file_type() {
        kind if kind.is_dir() => "a directory",
        kind if kind.is_fifo() => "a fifo",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("is {what}, not a regular file")))
}

fn stat_of(found: &Metadata) -> Stat {
    // A time beyond the year 9999 is a broken one; the epoch makes it old instead of unreadable.
    let moment = |seconds: i64, nanos: i64| {
        let nanos = i32::try_from(nanos).unwrap_or_default();
        Timestamp::new(seconds, nanos).unwrap_or(Timestamp::UNIX_EPOCH)
    };
    Stat {
        kind: kind_of(found.file_type()),
        modified: moment(found.mtime(), found.mtime_nsec()),
        touched: moment(found.ctime(), found.ctime_nsec()),
        identity: (found.dev(), found.ino()),
        size: found.len(),
    }
}

fn kind_of(kind: FileType) -> Kind {
    match kind {
        kind if kind.is_file() => Kind::File,
        kind if kind.is_dir() => Kind::Dir,
        kind if kind.is_symlink() => Kind::Link,
        _ => Kind::Other,
    }
}
