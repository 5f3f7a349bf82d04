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

/// Hands on a line; an error says why nothing of it was written.
pub(super) fn put(path: &Path, line: &str) -> Result<(), String> {
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
    let until = Instant::now() + LIMIT;
    // Long lines are not written in one piece by the kernel's own promise: one writer at a time.
    let lock = || flock(&input, FlockOperation::NonBlockingLockExclusive).is_ok();
    if !wait(until, lock) {
        return Err("another message is being written".to_owned());
    }
    let is_free = || has_room(&input, line.len());
    if !wait(until, is_free) {
        return Err("it does not read its input".to_owned());
    }
    match write(&input, line.as_bytes()) {
        Ok(written) if written == line.len() => Ok(()),
        Ok(_) => Err("only a part of it could be written".to_owned()),
        Err(Errno::AGAIN) => Err("it does not read its input".to_owned()),
        Err(why) => Err(format!("its input cannot be written: {why}")),
    }
}

/// A short line is whole or refused by the kernel; a longer one needs the pipe to itself.
fn has_room(input: &File, size: usize) -> bool {
    if size <= PIPE_BUF {
        return true;
    }
    holds(input, size) && ioctl_fionread(input).is_ok_and(|unread| unread == 0)
}

/// The pipe takes so much at once, or can be made to.
#[cfg(target_os = "linux")]
fn holds(input: &File, size: usize) -> bool {
    use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};
    fcntl_getpipe_size(input).unwrap_or_default() >= size || fcntl_setpipe_size(input, size).is_ok()
}

/// macOS gives a pipe 16 KiB, and more only as it likes.
#[cfg(not(target_os = "linux"))]
fn holds(_: &File, size: usize) -> bool {
    size <= 16 << 10
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
        assert_eq!(put(&path, "x\n"), Err("nobody reads its input any more".to_owned()));
        let mut reader = File::options().read(true).write(true).open(&path).expect("it is there");
        let long = "y".repeat(200 << 10);
        assert_eq!(put(&path, &long), Ok(()));
        let full = Err("it does not read its input".to_owned());
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
}
