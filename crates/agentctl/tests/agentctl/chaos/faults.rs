//! What befalls files and directories, and how it is mended.

use super::{
    begin::killed,
    life::{Life, Paper, Stopped},
    step::{Fault, File, Harm, KINDS, Kind},
    world::{DISK, Intent, World, innocent},
};
use crate::{
    kills::{Process, now, until},
    situations::is_inside,
};
use std::{
    fs::{self, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::{Path, PathBuf},
};

/// The pid that was given last in this world.
const LAST: &str = "/proc/sys/kernel/ns_last_pid";
/// So often a pid is asked for: threads take some too.
const TRIES: usize = 20;
const GARBAGE: &[u8] = b"{\"type\":\"assist\xff\x00\xfe{{\x1b[2J";

/// Spoils a file that is there.
fn harmed(path: &Path, harm: Harm) -> bool {
    let Ok(bytes) = fs::read(path) else { return false };
    let file = OpenOptions::new().append(true).open(path).expect("our file");
    match harm {
        Harm::Torn => {
            let whole = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
            let last = whole.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let middle = last + (whole.len() - last) / 2;
            file.set_len(u64::try_from(middle).expect("not long")).expect("our file");
        }
        Harm::Empty => file.set_len(0).expect("our file"),
        Harm::Garbage => (&file).write_all(GARBAGE).expect("our file"),
    }
    true
}

fn away(path: &Path) -> PathBuf {
    path.with_added_extension("away")
}

/// What takes all the room on the disk of a directory.
fn filler(path: &Path) -> PathBuf {
    path.with_file_name("filler")
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("our directory");
}

fn befalls(path: &Path, fault: Fault) {
    match fault {
        Fault::Away => fs::rename(path, away(path)).expect("our directory"),
        Fault::Closed => mode(path, 0o000),
        Fault::Fixed => mode(path, 0o500),
        Fault::Replaced => {
            fs::rename(path, away(path)).expect("our directory");
            fs::write(path, "no directory").expect("our home");
        }
        Fault::Full => {
            let filled = fs::write(filler(path), vec![0; 2 * DISK]);
            assert!(filled.is_err(), "there is room");
        }
    }
}

fn mended(path: &Path, fault: Fault) -> io::Result<()> {
    match fault {
        Fault::Away => fs::rename(away(path), path),
        Fault::Closed | Fault::Fixed => fs::set_permissions(path, Permissions::from_mode(0o700)),
        Fault::Replaced => fs::remove_file(path).and_then(|()| fs::rename(away(path), path)),
        Fault::Full => fs::remove_file(filler(path)),
    }
}

impl World {
    /// A store, unless something befell it before.
    pub(super) fn store_fault(&mut self, kind: Kind, fault: Fault) {
        if self.is_faulty(kind) {
            return self.skip();
        }
        befalls(&self.store(kind), fault);
        self.stores.insert(kind.command(), fault);
    }

    /// All that is ours: every folder of it.
    pub(super) fn state_fault(&mut self, fault: Fault) {
        let disk = fault != Fault::Full || self.disk.is_some();
        if self.state.is_some() || !self.state_dir().is_dir() || !disk {
            return self.skip();
        }
        for dir in self.state_dirs(fault) {
            befalls(&dir, fault);
        }
        self.state = Some(fault);
    }

    /// What may not be written to is so in each folder; all else befalls the first.
    fn state_dirs(&self, fault: Fault) -> Vec<PathBuf> {
        let top = self.state_dir();
        let below =
            ["launches", "stops", "locks", "intents/locks", "intents/fuses", "intents/budgets"];
        let below = below.map(|dir| top.join(dir)).into_iter().filter(|dir| dir.is_dir());
        match fault {
            Fault::Fixed => {
                below.chain([top.join("intents"), top.clone()]).filter(|dir| dir.is_dir()).collect()
            }
            Fault::Away | Fault::Closed | Fault::Replaced | Fault::Full => vec![top],
        }
    }

    /// All is as it was before, but for what is in files.
    pub(super) fn mend(&mut self) {
        self.skipped = self.stores.is_empty() && self.state.is_none();
        let failed: Vec<io::Error> = self.undo();
        assert!(failed.is_empty(), "nobody made another: {failed:?}");
    }

    /// The same, with what came in its way: one that is dropped because something is wrong may not fail again.
    pub(super) fn undo(&mut self) -> Vec<io::Error> {
        let mut done = Vec::new();
        for kind in KINDS {
            let fault = self.stores.remove(kind.command());
            done.extend(fault.map(|fault| mended(&self.store(kind), fault)));
        }
        if let Some(fault) = self.state.take() {
            done.extend(self.state_dirs(fault).iter().map(|dir| mended(dir, fault)));
        }
        done.into_iter().filter_map(Result::err).collect()
    }

    pub(super) fn spoil(&mut self, at: usize, file: File, harm: Harm) {
        let ours = file != File::Record;
        if (ours && self.state.is_some()) || (!ours && self.is_faulty(self.lives[at].kind)) {
            return self.skip();
        }
        let life = &self.lives[at];
        let of_launch = |ending: &str| {
            let launch = life.launch.as_ref()?;
            Some(self.launches_dir().join(format!("{launch}.{ending}")))
        };
        let path = match file {
            File::Record => Some(life.record.clone()),
            File::Receipt => of_launch("json"),
            File::Exit => of_launch("exit"),
            File::Stop => Some(self.stop_receipt(life)),
            File::Budget => self.budgets.get(&life.id).map(|one| one.path.clone()),
        };
        let Some(path) = path.filter(|path| harmed(path, harm)) else { return self.skip() };
        let life = &mut self.lives[at];
        match file {
            File::Record => life.spoiled = true,
            File::Receipt => life.receipt = Paper::Lost,
            File::Exit => life.exit = Paper::Lost,
            File::Stop => life.stopped = Stopped::Perhaps,
            File::Budget => {
                if let Some(one) = self.budgets.get_mut(&life.id) {
                    one.paper = Paper::Lost;
                }
            }
        }
        self.spoiled.insert(path);
    }

    /// The pid of one that is gone is an innocent's now, whose name is the same if it may have one. Only in a world can the
    /// next pid be chosen; else what was written down leads to one, but for when that began.
    pub(super) fn recycle(&mut self, at: usize) {
        let life = &self.lives[at];
        let name = if life.kind == Kind::Claude { "claude" } else { "sleep" };
        if life.lives() || Process::of(life.process.pid).is_some() {
            return self.skip();
        }
        if !is_inside() {
            return self.rewrite(at);
        }
        // Starts are told in hundredths of a second.
        until("later moment", || (now() > life.process.start + 3).then_some(()));
        let last = fs::read_to_string(LAST).expect("our world");
        let heir = (0..TRIES).find_map(|_| {
            fs::write(LAST, (life.process.pid - 1).to_string()).expect("our world");
            let (mut child, process) = innocent(self.home(), name);
            match process.pid == life.process.pid {
                true => Some((child, process)),
                false => {
                    killed(&mut child);
                    None
                }
            }
        });
        // Pids rise: one that is higher than the last is told to be none of this world.
        fs::write(LAST, last.trim_end()).expect("our world");
        self.skipped = heir.is_none();
        self.innocents.extend(heir);
    }

    fn rewrite(&mut self, at: usize) {
        let life = &self.lives[at];
        if self.state.is_some() || self.is_faulty(life.kind) {
            return self.skip();
        }
        let (old, new) = (life.process.pid, self.claude().pid);
        let registry = |pid: u32| self.store(Kind::Claude).join(format!("sessions/{pid}.json"));
        let launch = life.launch.as_ref().filter(|_| life.receipt == Paper::Good);
        let receipt = launch.map(|launch| self.launches_dir().join(format!("{launch}.json")));
        for (from, to) in receipt
            .map(|path| (path.clone(), path))
            .into_iter()
            .chain([(registry(old), registry(new))])
        {
            let Ok(text) = fs::read_to_string(&from) else { continue };
            let text = text.replace(&format!("\"pid\":{old}"), &format!("\"pid\":{new}"));
            let draft = from.with_added_extension("draft");
            fs::write(&draft, text).expect("our file");
            let owner = fs::metadata(&from).expect("our file");
            chown(&draft, Some(owner.uid()), Some(owner.gid())).expect("our file");
            fs::remove_file(&from).expect("our file");
            fs::rename(draft, to).expect("our file");
        }
    }

    /// Where it is written down that this very process was stopped.
    pub(super) fn stop_receipt(&self, life: &Life) -> PathBuf {
        let name = format!("{}-{}.json", life.process.pid, life.process.start);
        self.state_dir().join("stops").join(name)
    }

    /// Somebody may have stopped it once more: then that is written down anew, and no longer spoiled.
    pub(super) fn rewritten(&mut self, at: usize) {
        let path = self.stop_receipt(&self.lives[at]);
        let text = fs::read(&path).unwrap_or_default();
        if serde_json::from_slice::<serde_json::Value>(&text).is_ok() {
            self.spoiled.remove(&path);
        }
    }

    pub(super) fn spoil_lock(&mut self, slot: usize, harm: Harm) {
        let known = self.locks.get_mut(&slot).filter(|_| self.state.is_none());
        let path = known.and_then(|one| lost(one, harm));
        self.skipped = path.is_none();
        self.spoiled.extend(path);
    }

    pub(super) fn spoil_fuse(&mut self, which: u8, harm: Harm) {
        let at = usize::from(which).checked_rem(self.fuses.len()).filter(|_| self.state.is_none());
        let known = at.and_then(|at| self.fuses.values_mut().nth(at));
        let path = known.and_then(|one| lost(one, harm));
        self.skipped = path.is_none();
        self.spoiled.extend(path);
    }
}

fn lost(one: &mut Intent, harm: Harm) -> Option<PathBuf> {
    harmed(&one.path, harm).then(|| {
        one.paper = Paper::Lost;
        one.path.clone()
    })
}
