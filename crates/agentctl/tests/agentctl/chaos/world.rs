//! A home of its own, with agents that do as they are told, innocents who sleep, and all that the driver knows.

use super::{
    heard::Heard,
    life::{Birth, Life, Paper, Turn},
    step::{Fault, KINDS, Kind},
};
use crate::{
    home::{Agents, Answer, Home, unused_user},
    kills::{Process, until},
    situations::{Mounted, is_inside},
};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

thread_local! {
    /// One user for all homes, which come one after the other: there are more homes than users.
    static USER: Option<u32> = unused_user();
}

/// Nobody who is killed lives on for so long.
const ENDS: Duration = Duration::from_secs(20);
/// Whoever is older and is written down nowhere is suspected: `agentctl` says so of Claude Code.
const GROWN: Duration = Duration::from_secs(5);
/// How much room there is on the disk of our own state.
pub(super) const DISK: usize = 4 << 20;
/// So many directories are worked in.
pub(super) const DIRS: usize = 4;

/// Something that a person asked for, by its file.
pub(super) struct Intent {
    pub(super) path: PathBuf,
    pub(super) paper: Paper,
}

/// The home, and what is true of it.
pub(super) struct World {
    pub(super) lives: Vec<Life>,
    pub(super) innocents: Vec<(Child, Process)>,
    /// Between these two they began.
    began: [Instant; 2],
    pub(super) daemon: Option<Child>,
    pub(super) heard: Option<Heard>,
    /// By directory.
    pub(super) locks: BTreeMap<usize, Intent>,
    /// By name.
    pub(super) fuses: BTreeMap<String, Intent>,
    /// By session.
    pub(super) budgets: BTreeMap<String, Intent>,
    /// What befell the store of an agent, by its command.
    pub(super) stores: BTreeMap<&'static str, Fault>,
    /// What befell the directory of our own state.
    pub(super) state: Option<Fault>,
    /// Files that the driver spoiled: records, receipts, intents.
    pub(super) spoiled: BTreeSet<PathBuf>,
    pub(super) known: BTreeSet<PathBuf>,
    /// Launches so far, for their labels.
    pub(super) launches: usize,
    /// The session that the last step was about.
    pub(super) touched: Option<usize>,
    /// How often something was compared with the truth.
    pub(super) checks: Cell<u64>,
    /// The last step could not be done.
    pub(super) skipped: bool,
    /// The small disk of our own state, if it has one.
    pub(super) disk: Option<Mounted>,
    /// The last: what is left is ended with it.
    pub(super) agents: Agents,
}

impl Kind {
    /// As `agentctl` calls it.
    pub(super) fn agent(self) -> &'static str {
        match self {
            Self::Claude => "claude-code",
            Self::Codex => "codex",
            Self::Pi => "pi",
        }
    }

    /// Its command.
    pub(super) fn command(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Pi => "pi",
        }
    }

    fn store(self) -> &'static str {
        match self {
            Self::Claude => ".claude",
            Self::Codex => ".codex",
            Self::Pi => ".pi/agent/sessions",
        }
    }
}

impl World {
    pub(super) fn new() -> Self {
        let agents = Agents { home: Home::of(USER.with(|user| *user)) };
        let home = &agents.home;
        fs::create_dir(home.program("innocent")).expect("the home is new");
        for kind in KINDS {
            let interpreter = home.program(kind.command());
            copied("/usr/bin/perl", &interpreter);
            let text = format!("#!{}\n{}", interpreter.display(), include_str!("agent.pl"));
            let script = home.write(format!("bin/{}", kind.command()), text);
            fs::set_permissions(script, Permissions::from_mode(0o755)).expect("our file");
            fs::create_dir_all(home.path(kind.store())).expect("the home is new");
        }
        let slots = (0..DIRS).map(|slot| format!("d{slot}"));
        for dir in slots.chain(["orders", "born", "elsewhere"].map(str::to_owned)) {
            fs::create_dir(home.path(dir)).expect("the home is new");
        }
        let disk = is_inside().then(|| {
            let state = home.path(".local/state");
            fs::create_dir_all(&state).expect("the home is new");
            Mounted::memory(&format!("size={DISK},mode=700"), &state)
        });
        agents.own();
        let before = Instant::now();
        let innocents = ["sleep", "claude", "codex"].map(|name| innocent(home, name)).into();
        Self {
            lives: Vec::new(),
            innocents,
            began: [before, Instant::now()],
            daemon: None,
            heard: None,
            locks: BTreeMap::new(),
            fuses: BTreeMap::new(),
            budgets: BTreeMap::new(),
            stores: BTreeMap::new(),
            state: None,
            spoiled: BTreeSet::new(),
            known: BTreeSet::new(),
            launches: 0,
            touched: None,
            checks: Cell::new(0),
            skipped: false,
            disk,
            agents,
        }
    }

    pub(super) fn home(&self) -> &Home {
        &self.agents.home
    }

    pub(super) fn ask(&self, words: &[&str]) -> Answer {
        self.home().run(words)
    }

    pub(super) fn state_dir(&self) -> PathBuf {
        self.home().path(".local/state/agentctl")
    }

    pub(super) fn launches_dir(&self) -> PathBuf {
        self.state_dir().join("launches")
    }

    pub(super) fn store(&self, kind: Kind) -> PathBuf {
        self.home().path(kind.store())
    }

    pub(super) fn is_faulty(&self, kind: Kind) -> bool {
        self.stores.contains_key(kind.command())
    }

    pub(super) fn dir(&self, slot: usize) -> String {
        self.home().path(format!("d{slot}")).to_string_lossy().into_owned()
    }

    /// Nobody else may work there.
    pub(super) fn is_taken(&self, slot: usize) -> bool {
        let works = |life: &Life| life.dir == slot && life.lives();
        self.locks.contains_key(&slot) || self.lives.iter().any(works)
    }

    /// Our own state cannot be read.
    pub(super) fn is_cut(&self) -> bool {
        self.state.is_some_and(|fault| match fault {
            Fault::Away | Fault::Closed | Fault::Replaced => true,
            Fault::Fixed | Fault::Full => false,
        })
    }

    /// Our own state can be read, and there is no room for more: whatever is said to be done is done, and nothing else.
    pub(super) fn is_full(&self) -> bool {
        self.state == Some(Fault::Full)
    }

    /// Nothing of our own state can be changed.
    pub(super) fn is_fixed(&self) -> bool {
        self.state.is_some() && !self.is_full()
    }

    /// Notes that nothing was done.
    pub(super) fn skip(&mut self) {
        self.skipped = true;
    }

    /// A Pi of ours that lives and whose receipt is gone: nothing says for certain which session it has.
    pub(super) fn is_loose(&self, life: &Life) -> bool {
        let lost = life.receipt != Paper::Good || self.is_cut();
        life.kind == Kind::Pi && lost && life.lives()
    }

    /// A session that somebody may have of whom that is so: one of a Pi in the same directory.
    pub(super) fn may_be_loose(&self, life: &Life) -> bool {
        let there = |other: &Life| other.dir == life.dir && self.is_loose(other);
        life.kind == Kind::Pi && self.lives.iter().any(there)
    }

    /// The innocent that may be taken for a Claude Code which is written down nowhere.
    pub(super) fn claude(&self) -> Process {
        self.innocents[1].1
    }

    /// Waits until the innocents are as old as that takes.
    pub(super) fn age(&mut self) {
        self.skipped = self.is_grown();
        until("age", || self.is_grown().then_some(()));
    }

    /// They certainly are.
    pub(super) fn is_grown(&self) -> bool {
        self.began[1].elapsed() > GROWN
    }

    /// A session of Claude Code that left in the middle of its turn, and took along what was written down of it: for all that
    /// can be told it is the innocent's, unless we launched it and saw its end (decision 0013).
    pub(super) fn is_ownerless(&self, life: &Life) -> bool {
        let seen = life.receipt == Paper::Good && life.exit == Paper::Good && !self.is_cut();
        let left = !life.lives() && life.turn != Turn::Rest && !seen;
        life.kind == Kind::Claude
            && left
            && self.began[0].elapsed() > GROWN
            && !self.is_registered(life)
    }

    fn is_registered(&self, life: &Life) -> bool {
        let files = fs::read_dir(self.store(Kind::Claude).join("sessions"));
        let texts = files.into_iter().flatten().flatten().map(|file| fs::read(file.path()));
        let names = |text: Vec<u8>| String::from_utf8_lossy(&text).contains(&life.id);
        texts.flatten().any(names)
    }

    /// A receipt of a launch is destroyed, and with it perhaps a key.
    pub(super) fn has_lost_keys(&self) -> bool {
        let dir = self.launches_dir();
        let receipt =
            |path: &PathBuf| path.starts_with(&dir) && path.extension() == Some("json".as_ref());
        self.spoiled.iter().any(receipt)
    }

    /// The session that a step means.
    pub(super) fn pick(&mut self, who: u8) -> Option<usize> {
        let at = usize::from(who).checked_rem(self.lives.len());
        self.touched = at;
        at
    }

    /// What was born since somebody asked last.
    pub(super) fn births(&mut self) -> Vec<Birth> {
        let mut all = Birth::all(&self.home().path("born"));
        all.retain(|birth| self.known.insert(birth.file.clone()));
        all
    }

    /// The only new file in a directory.
    pub(super) fn fresh(&self, dir: &str, before: &BTreeSet<PathBuf>) -> Option<PathBuf> {
        self.files(dir).into_iter().find(|path| !before.contains(path))
    }

    /// Files of intents of this kind.
    pub(super) fn files(&self, kind: &str) -> BTreeSet<PathBuf> {
        let entries = fs::read_dir(self.state_dir().join("intents").join(kind));
        entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    }

    /// What becomes of a file that is to be written now.
    pub(super) fn paper(&self) -> Paper {
        if self.state.is_some() { Paper::Lost } else { Paper::Good }
    }
}

fn copied(from: &str, to: &Path) {
    let done = Command::new("cp").arg(from).arg(to).status().expect("cp");
    assert!(done.success(), "cannot copy {from}");
}

/// Somebody who sleeps, elsewhere, and is none of our business whatever he is called.
pub(super) fn innocent(home: &Home, name: &str) -> (Child, Process) {
    let program = home.program("innocent").join(name);
    if !program.exists() {
        copied("/bin/sleep", &program);
    }
    let mut command = home.command(program);
    command.arg("100000").current_dir(home.path("elsewhere"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().expect("a sleeper");
    let process = Process::of(child.id()).expect("it sleeps");
    (child, process)
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.undo(); // else not all can be removed
        let children = self.innocents.iter_mut().map(|(child, _)| child);
        for child in children.chain(self.daemon.as_mut()) {
            let _ = child.kill(); // ours, and not collected
            let _ = child.wait();
        }
        self.lives.clear();
        self.heard = None;
        // Whoever comes next has the same user. If one does not go, that is seen there.
        let began = Instant::now();
        while !self.everybody().is_empty() && began.elapsed() < ENDS {
            for pid in self.agents.alive() {
                let pid = Pid::from_raw(pid).expect("a pid");
                let _ = kill_process(pid, Signal::KILL); // it carries our mark; it may be gone
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}
