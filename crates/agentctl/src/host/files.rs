//! The file system as it is.

use super::folder;
use agentctl_core::{
    host::{Bytes, Entry, Files, Inside, Kind, Opening, Stat},
    lines::ALIGNED,
};
use jiff::Timestamp;
use rustix::{
    fd::{AsFd, BorrowedFd},
    fs::{AtFlags, CWD, FileType as Type, OFlags, fstat, readlinkat, stat, statat},
    io::Errno,
};
use std::{
    cell::Cell,
    ffi::CStr,
    fs::{self, File, OpenOptions},
    io::{self, Read},
    ops::Range,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// This machine's file system, asked anew each time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Disk;

impl Files for Disk {
    fn entries(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        folder::each(dir, &mut |dir, name, kind| {
            entries.extend(entry(dir, name, kind)?);
            Ok(())
        })?;
        Ok(entries)
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        Ok(told(&stat(path)?))
    }

    /// Asked of the open directory: the way to it is gone once, not once for each name.
    fn inside(&self, dir: &Path, is_asked: &dyn Fn(&Entry) -> bool) -> io::Result<Vec<Inside>> {
        let mut found = Vec::new();
        folder::each(dir, &mut |dir, name, kind| {
            let Some(entry) = entry(dir, name, kind)? else { return Ok(()) };
            let look = || Ok(told(&statat(dir, name, AtFlags::empty())?));
            let stat = is_asked(&entry).then(look);
            found.push(Inside { entry, stat });
            Ok(())
        })?;
        Ok(found)
    }

    fn inside_since(
        &self,
        dir: &Path,
        is_asked: &dyn Fn(&str) -> bool,
        since: Timestamp,
    ) -> io::Result<Vec<Inside>> {
        let mut sought = Since::new(is_asked, since);
        folder::each(dir, &mut |dir, name, kind| sought.see(dir, name, kind))?;
        Ok(sought.found)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Bytes>> {
        self.open_as(path, Opening { whole: false, listed: false })
    }

    fn open_as(&self, path: &Path, opening: Opening) -> io::Result<Box<dyn Bytes>> {
        Ok(Box::new(opened(path, opening)?))
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
    }
}

/// A regular file, which is held if it is short.
fn opened(path: &Path, Opening { whole, listed }: Opening) -> io::Result<Opened> {
    // Looked at before and after: even an open that does not block would wake the writer of a
    // FIFO, and what the path leads to may change in between. Of what was listed as a file a moment ago that is risked: a
    // cold list opens thousands.
    if !listed {
        regular(Type::from_raw_mode(stat(path)?.st_mode))?;
    }
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = fstat(&file)?;
    regular(Type::from_raw_mode(found.st_mode))?;
    let size = u64::try_from(found.st_size).unwrap_or_default();
    let short = if whole { SHORT_IF_WHOLE } else { SHORT };
    Ok(Opened { file, size, short, whole: OnceLock::new() })
}

impl Disk {
    /// Something is there, and it is no link.
    pub(super) fn is_plain(&self, path: &Path) -> bool {
        matches!(readlinkat(CWD, path, Vec::new()), Err(Errno::INVAL))
    }
}

/// What was found so far of the names that are asked for, without files last written before a moment.
pub(super) struct Since<'a> {
    is_asked: &'a dyn Fn(&str) -> bool,
    since: Timestamp,
    pub(super) found: Vec<Inside>,
}

impl<'a> Since<'a> {
    pub(super) fn new(is_asked: &'a dyn Fn(&str) -> bool, since: Timestamp) -> Self {
        Self { is_asked, since, found: Vec::new() }
    }

    pub(super) fn see(&mut self, dir: BorrowedFd<'_>, name: &CStr, kind: Type) -> io::Result<()> {
        if !name.to_str().is_ok_and(self.is_asked) {
            return Ok(());
        }
        let stat = statat(dir, name, AtFlags::empty()).map(|stat| told(&stat));
        if stat.is_ok_and(|stat| stat.is_older(self.since)) {
            return Ok(());
        }
        let stat = Some(stat.map_err(io::Error::from));
        self.found.extend(entry(dir, name, kind)?.map(|entry| Inside { entry, stat }));
        Ok(())
    }
}

/// What is open there.
pub(super) fn stat_in(file: BorrowedFd<'_>) -> io::Result<Stat> {
    Ok(told(&fstat(file)?))
}

/// A name with its kind; none of what is no text, or is gone.
fn entry(dir: BorrowedFd<'_>, name: &CStr, kind: Type) -> io::Result<Option<Entry>> {
    let Ok(text) = name.to_str() else { return Ok(None) };
    let kind = match kind {
        // Costs a call only where the file system leaves the type out of its directories.
        Type::Unknown => statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
            .map(|found| Type::from_raw_mode(found.st_mode)),
        kind => Ok(kind),
    };
    match kind {
        Ok(kind) => Ok(Some(Entry { name: text.to_owned(), kind: named_kind(kind) })),
        Err(Errno::NOENT) => Ok(None),
        Err(why) => Err(why.into()),
    }
}

/// Most records are shorter, and their readers look at most of them, at either end and in between: such a file is read once.
const SHORT: u64 = 64 << 10;
/// The same where all of it is read anyhow: no end of it is read twice, and it is still in a processor's cache when it is counted.
const SHORT_IF_WHOLE: u64 = 1 << 20;

/// A file up to the length that it had when it was opened: where it ends is known, and not asked for.
struct Opened {
    file: File,
    size: u64,
    short: u64,
    /// All of a short one, as it was when it was first read.
    whole: OnceLock<Whole>,
}

/// What was read of a file, in room that its thread has used before: thousands are read one after the other, and new memory
/// costs as much as what is read into it.
struct Whole {
    room: Vec<u8>,
    read: Range<usize>,
}

thread_local! {
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Whole {
    fn bytes(&self) -> &[u8] {
        &self.room[self.read.clone()]
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        let room = std::mem::take(&mut self.room);
        let _ = SPARE.try_with(|spare| spare.set(room)); // none where the thread ends
    }
}

impl Opened {
    fn whole(&self) -> io::Result<&[u8]> {
        if let Some(whole) = self.whole.get() {
            return Ok(whole.bytes());
        }
        let size = usize::try_from(self.size).map_err(io::Error::other)?;
        let mut whole = Whole { room: SPARE.take(), read: 0..0 };
        whole.room.resize(whole.room.len().max(size + ALIGNED), 0);
        let from = whole.room.as_ptr().align_offset(ALIGNED).min(ALIGNED);
        let read = self.fill(&mut whole.room[from..from + size], 0)?;
        whole.read = from..from + read;
        Ok(self.whole.get_or_init(|| whole).bytes())
    }

    fn fill(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
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

impl Bytes for Opened {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        let left = usize::try_from(self.size.saturating_sub(at)).unwrap_or(usize::MAX);
        let most = buf.len().min(left);
        let buf = &mut buf[..most];
        let at_once = buf.len() as u64 == self.size && self.whole.get().is_none();
        if self.size > self.short || buf.is_empty() || at_once {
            return self.fill(buf, at);
        }
        let whole = self.whole()?;
        let from = usize::try_from(at).map_or(whole.len(), |at| at.min(whole.len()));
        (&whole[from..]).read(buf)
    }

    fn stat(&self) -> Option<io::Result<Stat>> {
        Some(stat_in(self.file.as_fd()))
    }

    /// Of what cannot be read [`Bytes::read_at`] says why.
    fn held(&self) -> Option<&[u8]> {
        if self.size > self.short { None } else { self.whole().ok() }
    }
}

fn regular(found: Type) -> io::Result<()> {
    let what = match found {
        Type::RegularFile => return Ok(()),
        Type::Directory => "a directory",
        Type::Fifo => "a fifo",
        Type::Socket => "a socket",
        _ => "a device",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("is {what}, not a regular file")))
}

/// A time beyond the year 9999 is a broken one; the epoch makes it old instead of unreadable.
fn moment(seconds: i64, nanos: impl TryInto<i32>) -> Timestamp {
    let nanos = nanos.try_into().unwrap_or_default();
    Timestamp::new(seconds, nanos).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// What the kernel says. The standard library asks for more, which takes longer. Of a device it says 32 bits with a sign on some
/// systems.
#[allow(clippy::unnecessary_cast)]
fn told(found: &rustix::fs::Stat) -> Stat {
    Stat {
        kind: named_kind(Type::from_raw_mode(found.st_mode)),
        modified: moment(found.st_mtime, found.st_mtime_nsec),
        touched: moment(found.st_ctime, found.st_ctime_nsec),
        identity: (found.st_dev as u64, found.st_ino),
        size: u64::try_from(found.st_size).unwrap_or_default(),
    }
}

fn named_kind(kind: Type) -> Kind {
    match kind {
        Type::RegularFile => Kind::File,
        Type::Directory => Kind::Dir,
        Type::Symlink => Kind::Link,
        _ => Kind::Other,
    }
}
