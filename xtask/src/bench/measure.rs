//! One program run once, and what that cost.

use super::home::Home;
use crate::{
    failure::{Failure, Outcome},
    tool,
};
use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

/// A program with its words and its home.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    program: PathBuf,
    words: Vec<OsString>,
    home: PathBuf,
}

impl Subject {
    /// This program in this home; it sees no other variable than `HOME`, `PATH` and a timezone.
    pub(super) fn new(program: impl Into<PathBuf>, home: &Home) -> Self {
        Self { program: program.into(), words: Vec::new(), home: home.dir.clone() }
    }

    /// With these words.
    pub(super) fn words<T: Into<OsString>>(mut self, words: impl IntoIterator<Item = T>) -> Self {
        self.words.extend(words.into_iter().map(Into::into));
        self
    }

    /// Runs it, nothing kept, and says how long that took.
    pub(super) fn time(&self) -> Outcome<Duration> {
        let mut command = self.under(&[]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let start = Instant::now();
        let ended = command.status();
        let took = start.elapsed();
        let ended = ended.map_err(|why| self.failed(&why))?;
        // A program that falls over at once would be the fastest of all.
        match ended.code() {
            Some(0 | 8) => Ok(took),
            _ => Err(self.failed(&std::io::Error::other(ended.to_string()))),
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
        let text = self.watched("time", &["-f", "%M"], scratch)?;
        // A command that ends with an error is told of in a line before.
        let kilobytes: f64 = text.lines().last()?.trim().parse().ok()?;
        Some(kilobytes * 1024.0 / 1e6)
    }

    /// How often it asked the kernel, all threads together; `None` without strace.
    pub(super) fn syscalls(&self, scratch: &Path) -> Option<u64> {
        let text = self.watched("strace", &["-f", "-c", "-U", "name,calls"], scratch)?;
        let total = text.lines().find_map(|line| line.trim().strip_prefix("total"))?;
        total.trim().parse().ok()
    }

    fn watched(&self, watcher: &str, words: &[&str], scratch: &Path) -> Option<String> {
        if !tool::is_on_path(watcher) {
            return None;
        }
        let report = scratch.join(format!("{watcher}.txt"));
        let report_name = report.to_str()?;
        let mut watch = vec![watcher];
        watch.extend(words.iter().copied().chain(["-o", report_name]));
        self.under(&watch).stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
        fs::read_to_string(&report).ok()
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
        command.env("PATH", env::var_os("PATH").unwrap_or_default());
        command.stdin(Stdio::null());
        command
    }

    fn failed(&self, why: &std::io::Error) -> Failure {
        Failure::io("run", &self.program, why)
    }
}
