//! Who holds a flock: from what the kernel tells of a descriptor, and from `/proc/locks`.
//!
//! To read that list, the kernel (6.18) keeps all of a machine from locking files and first waits for every processor: 8 to 16 ms,
//! unless somebody has read it a moment before. So it is read only for locks that no process of their agent has.

use super::process::reason;
use agentctl_core::host::{CannotTell, Told};
use rustix::{
    fs::{CWD, Mode, OFlags, Stat, major, minor, openat, stat},
    io::{Errno, read},
};
use std::path::Path;

const LOCKS: &str = "/proc/locks";

/// How often a list that changes while it is read is read again.
const TRIES: usize = 16;

/// One flock that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Held {
    inode: u64,
    device: (u32, u32),
    pid: u32,
}

/// All flocks that are held now. The kernel gives a long list in pieces, and one that changes
/// between two pieces may lack a lock; so a long one counts when two readings of it agree.
pub(super) fn held() -> Told<Vec<Held>> {
    agreed(|| text().map_err(|why| CannotTell(format!("{LOCKS}: {}", reason(why)))))
}

fn agreed(read: impl Fn() -> Told<(Vec<u8>, usize)>) -> Told<Vec<Held>> {
    let mut last = None;
    for _ in 0..TRIES {
        let (text, pieces) = read()?;
        let next = parse(&text);
        if pieces <= 1 || last.as_ref() == Some(&next) {
            return Ok(next);
        }
        last = Some(next);
    }
    Err(CannotTell(format!("{LOCKS} changes faster than it can be read")))
}

/// Pids that hold a flock on what this path leads to. `has_open` tells whether a process has the
/// file open, where the list alone does not prove that its line means this file.
pub(super) fn lockers(
    held: &[Held],
    path: &Path,
    has_open: impl Fn(u32, &Stat) -> Told<bool>,
) -> Told<Vec<u32>> {
    let Some(file) = file(path)? else { return Ok(Vec::new()) };
    let device = (major(file.st_dev), minor(file.st_dev));
    let mut pids = Vec::new();
    for lock in held.iter().filter(|lock| lock.inode == file.st_ino) {
        // btrfs and overlays show another device here than to stat: ask the process itself.
        if lock.device == device || has_open(lock.pid, &file)? {
            pids.push(lock.pid);
        }
    }
    pids.sort_unstable();
    pids.dedup();
    Ok(pids)
}

/// What a path leads to, if to anything.
pub(super) fn file(path: &Path) -> Told<Option<Stat>> {
    match stat(path) {
        Ok(file) => Ok(Some(file)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(why) => Err(CannotTell(format!("{}: {}", path.display(), reason(why)))),
    }
}

/// What the kernel tells of a descriptor says that this process has taken a flock through it which nobody else can have.
pub(super) fn is_alone(told: &[u8], pid: u32) -> bool {
    let text = String::from_utf8_lossy(told);
    let mut locks = text.lines().filter_map(|line| line.strip_prefix("lock:"));
    locks.any(|lock| {
        let mode = lock.split_ascii_whitespace().nth(3);
        mode == Some("WRITE") && flock(lock).is_some_and(|held| held.pid == pid)
    })
}

/// The whole list, and in how many pieces it came.
fn text() -> Result<(Vec<u8>, usize), Errno> {
    let file = openat(CWD, LOCKS, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = Vec::new();
    let mut piece = [0; 16 * 1024];
    let mut pieces = 0;
    loop {
        match read(&file, &mut piece) {
            Ok(0) => return Ok((text, pieces)),
            Ok(length) => text.extend_from_slice(piece.get(..length).unwrap_or_default()),
            Err(Errno::INTR) => continue,
            Err(why) => return Err(why),
        }
        pieces += 1;
    }
}

fn parse(text: &[u8]) -> Vec<Held> {
    let text = String::from_utf8_lossy(text);
    let mut held: Vec<Held> = text.lines().filter_map(flock).collect();
    held.sort_unstable();
    held
}

/// `1: FLOCK  ADVISORY  WRITE 4121 fe:00:10043740 0 EOF`; one who waits has `->` before `FLOCK`.
fn flock(line: &str) -> Option<Held> {
    let mut words = line.split_ascii_whitespace().skip(1);
    words.next().filter(|kind| *kind == "FLOCK")?;
    let pid = words.nth(2)?.parse().ok()?;
    let mut place = words.next()?.split(':');
    let mut hex = || u32::from_str_radix(place.next()?, 16).ok();
    let device = (hex()?, hex()?);
    Some(Held { inode: place.next()?.parse().ok()?, device, pid })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const LIST: &[u8] = b"1: FLOCK  ADVISORY  WRITE 4121 fe:1a:77 0 EOF
1: -> FLOCK  ADVISORY  WRITE 4122 fe:1a:77 0 EOF
2: POSIX  ADVISORY  READ 4123 fe:1a:77 128 128
3: OFDLCK ADVISORY  WRITE -1 fe:1a:77 0 EOF
4: FLOCK  ADVISORY  READ 4124 00:2f:78 0 EOF
5: FLOCK  ADVISORY
";

    #[test]
    fn only_those_who_hold_a_flock_count() {
        let held = [
            Held { inode: 77, device: (0xfe, 0x1a), pid: 4121 },
            Held { inode: 78, device: (0, 0x2f), pid: 4124 },
        ];
        assert_eq!(parse(LIST), held);
    }

    #[test]
    fn a_descriptor_tells_whose_lock_it_is() {
        let told = |mode: &str| {
            format!("pos:\t0\nino:\t77\nlock:\t1: FLOCK  ADVISORY  {mode} 4121 fe:1a:77 0 EOF\n")
        };
        let alone = |text: String, pid| is_alone(text.as_bytes(), pid);
        assert!(alone(told("WRITE"), 4121));
        assert!(!alone(told("WRITE"), 4122)); // it was handed on by a parent that has locked it
        assert!(!alone(told("READ"), 4121));
        assert!(!alone(told("WRITE").replace("FLOCK", "POSIX"), 4121));
        assert!(!alone(told("WRITE").replace("1:", "1: ->"), 4121));
        assert!(!alone("pos:\t0\n".to_owned(), 4121));
    }

    #[test]
    fn a_long_list_counts_when_two_readings_agree() {
        let turn = Cell::new(0);
        let changes = |until: u32| {
            turn.set(0);
            agreed(|| {
                turn.set(turn.get() + 1);
                let pid = turn.get().min(until);
                let line = format!("1: FLOCK  ADVISORY  WRITE {pid} fe:1a:77 0 EOF\n");
                Ok((line.into_bytes(), 2))
            })
        };
        assert_eq!(changes(3), Ok(vec![Held { inode: 77, device: (0xfe, 0x1a), pid: 3 }]));
        assert_eq!(turn.get(), 4);
        changes(u32::MAX).expect_err("it never agrees");
    }

    #[test]
    fn another_device_needs_the_word_of_the_process() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = stat(dir.path()).expect("its stat");
        let held = [7, 8].map(|pid| Held { inode: file.st_ino, device: (0xfff, 0xfff), pid });
        let only_7 = |pid: u32, asked: &Stat| Ok(pid == 7 && asked.st_dev == file.st_dev);
        assert_eq!(lockers(&held, dir.path(), only_7), Ok(vec![7]));
        let untold = Err(CannotTell("permission denied".to_owned()));
        assert_eq!(
            lockers(&held, dir.path(), |_, _| untold.clone().map(|()| true)),
            untold.map(|()| vec![])
        );
    }

    /// Bytes that mean no good.
    mod hostile {
        use super::*;
        use agentctl_testkit::hostile::Target;

        #[test]
        fn any_list_is_read() {
            let run = |text: &[u8]| {
                let held = parse(text);
                assert!(held.len() <= text.split(|byte| *byte == b'\n').count());
            };
            Target::new("locks", run).holds(3_000);
        }
    }
}
