//! The one pass over the process table.

use super::stat::Line;
use agentctl_core::host::{CannotTell, Process, Table, Told};
use jiff::{SignedDuration, Timestamp};
use rustix::{
    fd::{BorrowedFd, OwnedFd},
    fs::{CWD, Mode, OFlags, RawDir, openat},
    io::{Errno, read},
    param::clock_ticks_per_second,
    time::{ClockId, Timespec, clock_gettime},
};
use std::{io::Write, mem::MaybeUninit, thread};

/// Longer than any line: some fifty numbers and a name.
pub(super) const LINE: usize = 2048;

/// The kernel takes most of the time of a pass to write its lines, and writes them side by side.
const READERS: usize = 2;

/// For fewer processes a thread costs more than it saves.
const SHARE: usize = 48;

/// Every process there is now, sorted by pid.
pub(super) fn table(boot: &str) -> Told<Table> {
    let proc = open_dir(CWD, c"/proc").map_err(|why| untold("/proc", why))?;
    let booted = booted();
    let processes = processes(&proc)?;
    let ticks = i64::try_from(clock_ticks_per_second()).unwrap_or(100);
    Ok(Table { boot: boot.to_owned(), booted, ticks, processes })
}

/// A directory for listing.
pub(super) fn open_dir(at: BorrowedFd<'_>, name: &std::ffi::CStr) -> Result<OwnedFd, Errno> {
    openat(at, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn processes(proc: &OwnedFd) -> Told<Vec<Process>> {
    let pids = pids(proc).map_err(|why| untold("/proc", why))?;
    let share = pids.len().div_ceil(pids.len().div_ceil(SHARE).clamp(1, READERS)).max(1);
    let (mine, others) = pids.split_at(share.min(pids.len()));
    thread::scope(|scope| {
        let read = |pids| move || read_all(proc, pids);
        let others: Vec<_> = others.chunks(share).map(|pids| scope.spawn(read(pids))).collect();
        let mut found = read_all(proc, mine)?;
        for other in others {
            let died = |_| CannotTell("a reader of /proc died".to_owned());
            found.extend(other.join().map_err(died)??);
        }
        Ok(found)
    })
}

/// Every pid in rising order, which is the order the kernel lists them in.
fn pids(proc: &OwnedFd) -> Result<Vec<u32>, Errno> {
    let mut names = [MaybeUninit::<u8>::uninit(); 16 * 1024];
    let mut names = RawDir::new(proc, &mut names);
    let mut pids = Vec::with_capacity(256);
    while let Some(entry) = names.next() {
        pids.extend(pid_of(entry?.file_name().to_bytes()));
    }
    pids.sort_unstable();
    Ok(pids)
}

fn read_all(proc: &OwnedFd, pids: &[u32]) -> Told<Vec<Process>> {
    let mut line = [0; LINE];
    let mut found = Vec::with_capacity(pids.len());
    for &pid in pids {
        match one(proc, pid, &mut line) {
            Ok(0) => {}
            Ok(read) => found.push(process(pid, line.get(..read).unwrap_or_default())?),
            // Gone in mid-read, or hidden from us by the mount option `hidepid`.
            Err(Errno::NOENT | Errno::SRCH | Errno::ACCESS | Errno::PERM) => {}
            Err(why) => return Err(untold(&format!("/proc/{pid}/stat"), why)),
        }
    }
    Ok(found)
}

fn pid_of(name: &[u8]) -> Option<u32> {
    name.first().filter(|first| first.is_ascii_digit())?;
    std::str::from_utf8(name).ok()?.parse().ok()
}

fn one(proc: &OwnedFd, pid: u32, line: &mut [u8; LINE]) -> Result<usize, Errno> {
    let mut path = [0; 16];
    let mut left = path.as_mut_slice();
    write!(left, "{pid}/stat").map_err(|_| Errno::NAMETOOLONG)?;
    let end = 16 - left.len();
    let file = openat(proc, &path[..end], OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    read(&file, line)
}

/// A line that is not understood blinds the pass: to leave a live process out would be to say
/// that it is dead.
fn process(pid: u32, line: &[u8]) -> Told<Process> {
    let torn = || CannotTell(format!("/proc/{pid}/stat is not understood"));
    let line = Line::parse(line).ok_or_else(torn)?;
    let seen = line.numbers().ok_or_else(torn)?;
    Ok(Process {
        pid,
        parent: seen.parent,
        start: seen.start,
        comm: String::from_utf8_lossy(line.comm).into_owned(),
        zombie: seen.zombie,
        tty: seen.tty,
    })
}

/// The moment of the boot on today's clock; starts are counted from it, suspended time included.
fn booted() -> Timestamp {
    let now = timestamp(clock_gettime(ClockId::Realtime));
    let up = clock_gettime(ClockId::Boottime);
    let up = SignedDuration::new(up.tv_sec, i32::try_from(up.tv_nsec).unwrap_or_default());
    now.saturating_sub(up).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn timestamp(time: Timespec) -> Timestamp {
    let nanos = i32::try_from(time.tv_nsec).unwrap_or_default();
    Timestamp::new(time.tv_sec, nanos).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn untold(what: &str, why: Errno) -> CannotTell {
    CannotTell(format!("{what}: {}", super::process::reason(why)))
}
