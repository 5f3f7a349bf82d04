//! One program run once, and what that cost.

use super::home::Home;
use crate::{
    failure::{Failure, Outcome},
    tool,
};
use nix::sys::resource::{UsageWho, getrusage};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::{
    env,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

/// A program with its words and its home.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    program: PathBuf,
    words: Vec<OsString>,
    home: PathBuf,
    /// A cache of its own, removed before each run.
    cache: Option<PathBuf>,
    /// Run once more before each run that counts.
    again: bool,
}

/// What one run cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    /// By the clock on the wall.
    pub(super) wall: Duration,
    /// Of all cores together, in the program and in the kernel.
    pub(super) cpu: Duration,
    /// Bytes that the kernel handed over when asked to read; what is mapped is not counted.
    pub(super) read: u64,
}

impl Subject {
    /// This program in this home; it sees no other variable than `HOME`, `PATH` and a timezone.
    pub(super) fn new(program: impl Into<PathBuf>, home: &Home) -> Self {
        let (program, words) = (program.into(), Vec::new());
        Self { program, words, home: home.dir.clone(), cache: None, again: false }
    }

    /// With these words.
    pub(super) fn words<T: Into<OsString>>(mut self, words: impl IntoIterator<Item = T>) -> Self {
        self.words.extend(words.into_iter().map(Into::into));
        self
    }

    /// With nothing left of what it kept.
    pub(super) fn cold(mut self) -> Self {
        self.cache = Some(self.home.join(".cache-of-none"));
        self
    }

    /// When the same was asked just before.
    pub(super) fn again(mut self) -> Self {
        self.again = true;
        self
    }

    /// Runs it, what it says is not kept, and says what that cost.
    pub(super) fn run(&self) -> Outcome<Cost> {
        self.prepare();
        let mut command = self.quietly(&[]);
        let before = spent();
        let start = Instant::now();
        let mut child = command.spawn().map_err(|why| self.failed(&why))?;
        let ended = over(&child);
        let wall = start.elapsed();
        let read = ended.map(|()| read(child.id())).map_err(|why| self.failed(&why));
        let ended = child.wait().map_err(|why| self.failed(&why))?;
        // A program that falls over at once would be the fastest of all.
        match ended.code() {
            Some(0 | 8) => Ok(Cost { wall, cpu: spent().saturating_sub(before), read: read? }),
            _ => Err(self.failed(&io::Error::other(ended.to_string()))),
        }
    }

    /// The call, to be run by whoever wants more of it.
    pub(super) fn command(&self) -> Command {
        self.under(&[])
    }

    /// Runs it and keeps what it says.
    pub(super) fn output(&self) -> Outcome<Output> {
        self.under(&[]).output().map_err(|why| self.failed(&why))
    }

    /// The most memory it had at once, in megabytes; `None` without GNU time.
    pub(super) fn peak(&self, scratch: &Path) -> Option<f64> {
        let text = self.watched("time", &["-f", "%M", "-o"], scratch)?;
        // A command that ends with an error is told of in a line before.
        let kilobytes: f64 = text.lines().last()?.trim().parse().ok()?;
        Some(kilobytes * 1024.0 / 1e6)
    }

    /// How often it asked the kernel, all threads together, and how often for a new program; `None`
    /// without strace.
    pub(super) fn syscalls(&self, scratch: &Path) -> Option<(u64, u64)> {
        let text = self.watched("strace", &["-f", "-c", "-U", "name,calls", "-o"], scratch)?;
        let of = |name: &str| {
            let count = text.lines().find_map(|line| line.trim().strip_prefix(name))?;
            count.trim().parse().ok()
        };
        Some((of("total")?, of("execve").unwrap_or(0)))
    }

    /// Every block of instructions that it ran, each once; `None` without an emulator.
    pub(super) fn blocks(&self, scratch: &Path) -> Option<String> {
        self.watched("qemu-x86_64", &["-cpu", "max", "-d", "in_asm", "-D"], scratch)
    }

    /// What another program writes about a run, into a file that is named behind these words.
    fn watched(&self, watcher: &str, words: &[&str], scratch: &Path) -> Option<String> {
        if !tool::is_on_path(watcher) {
            return None;
        }
        self.prepare();
        let report = scratch.join(format!("{watcher}.txt"));
        let report_name = report.to_str()?;
        let mut watch = vec![watcher];
        watch.extend(words.iter().copied().chain([report_name]));
        self.quietly(&watch).status().ok()?;
        fs::read_to_string(&report).ok()
    }

    /// Leaves what the program kept as it is to be found.
    fn prepare(&self) {
        if let Some(cache) = &self.cache {
            // There is none before the first run.
            let _ = fs::remove_dir_all(cache);
        }
        if self.again {
            // What counts is the next run; it will say what is wrong.
            let _ = self.quietly(&[]).status();
        }
    }

    fn quietly(&self, watch: &[&str]) -> Command {
        let mut command = self.under(watch);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// The command, run by another one if any is named.
    fn under(&self, watch: &[&str]) -> Command {
        let mut command = match watch.split_first() {
            None => Command::new(&self.program),
            Some((watcher, words)) => {
                let mut command = Command::new(watcher);
                command.args(words).arg(&self.program);
                command
            }
        };
        command.args(&self.words).env_clear().env("HOME", &self.home).env("TZ", "UTC");
        command.envs(self.cache.iter().map(|cache| ("XDG_CACHE_HOME", cache)));
        command.env("PATH", env::var_os("PATH").unwrap_or_default());
        command.stdin(Stdio::null());
        command
    }

    fn failed(&self, why: &io::Error) -> Failure {
        Failure::io("run", &self.program, why)
    }
}

/// Waits for a process to end, and leaves it to be asked what it did.
fn over(child: &Child) -> io::Result<()> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("it has no pid"))?;
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
    Ok(())
}

/// What a process that has ended has read.
fn read(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let count = text.lines().find_map(|line| line.strip_prefix("rchar:"));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or_default()
}

/// The processor's time of all children that were waited for.
fn spent() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return Duration::ZERO };
    let micros = [usage.user_time(), usage.system_time()]
        .map(|time| i128::from(time.tv_sec()) * 1_000_000 + i128::from(time.tv_usec()));
    Duration::from_micros(u64::try_from(micros.iter().sum::<i128>()).unwrap_or_default())
}
