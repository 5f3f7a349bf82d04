//! Writes into the open input of an agent that we launched: whole, at once, or not at all.

use rustix::{
    fs::{FileType, FlockOperation, OFlags, flock, fstat},
    io::{Errno, ioctl_fionread, write},
    pipe::PIPE_BUF,
};
use std::{
    fs::File,
    os::unix::fs::OpenOptionsExt,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// How long another message, or a reader who is behind, is waited for.
const LIMIT: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(20);

/// Why nothing of a line was written.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unput {
    /// No pipe holds it whole.
    #[error("the message is too long: {size} bytes as it is handed on, and its input takes {most}")]
    TooLong { size: usize, most: usize },
    #[error("{0}")]
    Not(String),
}

impl Unput {
    /// What to do instead.
    pub(super) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::TooLong { .. } => Some("put it into a file, and send the path of that"),
            Self::Not(_) => None,
        }
    }
}

/// Hands on a line, whole.
pub(super) fn put(path: &Path, line: &str) -> Result<(), Unput> {
    let input = open(path).map_err(Unput::Not)?;
    if line.len() > PIPE_BUF {
        let size = line.len();
        widen(&input, size).map_err(|most| Unput::TooLong { size, most })?;
    }
    fill(&input, line).map_err(Unput::Not)
}

fn open(path: &Path) -> Result<File, String> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let input = File::options().write(true).custom_flags(flags).open(path);
    let input = input.map_err(|why| match Errno::from_io_error(&why) {
        Some(Errno::NXIO | Errno::NOENT) => "nobody reads its input any more".to_owned(),
        _ => format!("its input cannot be opened: {why}"),
    })?;
    let stat = fstat(&input).map_err(|why| why.to_string())?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Fifo {
        return Err(format!("{} is not its input", path.display()));
    }
    Ok(input)
}

fn fill(input: &File, line: &str) -> Result<(), String> {
    let until = Instant::now() + LIMIT;
    // Long lines are not written in one piece by the kernel's own promise: one writer at a time.
    let lock = || flock(input, FlockOperation::NonBlockingLockExclusive).is_ok();
    if !wait(until, lock) {
        return Err("another message is being written".to_owned());
    }
    let is_free = || has_room(input, line.len());
    if !wait(until, is_free) {
        return Err("it does not read its input".to_owned());
    }
    match write(input, line.as_bytes()) {
        Ok(written) if written == line.len() => Ok(()),
        Ok(_) => Err("only a part of it could be written".to_owned()),
        Err(Errno::AGAIN) => Err("it does not read its input".to_owned()),
        Err(why) => Err(format!("its input cannot be written: {why}")),
    }
}

/// A short line is whole or refused by the kernel; a longer one needs the pipe to itself.
fn has_room(input: &File, size: usize) -> bool {
    size <= PIPE_BUF || ioctl_fionread(input).is_ok_and(|unread| unread == 0)
}

/// Makes the pipe take so much at once; an error says how much it takes at most.
#[cfg(target_os = "linux")]
fn widen(input: &File, size: usize) -> Result<(), usize> {
    use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};
    let now = fcntl_getpipe_size(input).unwrap_or(PIPE_BUF);
    if now >= size || fcntl_setpipe_size(input, size).is_ok() {
        return Ok(());
    }
    let most = std::fs::read_to_string("/proc/sys/fs/pipe-max-size").ok();
    let most = most.and_then(|most| most.trim().parse().ok()).unwrap_or(now);
    // Below that, the user has too many wide pipes already.
    Err(if size > most { most.max(now) } else { now })
}

/// macOS gives a pipe 16 KiB, and more only as it likes.
#[cfg(not(target_os = "linux"))]
fn widen(_: &File, size: usize) -> Result<(), usize> {
    const MOST: usize = 16 << 10;
    if size <= MOST { Ok(()) } else { Err(MOST) }
}

fn wait(until: Instant, done: impl Fn() -> bool) -> bool {
    loop {
        match (done(), Instant::now() < until) {
            (true, _) => return true,
            (false, true) => thread::sleep(TICK),
            (false, false) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, mknodat};
    use std::{io::Read, path::PathBuf};

    fn fifo(dir: &tempfile::TempDir) -> PathBuf {
        let path = dir.path().join("x.in");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("it can be made");
        path
    }

    #[test]
    fn a_message_is_whole_or_refused() {
        let dir = tempfile::tempdir().expect("there is room");
        let path = fifo(&dir);
        let not = |why: &str| Err(Unput::Not(why.to_owned()));
        assert_eq!(put(&path, "x\n"), not("nobody reads its input any more"));
        let mut reader = File::options().read(true).write(true).open(&path).expect("it is there");
        let long = "y".repeat(200 << 10);
        assert_eq!(put(&path, &long), Ok(()));
        let full = not("it does not read its input");
        assert_eq!(put(&path, &long), full, "it would be torn");
        let mut read = vec![0; long.len()];
        reader.read_exact(&mut read).expect("all of it was written");
        assert_eq!(read, long.as_bytes());
        assert_eq!(put(&path, "z\n"), Ok(()));
        while put(&path, &"z".repeat(PIPE_BUF)).is_ok() {}
        assert_eq!(put(&path, &"z".repeat(PIPE_BUF)), full);
        let plain = dir.path().join("plain");
        std::fs::write(&plain, "").expect("it can be written");
        assert!(put(&plain, "x").is_err());
    }

    #[test]
    fn a_message_that_no_pipe_holds_is_too_long() {
        let dir = tempfile::tempdir().expect("there is room");
        let path = fifo(&dir);
        let input = File::options().read(true).write(true).open(&path).expect("it is there");
        let most = widen(&input, usize::MAX).expect_err("no pipe is so wide");
        assert!((PIPE_BUF..usize::MAX).contains(&most), "{most}");
        assert_eq!(widen(&input, PIPE_BUF + 1), Ok(()));
        let long = Unput::TooLong { size: 2000, most: 1000 };
        let told =
            "the message is too long: 2000 bytes as it is handed on, and its input takes 1000";
        assert_eq!((long.to_string().as_str(), long.hint().is_some()), (told, true));
    }
}
