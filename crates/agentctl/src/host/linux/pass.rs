//! The one pass over the process table.

use super::{process::all, spaces, stat::Line};
use agentctl_core::host::{CannotTell, Process, Table, Told};
use jiff::{SignedDuration, Timestamp};
use rustix::{
    fd::{BorrowedFd, OwnedFd},
    fs::{CWD, Mode, OFlags, RawDir, openat},
    io::{Errno, read},
    param::clock_ticks_per_second,
    time::{ClockId, Timespec, clock_gettime},
};
use std::{ffi::CStr, fmt::Arguments, io::Write};

/// Longer than any line: some fifty numbers and a name.
pub(super) const LINE: usize = 2048;

/// Room for a pid of ten digits and `/stat`.
const LONGEST: usize = 16;

pub(super) const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC);

/// Every process that runs a program, or did, sorted by pid.
pub(super) fn table(boot: &str) -> Told<Table> {
    spaces::is_ours()?;
    let proc = open_dir(CWD, c"/proc").map_err(|why| untold("/proc", why))?;
    let taken = timestamp(clock_gettime(ClockId::Realtime));
    let booted = booted();
    let processes = processes(&proc)?;
    let ticks = i64::try_from(clock_ticks_per_second()).unwrap_or(100);
    Ok(Table { taken, boot: boot.to_owned(), booted, ticks, processes })
}

/// A directory for listing.
pub(super) fn open_dir(at: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    openat(at, name, READ | OFlags::DIRECTORY, Mode::empty())
}

fn processes(proc: &OwnedFd) -> Told<Vec<Process>> {
    let pids = pids(proc).map_err(|why| untold("/proc", why))?;
    // Asked after the pids: whoever is a kernel thread now is no process that was listed before.
    let threads = kernel_threads(proc).unwrap_or_default();
    let mut line = [0; LINE];
    let mut found = Vec::with_capacity(pids.len());
    for pid in pids.into_iter().filter(|pid| threads.binary_search(pid).is_err()) {
        match one(proc, format_args!("{pid}/stat"), &mut line) {
            Ok(0) => {}
            Ok(read) => found.push(process(pid, line.get(..read).unwrap_or_default())?),
            // Gone in mid-read, or hidden from us by the mount option `hidepid`.
            Err(Errno::NOENT | Errno::SRCH | Errno::ACCESS | Errno::PERM) => {}
            Err(why) => return Err(untold(&format!("/proc/{pid}/stat"), why)),
        }
    }
    Ok(found)
}

/// Every pid in rising order, which is the order the kernel lists them in.
fn pids(proc: &OwnedFd) -> Result<Vec<u32>, Errno> {
    let mut room: Vec<u8> = Vec::with_capacity(16 << 10); // so much of the stack would be touched at once
    let mut names = RawDir::new(proc, room.spare_capacity_mut());
    let mut pids = Vec::with_capacity(256);
    while let Some(entry) = names.next() {
        pids.extend(pid_of(entry?.file_name().to_bytes()));
    }
    pids.sort_unstable();
    Ok(pids)
}

/// The kernel's own threads, which are half of a usual table and no programs. One list names them
/// all; where there is none, as in a container, they are read like the others.
fn kernel_threads(proc: &OwnedFd) -> Option<Vec<u32>> {
    const MOTHER: u32 = 2;
    const KERNEL_THREAD: u64 = 0x0020_0000;
    let mut line = [0; LINE];
    let read = one(proc, format_args!("{MOTHER}/stat"), &mut line).ok()?;
    let mother = Line::parse(line.get(..read)?)?;
    if mother.field(9)? & KERNEL_THREAD == 0 {
        return None;
    }
    let children = openat(proc, c"2/task/2/children", READ, Mode::empty()).ok()?;
    let list = all(children, Vec::new()).ok()?;
    let mut threads: Vec<u32> = list.split(|&byte| byte == b' ').filter_map(pid_of).collect();
    threads.push(MOTHER);
    threads.sort_unstable();
    Some(threads)
}

fn pid_of(name: &[u8]) -> Option<u32> {
    name.first().filter(|first| first.is_ascii_digit())?;
    std::str::from_utf8(name).ok()?.parse().ok()
}

fn one(proc: &OwnedFd, name: Arguments<'_>, line: &mut [u8; LINE]) -> Result<usize, Errno> {
    let mut path = [0; LONGEST];
    let mut left = path.as_mut_slice();
    left.write_fmt(name).map_err(|_| Errno::NAMETOOLONG)?;
    let end = LONGEST - left.len();
    read(openat(proc, path.get(..end).unwrap_or_default(), READ, Mode::empty())?, line)
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
        halted: seen.halted,
        forked: seen.forked,
    })
}

/// The moment of the boot on today's clock; starts are counted from it, suspended time included.
///
/// The two clocks are read one after the other; on a busy machine much may come between, so the
/// closest of some readings counts.
fn booted() -> Timestamp {
    const TRIES: usize = 4;
    let read = || {
        let before = span(clock_gettime(ClockId::Boottime));
        let now = timestamp(clock_gettime(ClockId::Realtime));
        let between = span(clock_gettime(ClockId::Boottime)) - before;
        (between, now.saturating_sub(before).unwrap_or(Timestamp::UNIX_EPOCH))
    };
    let closest = (0..TRIES).map(|_| read()).min_by_key(|(between, _)| *between);
    closest.map_or(Timestamp::UNIX_EPOCH, |(_, booted)| booted)
}

fn span(time: Timespec) -> SignedDuration {
    SignedDuration::new(time.tv_sec, i32::try_from(time.tv_nsec).unwrap_or_default())
}

fn timestamp(time: Timespec) -> Timestamp {
    let nanos = i32::try_from(time.tv_nsec).unwrap_or_default();
    Timestamp::new(time.tv_sec, nanos).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn untold(what: &str, why: Errno) -> CannotTell {
    CannotTell(format!("{what}: {}", super::process::reason(why)))
}
