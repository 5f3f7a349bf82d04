//! Commands of others, run to their end within a time. A common ground: `git` and `ops` both run some.

use agentctl_core::launch::OURS_ALONE;
use rustix::{
    fs::{OFlags, fcntl_setfl},
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid},
};
use std::{
    fmt,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    os::unix::process::CommandExt,
    process::{Child, Command, ExitStatus},
    thread,
    time::{Duration, Instant},
};

/// How long those have to heed a signal whose time is over.
const GRACE: Duration = Duration::from_secs(1);
/// What a group says beyond this, while it runs, is forgotten.
const MOST: u64 = 4 << 20;

/// Takes out of its environment what is for us alone.
pub(crate) fn bare(command: &mut Command) -> &mut Command {
    OURS_ALONE.iter().fold(command, |command, name| command.env_remove(name))
}

/// How a command ended, and what it said.
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    out: File,
    err: File,
}

/// Why nobody knows how a command ended.
pub(crate) enum Unrun {
    /// There is no room for what it says.
    Unheard(io::Error),
    NotStarted(io::Error),
    Lost(io::Error),
    /// It was ended.
    Late(Duration),
}

impl fmt::Display for Unrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unheard(why) => write!(f, "cannot be heard: {why}"),
            Self::NotStarted(why) => write!(f, "cannot be run: {why}"),
            Self::Lost(why) => write!(f, "cannot be waited for: {why}"),
            Self::Late(within) => write!(f, "did not end within {within:?}"),
        }
    }
}

/// Runs a command to its end, and ends it if that takes longer.
pub(crate) fn run(command: &mut Command, within: Duration) -> Result<Ran, Unrun> {
    begin(command, within, Whole::No)
}

/// The same for what may start others: they end with it if its time is over, and what they say beyond reason
/// is forgotten. What it leaves running once it has ended by itself is its own affair.
pub(crate) fn run_group(command: &mut Command, within: Duration) -> Result<Ran, Unrun> {
    begin(command.process_group(0), within, Whole::Yes)
}

fn end_group(child: &mut Child) {
    let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return };
    let _ = kill_process_group(group, Signal::TERM);
    let until = Instant::now() + GRACE;
    // It is not collected yet, so that nobody else's group can have its number.
    let left = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    while matches!(waitid(WaitId::Pid(group), left), Ok(None)) && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }
    let _ = kill_process_group(group, Signal::KILL);
}

/// Whether all of a group is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whole {
    Yes,
    No,
}

fn begin(command: &mut Command, within: Duration, whole: Whole) -> Result<Ran, Unrun> {
    let files = || -> io::Result<_> { Ok((tempfile::tempfile()?, tempfile::tempfile()?)) };
    // Files, not pipes: a full pipe would stop it, and whoever it leaves behind would keep one open.
    let (out, err) = files().map_err(Unrun::Unheard)?;
    for file in [&out, &err] {
        // What is cut begins anew, with no hole before it.
        let _ = fcntl_setfl(file, OFlags::APPEND);
    }
    let twins = out.try_clone().and_then(|out| Ok((out, err.try_clone()?)));
    let (to, errors) = twins.map_err(Unrun::Unheard)?;
    let mut child = command.stdout(to).stderr(errors).spawn().map_err(Unrun::NotStarted)?;
    let look = || match whole {
        Whole::Yes => [&out, &err].into_iter().for_each(bound),
        Whole::No => {}
    };
    match ended(&mut child, within, look).map_err(Unrun::Lost)? {
        Some(status) => Ok(Ran { status, out, err }),
        None => {
            match whole {
                Whole::Yes => end_group(&mut child),
                Whole::No => drop(child.kill()),
            }
            let _ = child.wait();
            Err(Unrun::Late(within))
        }
    }
}

/// One that never stops talking would fill the disk.
fn bound(said: &File) {
    if said.metadata().is_ok_and(|stat| stat.len() > MOST) {
        let _ = said.set_len(0);
    }
}

fn ended(child: &mut Child, within: Duration, look: impl Fn()) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        let status = child.try_wait()?;
        let taken = begun.elapsed();
        if status.is_some() || taken > within {
            return Ok(status);
        }
        look();
        // A part of what it has taken: short calls are many, and wait for no tick.
        thread::sleep((taken / 8).clamp(Duration::from_micros(100), Duration::from_millis(20)));
    }
}

impl Ran {
    /// What it said, at most so many bytes of it.
    pub(crate) fn out(&self, most: u64) -> io::Result<Vec<u8>> {
        read(&self.out, most)
    }

    /// What it complained of, at most so many bytes of it.
    pub(crate) fn err(&self, most: u64) -> io::Result<Vec<u8>> {
        read(&self.err, most)
    }
}

fn read(mut file: &File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_too_long_is_ended() {
        let late = run(Command::new("sleep").arg("1000"), Duration::from_millis(50));
        assert_eq!(
            late.err().map(|why| why.to_string()).as_deref(),
            Some("did not end within 50ms")
        );
    }

    /// What a shell started goes with it, though it heeds no signal.
    #[test]
    fn whoever_it_started_is_ended_too() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = "trap '' TERM; sleep 1000 & echo $! >pid; wait; sleep 1000";
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).current_dir(folder.path());
        assert!(run_group(&mut shell, Duration::from_secs(2)).is_err());
        let pid = std::fs::read_to_string(folder.path().join("pid")).expect("it began");
        let is_there = || {
            let line = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
            line.is_ok_and(|line| !line.contains(") Z"))
        };
        let until = Instant::now() + Duration::from_secs(10);
        while cfg!(target_os = "linux") && is_there() {
            assert!(Instant::now() < until, "it lives");
            thread::yield_now();
        }
    }

    #[test]
    fn all_that_is_said_is_heard() {
        let script = "head -c 300000 /dev/zero; echo no >&2; exit 3";
        let ran = run(Command::new("sh").args(["-c", script]), Duration::from_secs(60));
        let ran = ran.unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(ran.status.code(), Some(3));
        assert_eq!(ran.out(u64::MAX).map(|out| out.len()).ok(), Some(300_000));
        assert_eq!(ran.out(10).ok(), Some(vec![0; 10]));
        assert_eq!(ran.err(u64::MAX).ok().as_deref(), Some(&b"no\n"[..]));
    }
}
