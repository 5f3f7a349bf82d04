//! Files of ours, whole or not at all, and for their owner only.

use crate::read::{self, LONGEST};
use rustix::{
    fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, mkdirat, open, openat},
    io::Errno,
    process::{Signal, geteuid},
};
use serde::Serialize;
use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Once},
};

/// What files end with that are not yet, or never became, what they are for.
pub(crate) const DRAFT: &str = "draft";

/// Makes a directory that only its owner may enter. One that is there must be ours, and none above it
/// another user's in which others may write: there he could put links, and files that we then take for our
/// own, or ours away. Nothing is made before that is known. Root is no exception: what it left in another
/// user's folder, that user could neither read nor write.
pub(crate) fn make_dir(dir: &Path) -> io::Result<()> {
    let there = safe_part(dir)?;
    make_below(&there, dir)?;
    safe_part(dir)?; // somebody may have been quicker
    let stat = fs::metadata(dir)?;
    if stat.uid() != geteuid().as_raw() {
        return Err(io::Error::other("the directory belongs to another user"));
    }
    if stat.mode() & 0o077 != 0 {
        fs::set_permissions(dir, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Makes what is missing of a directory, each part in the one that was made before it: a link that somebody puts
/// there meanwhile leads nowhere.
fn make_below(there: &Path, dir: &Path) -> io::Result<()> {
    let way = OFlags::DIRECTORY | OFlags::CLOEXEC | SEARCHED;
    let mut at = open(there, way, Mode::empty())?;
    for part in dir.strip_prefix(there).unwrap_or(Path::new("")).components() {
        match mkdirat(&at, part.as_os_str(), Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(why) => return Err(why.into()),
        }
        at = openat(&at, part.as_os_str(), way | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(())
}

/// A directory that may be entered need not be one that may be read.
#[cfg(target_os = "linux")]
const SEARCHED: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const SEARCHED: OFlags = OFlags::RDONLY;

/// As much of a directory's way as there is. Fails where another user could put away what is made there. The way is
/// looked at as it is written and as it leads: whose a link is matters as much as whose it leads to.
fn safe_part(dir: &Path) -> io::Result<PathBuf> {
    let there = dir.ancestors().find(|path| path.symlink_metadata().is_ok()).unwrap_or(dir);
    let real = there.canonicalize()?;
    for path in there.ancestors().chain(real.ancestors()) {
        let stat = path.symlink_metadata()?;
        // Root may do that anyhow; and where nobody can put anything, nobody was lured to.
        let is_open = stat.mode() & 0o022 != 0 || path == there || path == real;
        if is_open && stat.uid() != geteuid().as_raw() && !is_root(stat.uid()) {
            let what = if path == dir { "the directory".into() } else { path.to_string_lossy() };
            return Err(io::Error::other(format!("{what} belongs to another user")));
        }
    }
    Ok(there.to_owned())
}

/// It is root; in a user namespace, whoever has no name there: all that lies around it is his.
fn is_root(uid: u32) -> bool {
    const NAMELESS: u32 = 65_534;
    let every = u32::MAX.to_string();
    let is_inside = || {
        let names = fs::read_to_string("/proc/self/uid_map");
        names.is_ok_and(|names| names.split_whitespace().nth(2) != Some(&every))
    };
    uid == 0 || (uid == NAMELESS && is_inside())
}

/// Opens a file to add to it, and makes it if it is not there. It is a file of ours: no link is followed,
/// and no pipe waited for.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    ours(OpenOptions::new().append(true), path)
}

/// Opens a file to lock it, and makes it if it is not there; likewise.
pub(crate) fn lockable(path: &Path) -> io::Result<File> {
    ours(OpenOptions::new().read(true).write(true), path)
}

fn ours(open: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = open.create(true).mode(0o600).custom_flags(read::wary()).open(path)?;
    read::is_ours(&file)?;
    // Whoever is given it to write to never asked not to wait.
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Writes a file as a whole, and returns once it is on the disk.
pub(crate) fn whole(path: &Path, value: &impl Serialize) -> io::Result<()> {
    within(path, value, LONGEST)
}

/// The same for one that may be longer; where it is longer still, the kind of the error is `FileTooLarge`.
pub(crate) fn within(path: &Path, value: &impl Serialize, longest: u64) -> io::Result<()> {
    by(Room(None), (path, longest), value, |draft| fs::rename(draft, path))
}

/// The same for a file that must not be there yet: of many who try, one succeeds.
pub(crate) fn fresh(path: &Path, value: &impl Serialize) -> io::Result<()> {
    Room(None).fresh(path, value)
}

/// Room on the disk for one small file that is to be written however full it is by then: a file without a name, which
/// goes with its process. None where the file system has no such files, or no room by now.
pub(crate) struct Room(Option<File>);

impl Room {
    /// Keeps some where this file will be.
    pub(crate) fn keep(path: &Path) -> Self {
        Self(path.parent().and_then(|dir| nameless(dir).ok()))
    }

    /// Writes a file as a whole.
    pub(crate) fn whole(self, path: &Path, value: &impl Serialize) -> io::Result<()> {
        by(self, (path, LONGEST), value, |draft| fs::rename(draft, path))
    }

    /// The same for a file that must not be there yet.
    pub(crate) fn fresh(self, path: &Path, value: &impl Serialize) -> io::Result<()> {
        by(self, (path, LONGEST), value, |draft| {
            fs::hard_link(draft, path)?;
            fs::remove_file(draft)
        })
    }

    /// What was written into it, under the name of a draft.
    #[cfg(target_os = "linux")]
    fn draft(self, path: &Path, text: &[u8]) -> io::Result<PathBuf> {
        let mut file = self.0.ok_or(io::ErrorKind::NotFound)?;
        file.write_all(text).and_then(|()| file.set_len(text.len() as u64))?;
        file.sync_all()?;
        named(&file, path)
    }

    #[cfg(not(target_os = "linux"))]
    fn draft(self, _: &Path, _: &[u8]) -> io::Result<PathBuf> {
        drop(self.0);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A file without a name that has its block already: what is written over it takes no other, unless the file system
/// copies on each write.
#[cfg(target_os = "linux")]
fn nameless(dir: &Path) -> io::Result<File> {
    use std::io::Seek;
    const BLOCK: usize = 4096;
    let mut file = unnamed(dir)?;
    file.write_all(&[b' '; BLOCK])?;
    file.rewind()?;
    Ok(file)
}

#[cfg(not(target_os = "linux"))]
fn nameless(dir: &Path) -> io::Result<File> {
    unnamed(dir)
}

/// A file without a name, which goes with its process.
#[cfg(target_os = "linux")]
fn unnamed(dir: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::TMPFILE.bits()).expect("flags are small");
    OpenOptions::new().write(true).mode(0o600).custom_flags(flags).open(dir)
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Gives it the name of a draft beside that file.
#[cfg(target_os = "linux")]
fn named(file: &File, path: &Path) -> io::Result<PathBuf> {
    use rustix::fs::{AtFlags, CWD, linkat};
    use std::os::fd::AsRawFd;
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    let make = |draft: &Path| Ok(linkat(CWD, &*own, CWD, draft, AtFlags::SYMLINK_FOLLOW)?);
    first_free(path, make).map(|(draft, ())| draft)
}

#[cfg(not(target_os = "linux"))]
fn named(_: &File, _: &Path) -> io::Result<PathBuf> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Where files may not grow, the kernel ends whoever writes, unless they take its signal: then it refuses. Programs that are
/// started do not inherit that.
pub(crate) fn outlive_limits() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = signal_hook::flag::register(Signal::XFSZ.as_raw(), Arc::default()); // as it was, else
    });
}

/// A file that is written piece by piece, for what may be lost without harm: a crash of the machine may leave any bytes. Whoever is
/// killed before its end leaves nothing, where the file system has files without names.
#[derive(Debug)]
pub(crate) struct Growing {
    file: File,
    /// Where it has a name already.
    draft: Option<PathBuf>,
}

impl Growing {
    /// Begins one that is to be in this place.
    pub(crate) fn begin(path: &Path) -> io::Result<Self> {
        if let Some(Ok(file)) = path.parent().map(unnamed) {
            return Ok(Self { file, draft: None });
        }
        let (draft, file) = draft_of(path)?;
        Ok(Self { file, draft: Some(draft) })
    }

    /// Writes more of it.
    pub(crate) fn add(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file.write_all(piece)
    }

    /// It is whole, and takes the place of what is there.
    pub(crate) fn end(mut self, path: &Path) -> io::Result<()> {
        let draft = match self.draft.take() {
            Some(draft) => draft,
            None => named(&self.file, path)?,
        };
        let moved = fs::rename(&draft, path);
        if moved.is_err() {
            let _ = fs::remove_file(&draft); // it is of no use
        }
        moved
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        if let Some(draft) = &self.draft {
            let _ = fs::remove_file(draft); // it never became whole
        }
    }
}

/// Removes a file, and returns once that is on the disk.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    settle(path)
}

fn by(
    room: Room,
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
    let (draft, written) = match room.draft(path, &text) {
        Ok(draft) => (draft, Ok(())),
        Err(_) => {
            let (draft, mut file) = draft_of(path)?;
            (draft, file.write_all(&text).and_then(|()| file.sync_all()))
        }
    };
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
    let make =
        |draft: &Path| OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft);
    first_free(path, make)
}

fn first_free<T>(path: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
    const TRIES: u32 = 1000;
    for number in 0..TRIES {
        let draft = path.with_extension(format!("{}-{number}.{DRAFT}", std::process::id()));
        match make(&draft) {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
            made => return Ok((draft, made?)),
        }
    }
    Err(io::Error::other("too many drafts lie there"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, mkfifoat};
    use std::sync::atomic::{AtomicBool, Ordering};

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

    /// A pipe would be waited for, for ever, and what lies behind a link is not ours to write.
    #[test]
    fn only_a_file_is_opened_to_write() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("kept"), "kept").expect("a file");
        std::os::unix::fs::symlink(path("kept"), path("link")).expect("a link");
        mkfifoat(CWD, path("pipe"), Mode::RUSR | Mode::WUSR).expect("a pipe");
        mkfifoat(CWD, path("heard"), Mode::RUSR | Mode::WUSR).expect("a pipe");
        let _reader = read::open(&path("heard")).expect("nobody is waited for");
        for name in ["link", "pipe", "heard"] {
            assert!(append(&path(name)).is_err(), "{name} is added to");
            assert!(lockable(&path(name)).is_err(), "{name} is locked");
        }
        assert_eq!(fs::read_to_string(path("kept")).ok().as_deref(), Some("kept"));
        let mut file = append(&path("new")).expect("it is ours");
        assert!(!fcntl_getfl(&file).expect("flags").contains(OFlags::NONBLOCK));
        file.write_all(b"1").expect("room");
        assert_eq!(fs::read_to_string(path("new")).ok().as_deref(), Some("1"));
    }

    /// Only root can be somebody else; `security/modes.rs` tries the same with the whole program.
    #[test]
    fn a_file_of_another_user_is_not_written_to() {
        if !geteuid().is_root() {
            assert!(std::env::var_os("CI").is_none(), "not tried, and CI has to");
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        fs::write(&path, "his").expect("a file");
        std::os::unix::fs::chown(&path, Some(12_345), None).expect("we are root");
        assert!(append(&path).is_err() && lockable(&path).is_err());
    }

    /// Another user puts a link where our directory is about to be, at any moment: nothing is made or written behind it.
    #[test]
    fn a_link_that_comes_in_between_leads_nothing_out() {
        const ROUNDS: u32 = 900;
        if !geteuid().is_root() {
            assert!(std::env::var_os("CI").is_none(), "not tried, and CI has to");
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let (outside, base) = (folder.path().join("outside"), folder.path().join("base"));
        fs::create_dir(&outside).expect("a folder");
        let mut made = [0, 0];
        for round in 0..ROUNDS {
            fs::create_dir(&base).expect("a folder");
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(&outside, &link).expect("a link");
            std::os::unix::fs::lchown(&link, Some(12_345), None).expect("we are root");
            let is_up = AtomicBool::new(false);
            let done = std::thread::scope(|scope| {
                let other = scope.spawn(|| {
                    is_up.store(true, Ordering::Release);
                    (0..round % 150 * 100).for_each(|_| std::hint::spin_loop());
                    fs::rename(&link, base.join("x")) // not over what is ours already
                });
                while !is_up.load(Ordering::Acquire) {
                    std::thread::yield_now(); // on a busy machine it would always come too late
                }
                if round % 150 == 0 {
                    let _ = other.join(); // surely there first
                }
                let dir = base.join("x/y/z");
                make_dir(&dir)
                    .and_then(|()| Growing::begin(&dir.join("file"))?.end(&dir.join("file")))
            });
            made[usize::from(done.is_ok())] += 1;
            let found: Vec<_> = fs::read_dir(&outside).expect("a folder").flatten().collect();
            assert!(found.is_empty(), "in round {round} of {made:?}, {done:?}: {found:?}");
            let _ = fs::remove_file(&link); // it may have been put there
            fs::remove_dir_all(&base).expect("it is ours");
        }
        assert!(made.iter().all(|count| *count > 0), "both come first now and then: {made:?}");
    }

    /// A link of one's own leads where one wants to; what others may enter is closed.
    #[test]
    fn a_link_of_one_s_own_may_lead_to_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::create_dir(&real).expect("a folder");
        fs::set_permissions(&real, Permissions::from_mode(0o755)).expect("our folder");
        std::os::unix::fs::symlink(&real, &link).expect("a link");
        make_dir(&link).expect("both are ours");
        make_dir(&link.join("below/that")).expect("both are ours");
        for path in [&real, &real.join("below"), &real.join("below/that")] {
            assert_eq!(fs::metadata(path).expect("a folder").mode() & 0o7777, 0o700);
        }
    }
}
