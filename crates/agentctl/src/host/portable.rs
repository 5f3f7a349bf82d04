//! Processes as `sysinfo` tells them, on every operating system it knows.
//!
//! It counts starts in whole seconds and knows no locks and no open files. What it leaves empty
//! may be empty or unreadable: it does not say which, so neither can we.

use super::Refused;
use agentctl_core::{
    host::{CannotTell, Env, Kernel, OpenFile, Process, Spent, Table, Told},
    ident::ProcKey,
};
use jiff::Timestamp;
use rustix::process::geteuid;
use std::{
    ffi::{OsStr, OsString},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::Duration,
};
use sysinfo::{Pid, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System, UpdateKind};

/// What agents that write down a start in clock ticks count by; Linux has had no other since 2.4.
const TICKS_A_SECOND: u64 = 100;

/// Reads through `sysinfo` for one command.
#[derive(Debug, Default)]
pub(crate) struct Portable {
    table: OnceLock<Told<Table>>,
}

impl Portable {
    /// Nothing is read yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// An answer about this very process; its start is compared before and after.
    fn ask<T>(
        &self,
        of: &ProcKey,
        kind: ProcessRefreshKind,
        answer: impl FnOnce(&sysinfo::Process) -> Option<T>,
    ) -> Told<T> {
        let mut system = seen(of, kind)?;
        let told = same(&system, of).map(answer)?;
        let pid = Pid::from_u32(of.pid);
        refresh(&mut system, ProcessesToUpdate::Some(&[pid]), ProcessRefreshKind::nothing());
        same(&system, of)?;
        told.ok_or_else(|| CannotTell("sysinfo does not tell".to_owned()))
    }
}

impl Kernel for Portable {
    fn table(&self) -> Told<&Table> {
        self.table.get_or_init(pass).as_ref().map_err(CannotTell::clone)
    }

    fn exe(&self, of: &ProcKey) -> Told<PathBuf> {
        let kind = ProcessRefreshKind::nothing().with_exe(UpdateKind::Always);
        self.ask(of, kind, |process| process.exe().map(Path::to_owned))
    }

    fn argv(&self, of: &ProcKey) -> Told<Vec<String>> {
        let kind = ProcessRefreshKind::nothing().with_cmd(UpdateKind::Always);
        self.ask(of, kind, |process| {
            let argv: Vec<String> = process.cmd().iter().map(|word| text(word)).collect();
            (!argv.is_empty()).then_some(argv)
        })
    }

    fn cwd(&self, of: &ProcKey) -> Told<PathBuf> {
        let kind = ProcessRefreshKind::nothing().with_cwd(UpdateKind::Always);
        self.ask(of, kind, |process| process.cwd().map(undeleted))
    }

    fn env(&self, of: &ProcKey, names: &[&str]) -> Told<Env> {
        let kind = ProcessRefreshKind::nothing().with_environ(UpdateKind::Always);
        self.ask(of, kind, |process| {
            let lines = process.environ();
            (!lines.is_empty()).then(|| {
                let lines = lines.iter().rev().map(|line| text(line)); // the first counts
                let pair = |line: String| {
                    line.split_once('=')
                        .map(|(name, value)| (name.to_owned(), OsString::from(value)))
                };
                lines.filter_map(pair).filter(|(name, _)| names.contains(&name.as_str())).collect()
            })
        })
    }

    fn is_mine(&self, of: &ProcKey) -> Told<bool> {
        let kind = ProcessRefreshKind::nothing().with_user(UpdateKind::Always);
        self.ask(of, kind, |process| {
            let user = process.effective_user_id().or_else(|| process.user_id())?;
            Some(**user == geteuid().as_raw())
        })
    }

    fn owner(&self, of: &ProcKey) -> Told<u32> {
        let kind = ProcessRefreshKind::nothing().with_user(UpdateKind::Always);
        self.ask(of, kind, |process| {
            process.effective_user_id().or_else(|| process.user_id()).map(|user| **user)
        })
    }

    fn spent(&self, of: &ProcKey) -> Told<Spent> {
        self.ask(of, ProcessRefreshKind::nothing().with_memory().with_cpu(), |process| {
            let cpu = Duration::from_millis(process.accumulated_cpu_time());
            Some(Spent { cpu, memory: process.memory() })
        })
    }

    fn open_files(&self, _: &ProcKey) -> Told<Vec<OpenFile>> {
        Err(CannotTell("sysinfo does not tell open files".to_owned()))
    }

    fn began(&self, pid: u32, ticks: u64) -> Told<Option<ProcKey>> {
        let began = boot()?.saturating_add(ticks / TICKS_A_SECOND);
        let table = self.table()?;
        let process = table.process(pid).filter(|process| !process.zombie);
        Ok(process.filter(|process| process.start.abs_diff(began) <= 1).map(|one| table.key(one)))
    }

    fn ports(&self, _: &ProcKey) -> Told<Vec<SocketAddr>> {
        Err(CannotTell("sysinfo does not tell ports".to_owned()))
    }

    fn is_over(&self, of: &ProcKey) -> bool {
        self.ask(of, ProcessRefreshKind::nothing(), |_| Some(())).is_err()
    }

    /// `sysinfo` does not know it; the `ps` of every Unix does.
    fn terminal(&self, of: &ProcKey) -> Told<Option<PathBuf>> {
        self.ask(of, ProcessRefreshKind::nothing(), |_| {
            let ps = Command::new("ps").args(["-o", "tty=", "-p", &of.pid.to_string()]).output();
            let said = String::from_utf8(ps.ok().filter(|ps| ps.status.success())?.stdout).ok()?;
            let name = said.trim();
            let has = name.starts_with(|first: char| first.is_ascii_alphabetic());
            Some(has.then(|| Path::new("/dev").join(name))) // `?`, `??` or `-` where it has none
        })
    }

    fn lockers(&self, _: &Path) -> Told<Vec<u32>> {
        Err(CannotTell("sysinfo does not tell locks".to_owned()))
    }

    fn has_locked(&self, _: &ProcKey, _: &Path) -> Told<bool> {
        Err(CannotTell("sysinfo does not tell locks".to_owned()))
    }
}

fn pass() -> Told<Table> {
    let taken = Timestamp::now();
    let boot = boot()?.to_string();
    let mut system = System::new().map_err(untold)?;
    refresh(&mut system, ProcessesToUpdate::All, ProcessRefreshKind::nothing());
    let programs = system.processes().values().filter(|process| process.thread_kind().is_none());
    let mut processes: Vec<Process> = programs.map(process).collect();
    if processes.is_empty() {
        return Err(CannotTell("sysinfo sees no process, not even this one".to_owned()));
    }
    processes.sort_unstable_by_key(|process| process.pid);
    Ok(Table { taken, boot, booted: Timestamp::UNIX_EPOCH, ticks: 1, processes })
}

fn process(process: &sysinfo::Process) -> Process {
    Process {
        pid: process.pid().as_u32(),
        parent: process.parent().map_or(0, Pid::as_u32),
        start: process.start_time(),
        comm: text(process.name()),
        zombie: is_dead(process),
        halted: process.status() == sysinfo::ProcessStatus::Stop,
        forked: false,
    }
}

/// Never threads: they would look like processes.
fn refresh(system: &mut System, which: ProcessesToUpdate<'_>, kind: ProcessRefreshKind) {
    system.refresh_processes_specifics(which, true, kind.without_tasks());
}

/// It was this reader that gave the name: boots are counted in seconds.
pub(super) fn is_name(key: &ProcKey) -> bool {
    key.boot.parse::<u64>().is_ok()
}

/// It is the process that was named, and it lives, at this moment.
pub(super) fn check(of: &ProcKey) -> Result<(), Refused> {
    same(&seen(of, ProcessRefreshKind::nothing())?, of).map(|_| ())
}

/// The name of the process that has this pid now.
#[cfg(any(test, not(target_os = "linux")))]
pub(super) fn key_of(pid: u32) -> Result<ProcKey, Refused> {
    let portable = Portable::new();
    let table = portable.table().map_err(|why| Refused::Untold(why.0))?;
    table.process(pid).map(|process| table.key(process)).ok_or(Refused::Gone)
}

/// Whoever has the pid now, if the machine was not booted since.
fn seen(of: &ProcKey, kind: ProcessRefreshKind) -> Result<System, Refused> {
    if boot().map_err(|why| Refused::Untold(why.0))?.to_string() != of.boot {
        return Err(Refused::Rebooted);
    }
    let mut system = System::new().map_err(|why| Refused::Untold(untold(why).0))?;
    let one = [Pid::from_u32(of.pid)];
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&one), true, kind.with_tasks());
    Ok(system)
}

fn same<'a>(system: &'a System, of: &ProcKey) -> Result<&'a sysinfo::Process, Refused> {
    match system.process(Pid::from_u32(of.pid)) {
        Some(process) if process.start_time() != of.start => Err(Refused::Reused),
        // A main thread that ended before the others looks like a zombie; the process lives on.
        Some(process) if !is_dead(process) || has_threads(process) => Ok(process),
        _ => Err(Refused::Gone),
    }
}

fn has_threads(process: &sysinfo::Process) -> bool {
    process.tasks().is_some_and(|tasks| tasks.iter().any(|task| *task != process.pid()))
}

fn is_dead(process: &sysinfo::Process) -> bool {
    matches!(process.status(), ProcessStatus::Zombie | ProcessStatus::Dead)
}

/// Seconds from 1970 to the boot; it moves when the clock is set.
fn boot() -> Told<u64> {
    System::boot_time().map_err(untold)
}

/// Linux marks the path of a directory that was removed.
fn undeleted(path: &Path) -> PathBuf {
    let text = path.as_os_str().as_encoded_bytes();
    match text.strip_suffix(b" (deleted)").and_then(|kept| std::str::from_utf8(kept).ok()) {
        Some(kept) => PathBuf::from(kept),
        None => path.to_owned(),
    }
}

fn text(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}

fn untold(why: impl std::fmt::Display) -> CannotTell {
    CannotTell(format!("sysinfo: {why}"))
}
