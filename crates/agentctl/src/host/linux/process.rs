//! What can be asked about one process, and only about that very one.

use super::{
    super::Refused,
    descriptors::Descriptor,
    pass::{LINE, READ, open_dir},
    stat::Line,
};
use agentctl_core::{
    host::{CannotTell, Env, Spent, Told},
    ident::ProcKey,
};
use jiff::Timestamp;
use rustix::{
    buffer::spare_capacity,
    fd::{AsFd, BorrowedFd, OwnedFd},
    fs::{CWD, Mode, OFlags, RawDir, Stat, fstat, openat, readlinkat, stat},
    io::{Errno, read},
    param::{clock_ticks_per_second, page_size},
    path::Arg,
    process::{Pid, test_kill_process},
};
use std::{
    collections::BTreeMap,
    ffi::{CStr, OsString},
    fs::File,
    io::Read,
    iter,
    mem::MaybeUninit,
    os::unix::ffi::OsStringExt,
    path::PathBuf,
    sync::OnceLock,
    time::Duration,
};

/// Place of [`Line::field`] with the device of its terminal.
const TERMINAL: usize = 7;
/// Places of [`Line::field`] with the time it has used, in clock ticks, and its memory in pages.
const OWN_TIME: usize = 14;
const KERNEL_TIME: usize = 15;
const PAGES: usize = 24;
/// Places of [`Line::field`] that are zero until the program is loaded.
const ARGUMENTS_END: usize = 49;
const ENVIRONMENT_END: usize = 51;
/// Place of the signals that a thread has yet to take: the end of a process kills each of its threads.
const PENDING: usize = 31;
/// Most arguments and environments are shorter.
const PIECE: usize = 8 << 10;
const KILL: u64 = 1 << 8;

/// Which boot this is.
pub(crate) fn boot() -> Told<String> {
    let path = "/proc/sys/kernel/random/boot_id";
    let mut text = [0; 64];
    match File::open(path).and_then(|mut file| file.read(&mut text)) {
        Ok(length) => Ok(self::text(text.get(..length).unwrap_or_default()).trim_end().to_owned()),
        Err(error) => Err(CannotTell(format!("{path}: {error}"))),
    }
}

/// The name of the process that has this pid now. Only its parent knows that it is the right one.
pub(crate) fn key_of(pid: u32) -> Result<ProcKey, Refused> {
    let line = std::fs::read(format!("/proc/{pid}/stat")).map_err(|_| Refused::Gone)?;
    let seen = Line::parse(&line).and_then(|line| line.numbers());
    let seen = seen.ok_or_else(|| Refused::Untold("its stat line is not understood".to_owned()))?;
    let boot = boot().map_err(|why| Refused::Untold(why.0))?;
    Ok(ProcKey { pid, start: seen.start, boot })
}

/// An open `/proc/<pid>` of the process that was named. The kernel ties the descriptor to the process and not to
/// the number, so that whatever is read through it is the process's own, or nothing.
#[derive(Debug)]
pub(crate) struct Door {
    pub(super) dir: OwnedFd,
    pub(super) of: ProcKey,
    /// What the kernel says of the directory, if it said so while the process was whole.
    found: Option<Stat>,
    /// What it has open, as it was when that was first asked.
    pub(super) descriptors: OnceLock<Vec<Descriptor>>,
}

impl Door {
    /// It is the process that was named, and it lives.
    pub(crate) fn open(of: &ProcKey) -> Result<Self, Refused> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = openat(CWD, format!("/proc/{}", of.pid), flags, Mode::empty());
        let dir = dir.map_err(|why| unseen(of.pid, why))?;
        let found = fstat(&dir).map_err(|why| unseen(of.pid, why))?;
        let mut door = Self { dir, of: of.clone(), found: None, descriptors: OnceLock::new() };
        door.found = (!door.is_exiting()?).then_some(found);
        Ok(door)
    }

    /// Whose it is.
    pub(super) fn is_of(&self, key: &ProcKey) -> bool {
        self.of == *key
    }

    /// It still is the process that was named, and lives.
    pub(super) fn check(&self) -> Result<(), Refused> {
        self.look(|_| ())
    }

    /// Its memory, and with it its words, may be gone.
    fn is_exiting(&self) -> Result<bool, Refused> {
        self.look(|line| line.numbers().is_some_and(|seen| seen.exiting))
    }

    fn look<T>(&self, answer: impl FnOnce(&Line<'_>) -> T) -> Result<T, Refused> {
        let mut line = [0; LINE];
        let file = self.file(c"stat").map_err(|why| unseen(self.of.pid, why))?;
        let length = read(&file, &mut line).map_err(refused)?;
        let line = Line::parse(line.get(..length).unwrap_or_default());
        let (line, seen) = line
            .and_then(|line| Some((line, line.numbers()?)))
            .ok_or_else(|| Refused::Untold("its stat line is not understood".to_owned()))?;
        match seen {
            seen if seen.start != self.of.start => Err(Refused::Reused),
            seen if seen.zombie => Err(Refused::Gone),
            _ => Ok(answer(&line)),
        }
    }

    /// Every thread of it is on its way out. A main thread may go alone, and then the others work on.
    pub(super) fn is_ending(&self) -> Result<bool, Refused> {
        let killed = |line: &Line<'_>| line.field(PENDING).is_some_and(|set| set & KILL != 0);
        let exiting =
            |line: &Line<'_>| killed(line) || line.numbers().is_some_and(|seen| seen.exiting);
        let mut all = self.look(exiting)?;
        let walked = self.each(c"task", |tasks, name| {
            let thread = openat(tasks, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
            let file = openat(&thread, c"stat", READ, Mode::empty())?;
            let mut line = [0; LINE];
            let length = read(&file, &mut line)?;
            all &= Line::parse(line.get(..length).unwrap_or_default())
                .is_none_or(|line| exiting(&line));
            Ok(())
        });
        walked.map(|()| all).map_err(refused)
    }

    /// The answer, if the process was still whole after it was given: one that is about to end shows fewer files, none of
    /// its words, and another owner.
    pub(super) fn ask<T>(&self, answer: Result<T, Errno>) -> Told<T> {
        if !self.is_loaded() && self.is_exiting()? {
            return Err(CannotTell("process is ending".to_owned()));
        }
        answer.map_err(|why| CannotTell(reason(why)))
    }

    /// It has its memory, which a process that ends gives up before its files and its directory, and gets back only if another
    /// thread of it loads a program. To ask this takes less than half of what its stat line takes; where it cannot be told, that is read.
    fn is_loaded(&self) -> bool {
        readlinkat(&self.dir, c"exe", Vec::new()).is_ok()
    }

    /// The answer where it says something, which is the process's own then; else why it does not.
    fn ask_said<T>(&self, answer: Result<T, Errno>, is_said: impl Fn(&T) -> bool) -> Told<T> {
        match answer {
            Ok(answer) if is_said(&answer) => Ok(answer),
            answer => self.ask(answer),
        }
    }

    /// The same for words: none is also what a program gives that is being loaded.
    fn ask_bytes(&self, name: &CStr, loaded: usize) -> Told<Vec<u8>> {
        let bytes = self.ask_said(self.piece(name), |bytes| !bytes.is_empty())?;
        if bytes.is_empty() && self.look(|line| line.field(loaded))?.unwrap_or(0) == 0 {
            return Err(CannotTell("no program is loaded in it".to_owned()));
        }
        Ok(bytes)
    }

    fn file(&self, name: impl Arg) -> Result<OwnedFd, Errno> {
        openat(&self.dir, name, READ, Mode::empty())
    }

    pub(super) fn bytes(&self, name: &CStr) -> Result<Vec<u8>, Errno> {
        all(self.file(name)?, Vec::new())
    }

    /// What the kernel gives in one piece where there is room, such as words: if some is left, that was all.
    pub(super) fn piece(&self, name: impl Arg) -> Result<Vec<u8>, Errno> {
        let file = self.file(name)?;
        let mut bytes = Vec::with_capacity(PIECE);
        match read(&file, spare_capacity(&mut bytes)) {
            Ok(length) if length < PIECE => Ok(bytes),
            Ok(_) | Err(Errno::INTR) => all(file, bytes),
            Err(why) => Err(why),
        }
    }

    /// Where one of its links leads.
    pub(super) fn link(&self, name: &str) -> Told<PathBuf> {
        let target = self.ask_said(readlinkat(&self.dir, name, Vec::new()), |_| true)?;
        let unreachable = || CannotTell("it lies outside of what can be seen here".to_owned());
        path_of(target.into_bytes()).ok_or_else(unreachable)
    }

    fn found(&self) -> Told<Stat> {
        self.found.ok_or_else(|| CannotTell("process is ending".to_owned()))
    }

    /// The effective user.
    pub(super) fn owner(&self) -> Told<u32> {
        self.found().map(|found| found.st_uid)
    }

    /// The kernel dates a directory of `/proc` when somebody first looks at it, as most programs do at their own when they
    /// begin, and keeps that while it has room. Other kernels give the first moment of all, and mean nothing.
    pub(super) fn noted(&self) -> Told<Option<Timestamp>> {
        let found = self.found()?;
        let noted = Timestamp::new(found.st_mtime, i32::try_from(found.st_mtime_nsec).unwrap_or(0));
        Ok(noted.ok().filter(|noted| *noted != Timestamp::UNIX_EPOCH))
    }

    /// How many bytes it has given to the kernel to be written.
    pub(super) fn written(&self) -> Told<Option<u64>> {
        let text = text(&self.ask(self.piece(c"io"))?);
        Ok(text.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok()))
    }

    /// What it has used, from the same line that says who it is.
    pub(super) fn spent(&self) -> Told<Spent> {
        let numbers = self.look(|line| {
            Some((line.field(OWN_TIME)?, line.field(KERNEL_TIME)?, line.field(PAGES)?))
        })?;
        let (own, kernel, pages) =
            numbers.ok_or_else(|| CannotTell("what it uses is not told".to_owned()))?;
        let ticks = own.saturating_add(kernel).saturating_mul(1000);
        let cpu = Duration::from_millis(ticks / clock_ticks_per_second().max(1));
        Ok(Spent { cpu, memory: pages.saturating_mul(page_size() as u64) })
    }

    /// The device of its terminal.
    pub(super) fn terminal(&self) -> Told<Option<PathBuf>> {
        let number = self.look(|line| line.field(TERMINAL))?;
        let number = number.ok_or_else(|| CannotTell("its terminal is not told".to_owned()))?;
        Ok((number != 0).then(|| device(number)))
    }

    /// The arguments as they stand now; some programs write over them.
    pub(super) fn argv(&self) -> Told<Vec<String>> {
        let bytes = self.ask_bytes(c"cmdline", ARGUMENTS_END)?;
        if bytes.is_empty() {
            return Ok(Vec::new());
        }
        let bytes = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
        Ok(bytes.split(|&byte| byte == 0).map(text).collect())
    }

    /// The environment the program was started with.
    pub(super) fn env(&self, names: &[&str]) -> Told<Env> {
        let bytes = self.ask_bytes(c"environ", ENVIRONMENT_END)?;
        let mut env = BTreeMap::new();
        for line in ended_by_nul(&bytes) {
            let value = |name: &str| line.strip_prefix(name.as_bytes())?.strip_prefix(b"=");
            let mut alike = names.iter().filter(|name| name.as_bytes().first() == line.first());
            if let Some((name, value)) = alike.find_map(|name| Some((*name, value(name)?))) {
                // The first counts, as for getenv.
                env.entry(name.to_owned()).or_insert_with(|| OsString::from_vec(value.to_vec()));
            }
        }
        Ok(env)
    }

    /// Sees every numbered entry of one of its directories.
    pub(super) fn each(
        &self,
        dir: &CStr,
        mut see: impl FnMut(BorrowedFd<'_>, &CStr) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let fds = open_dir(self.dir.as_fd(), dir)?;
        let mut names = [MaybeUninit::<u8>::uninit(); 8 * 1024];
        let mut names = RawDir::new(&fds, &mut names);
        while let Some(entry) = names.next() {
            let entry = entry?;
            if !entry.file_name().to_bytes().first().is_some_and(u8::is_ascii_digit) {
                continue;
            }
            match see(fds.as_fd(), entry.file_name()) {
                Ok(()) | Err(Errno::NOENT | Errno::SRCH) => {} // closed or ended since
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }
}

/// All that a file of the kernel's says, behind what was read of it.
pub(super) fn all(file: OwnedFd, mut bytes: Vec<u8>) -> Result<Vec<u8>, Errno> {
    loop {
        bytes.reserve(PIECE);
        match read(&file, spare_capacity(&mut bytes)) {
            Ok(0) => return Ok(bytes),
            Ok(_) | Err(Errno::INTR) => {}
            Err(why) => return Err(why),
        }
    }
}

/// A path of the kernel's; pipes, sockets and what lies outside of our root have none.
pub(super) fn path_of(mut target: Vec<u8>) -> Option<PathBuf> {
    const DELETED: &[u8] = b" (deleted)";
    if target.ends_with(DELETED) {
        target.truncate(target.len() - DELETED.len());
    }
    target.starts_with(b"/").then(|| PathBuf::from(OsString::from_vec(target)))
}

/// The path of a terminal, by the numbers that the kernel's list of devices gives to each kind.
fn device(number: u64) -> PathBuf {
    let (major, minor) = (number >> 8 & 0xfff, number & 0xff | number >> 12 & 0xfff00);
    PathBuf::from(match (major, minor) {
        (136..=143, _) => format!("/dev/pts/{}", (major - 136) * 256 + minor),
        (4, 0..64) => format!("/dev/tty{minor}"),
        (4, _) => format!("/dev/ttyS{}", minor - 64),
        _ => format!("/dev/char/{major}:{minor}"),
    })
}

/// Texts of which each ends with a nul, but perhaps the last. A byte at a time would take as long as the kernel does to tell them.
fn ended_by_nul(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    iter::from_fn(move || {
        let one = CStr::from_bytes_until_nul(rest).map_or(rest, CStr::to_bytes);
        let all = std::mem::take(&mut rest);
        rest = all.get(one.len() + 1..).unwrap_or_default();
        (!all.is_empty()).then_some(one)
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Why nothing can be read of a pid: it is nobody's any more, or somebody's whom `/proc` hides.
fn unseen(pid: u32, why: Errno) -> Refused {
    match refused(why) {
        Refused::Gone if is_hidden(pid) => {
            Refused::Untold("it lives, and /proc hides it from us".to_owned())
        }
        why => why,
    }
}

/// Somebody has this pid, and `/proc` does not show them: with `hidepid`, to nobody but their user and root.
pub(super) fn is_hidden(pid: u32) -> bool {
    let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    let lives = || matches!(test_kill_process(number), Ok(()) | Err(Errno::PERM));
    let shown = || !matches!(stat(format!("/proc/{pid}/stat")), Err(Errno::NOENT));
    lives() && !shown() && lives() // else it has ended, or begun, in between
}

fn refused(why: Errno) -> Refused {
    match why {
        Errno::NOENT | Errno::SRCH => Refused::Gone,
        why => Refused::Untold(reason(why)),
    }
}

/// An error of the kernel's in plain words.
pub(super) fn reason(why: Errno) -> String {
    match why {
        Errno::ACCESS | Errno::PERM => "permission denied".to_owned(),
        Errno::NOENT => "the kernel has none for it".to_owned(),
        Errno::SRCH => "process is gone".to_owned(),
        why => std::io::Error::from(why).to_string(),
    }
}
