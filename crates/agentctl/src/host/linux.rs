//! The Linux kernel's word on processes, read from `/proc`.
//!
//! One value serves one command: the table and the locks are read once, at the first question.

mod descriptors;
mod locks;
mod pass;
mod ports;
mod process;
mod spaces;
mod stat;
mod uses;

pub(super) use process::{Door, boot, key_of};
pub(super) use spaces::is_ours;

use super::Refused;
use agentctl_core::{
    host::{CannotTell, Env, Kernel, OpenFile, Spent, Table, Told, Use},
    ident::ProcKey,
};
use jiff::Timestamp;
use rustix::process::geteuid;
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// Reads of `/proc` for one command.
#[derive(Debug, Default)]
pub(crate) struct Proc {
    table: OnceLock<Told<Table>>,
    locks: OnceLock<Told<Vec<locks::Held>>>,
    boot: OnceLock<Told<String>>,
    doors: Mutex<Vec<Arc<Door>>>,
}

/// Doors that stay open. Most commands ask of fewer processes; each is a descriptor.
const DOORS: usize = 64;

impl Proc {
    /// Nothing is read yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn boot(&self) -> Told<&str> {
        self.boot.get_or_init(boot).as_deref().map_err(CannotTell::clone)
    }

    fn locks(&self) -> Told<&[locks::Held]> {
        self.locks.get_or_init(locks::held).as_deref().map_err(CannotTell::clone)
    }

    /// A process of the list of locks.
    fn locker(&self, pid: u32) -> Told<ProcKey> {
        let table = self.table()?;
        let gone = || CannotTell(format!("process {pid} that took the lock is gone"));
        table.process(pid).map(|process| table.key(process)).ok_or_else(gone)
    }

    fn door(&self, of: &ProcKey) -> Told<Arc<Door>> {
        let opened = match self.boot()? {
            boot if boot == of.boot => self.opened(of),
            _ => Err(Refused::Rebooted),
        };
        opened.map_err(CannotTell::from)
    }

    /// Its door, which stays open for the next question if there is room.
    fn opened(&self, of: &ProcKey) -> Result<Arc<Door>, Refused> {
        let doors = || self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(door) = doors().iter().find(|door| door.is_of(of)) {
            return Ok(Arc::clone(door));
        }
        let door = Arc::new(Door::open(of)?);
        let mut doors = doors();
        if doors.len() < DOORS {
            doors.push(Arc::clone(&door));
        }
        Ok(door)
    }
}

impl Kernel for Proc {
    fn table(&self) -> Told<&Table> {
        let pass = || pass::table(self.boot()?);
        self.table.get_or_init(pass).as_ref().map_err(CannotTell::clone)
    }

    fn exe(&self, of: &ProcKey) -> Told<PathBuf> {
        self.door(of)?.link("exe")
    }

    fn argv(&self, of: &ProcKey) -> Told<Vec<String>> {
        self.door(of)?.argv()
    }

    fn cwd(&self, of: &ProcKey) -> Told<PathBuf> {
        self.door(of)?.link("cwd")
    }

    fn env(&self, of: &ProcKey, names: &[&str]) -> Told<Env> {
        self.door(of)?.env(names)
    }

    fn is_mine(&self, of: &ProcKey) -> Told<bool> {
        Ok(self.door(of)?.owner()? == geteuid().as_raw())
    }

    fn open_files(&self, of: &ProcKey) -> Told<Vec<OpenFile>> {
        self.door(of)?.open_files()
    }

    fn uses(&self, of: &ProcKey, dir: &Path) -> Told<Option<Use>> {
        self.door(of)?.uses(dir)
    }

    fn owner(&self, of: &ProcKey) -> Told<u32> {
        self.door(of)?.owner()
    }

    fn spent(&self, of: &ProcKey) -> Told<Spent> {
        self.door(of)?.spent()
    }

    fn began(&self, pid: u32, ticks: u64) -> Told<Option<ProcKey>> {
        let key = ProcKey { pid, start: ticks, boot: self.boot()?.to_owned() };
        let other_clock = match self.opened(&key).and_then(|door| door.check()) {
            Ok(()) => return Ok(Some(key)),
            Err(Refused::Gone | Refused::Rebooted) => None,
            Err(Refused::Reused) => spaces::other_clock(pid),
            Err(Refused::Untold(why)) => return Err(CannotTell(why)),
        };
        let table = self.table()?;
        match spaces::below(table, pid, ticks)? {
            Some(below) => Ok(Some(below)),
            None => match other_clock.or_else(|| spaces::beyond(table, pid, ticks)) {
                Some(why) => Err(CannotTell(why)),
                None => Ok(None),
            },
        }
    }

    fn noted(&self, of: &ProcKey) -> Option<Timestamp> {
        self.door(of).ok()?.noted().ok()?
    }

    fn written(&self, of: &ProcKey) -> Option<u64> {
        self.door(of).ok()?.written().ok()?
    }

    fn sees(&self, of: &ProcKey, path: &Path) -> Option<(u64, u64)> {
        self.door(of).ok()?.sees(path).ok()?
    }

    fn is_over(&self, of: &ProcKey) -> bool {
        match self.opened(of).and_then(|door| door.is_ending()) {
            Ok(ending) => ending,
            Err(Refused::Gone | Refused::Reused | Refused::Rebooted) => true,
            Err(Refused::Untold(_)) => false,
        }
    }

    fn ports(&self, of: &ProcKey) -> Told<Vec<SocketAddr>> {
        let sockets = self.door(of)?.sockets()?;
        ports::listening(&sockets)
    }

    fn terminal(&self, of: &ProcKey) -> Told<Option<PathBuf>> {
        self.door(of)?.terminal()
    }

    fn lockers(&self, path: &Path) -> Told<Vec<u32>> {
        locks::lockers(self.locks()?, path, |pid, file| match self.locker(pid) {
            Err(_) if process::is_hidden(pid) => Ok(true), // hidden from us: it may have it open
            locker => self.door(&locker?)?.has_open(file.st_dev, file.st_ino),
        })
    }

    fn has_locked(&self, of: &ProcKey, path: &Path) -> Told<bool> {
        match locks::file(path)? {
            Some(file) => self.door(of)?.has_locked(path, (file.st_dev, file.st_ino)),
            None => Ok(false),
        }
    }
}
