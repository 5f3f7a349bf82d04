//! Files of ours, read with suspicion: whatever lies there may be anybody's.

use jiff::{SignedDuration, Timestamp};
use rustix::{fs::OFlags, io::Errno, process::geteuid};
use serde::de::DeserializeOwned;
use std::{
    fs::{self, File, Metadata, OpenOptions, ReadDir},
    io::{self, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

/// No file of ours that is read as a whole is longer.
pub(crate) const LONGEST: u64 = 64 << 10;
const NOT_OURS: &str = "it is no file of ours";

/// What is in a file: one of ours, no link, no pipe, and not long.
pub(crate) fn whole<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    within(path, LONGEST)
}

/// The same for one that may be longer.
pub(crate) fn within<T: DeserializeOwned>(path: &Path, longest: u64) -> io::Result<T> {
    let file = open(path)?;
    if is_ours(&file)?.len() > longest {
        return Err(io::Error::other(NOT_OURS));
    }
    let mut bytes = Vec::new();
    file.take(longest).read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// What is there was looked at, and is nothing that we wrote; whatever else goes wrong may pass.
pub(crate) fn is_destroyed(why: &io::Error) -> bool {
    why.raw_os_error().is_none_or(|code| code == Errno::LOOP.raw_os_error()) // a link in its place
}

/// No link is followed, and no pipe waited for.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(wary()).open(path)
}

/// What is in a directory of ours; none where nothing is. A link that leads nowhere is something, and an error: what
/// was kept behind it is out of reach, and not absent.
pub(crate) fn dir(path: &Path) -> io::Result<Option<ReadDir>> {
    match fs::read_dir(path) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => match dangling(path) {
            None => Ok(None),
            Some(link) => {
                let what = format!("{} is a link that leads nowhere", link.display());
                Err(io::Error::other(what))
            }
        },
        found => found.map(Some),
    }
}

/// The link because of which nothing is found there, if it is one.
pub(crate) fn dangling<'p>(path: &'p Path) -> Option<&'p Path> {
    let seen = |above: &'p Path| Some((above, fs::symlink_metadata(above).ok()?));
    let (there, stat) = path.ancestors().find_map(seen)?;
    (stat.is_symlink() && fs::metadata(there).is_err()).then_some(there)
}

/// Flags to open a file with that may be anybody's.
pub(crate) fn wary() -> i32 {
    i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).expect("flags are small")
}

/// What is open is a file, and ours; what the kernel says of it.
pub(crate) fn is_ours(file: &File) -> io::Result<Metadata> {
    let stat = file.metadata()?;
    match (stat.is_file(), stat.uid() == geteuid().as_raw()) {
        (true, true) => Ok(stat),
        (true, false) => Err(io::Error::other("it belongs to another user")),
        (false, _) => Err(io::Error::other(NOT_OURS)),
    }
}

/// It is ours, and nobody has changed it for so long. Of a time ahead nobody can say: a clock was set back.
pub(crate) fn is_left(path: &Path, now: Timestamp, since: SignedDuration) -> bool {
    let stat = fs::symlink_metadata(path).ok();
    let stat = stat.filter(|stat| !stat.is_dir() && stat.uid() == geteuid().as_raw());
    let at = stat.and_then(|stat| Timestamp::from_second(stat.mtime()).ok());
    at.is_some_and(|at| now.duration_since(at) > since)
}
