//! The sessions that leave a trail to a process, and where each trail leads.

use super::{Candidate, Live, Lost, Survey};
use crate::{
    agent::{About, Claim, Claims, Part, Program, Stub, Trail},
    evidence::{Holder, Role},
    host::{Process, Table, Told},
    ident::ProcKey,
    proof::Source,
    receipt::Launched,
};
use jiff::{SignedDuration, Timestamp};
use std::{
    io,
    path::{Path, PathBuf},
};

/// An agent has registered itself by then.
const YOUNG: SignedDuration = SignedDuration::from_secs(5);

impl Survey<'_> {
    /// Follows the claims of a store that somebody may stand behind.
    pub(super) fn claimed(&mut self, store: &Path) {
        let claims = self.agent.claims(self.host, store);
        self.follow_all(store, claims);
    }

    /// Follows those that a session, or any, has left behind.
    pub(super) fn left(&mut self, store: &Path, id: Option<&str>) {
        let claims = self.agent.stale(self.host, store, id);
        self.follow_all(store, claims);
    }

    fn follow_all(&mut self, store: &Path, claims: io::Result<Claims>) {
        let claims = match claims {
            Ok(claims) => claims,
            Err(why) => {
                self.unread = true;
                self.unclear.push(store.to_owned());
                self.unheard(store, store);
                return self.problem(store.to_owned(), why);
            }
        };
        if !claims.problems.is_empty() {
            self.unclear.push(store.to_owned());
        }
        if claims.closed {
            self.shut.push(store.to_owned());
        }
        self.untold(store, &claims);
        for trouble in claims.problems {
            self.unheard(store, &trouble.path);
            self.problem(trouble.path, trouble.why);
        }
        // The first of two holders says when it began and what it is called: not whichever name the
        // directory gave first.
        let mut found = claims.claims;
        found.sort_by(|a, b| place(a).cmp(&place(b)));
        for claim in found {
            self.follow(store, claim);
        }
    }

    /// What alone would tell who has a session could not be read.
    fn unheard(&mut self, store: &Path, path: &Path) {
        if self.agent.speaks_of(path, path) {
            self.unheard.push((store.to_owned(), path.to_owned()));
        }
    }

    /// Whoever has a claim of which nothing can be read may hold what was written since it began; where not even the
    /// names of claims can be read, so may other users' processes, and those of the agent that hold nothing unless a
    /// claim says so. One that has only just begun names no session yet.
    fn untold(&mut self, store: &Path, claims: &Claims) {
        if claims.untold.is_empty() && !claims.closed {
            return; // as nearly always: nobody need be looked at
        }
        let Ok(table) = self.host.table() else { return };
        let likely = |one: &&Process| !one.zombie && self.agent.may_be(&one.comm);
        let likely: Vec<&Process> = table.processes.iter().filter(likely).collect();
        for process in likely {
            let key = table.key(process);
            let grown = is_grown(table.since(process.start), table);
            let named = claims.untold.iter().find(|one| one.pid == process.pid);
            let named = named.filter(|one| !one.empty || grown);
            if let Some(one) = named {
                self.problem(one.trouble.path.clone(), &one.trouble.why);
            }
            let may_claim = claims.closed && self.may_claim(process, &key);
            match self.live.iter_mut().find(|one| one.key == key) {
                Some(one) => one.untold |= named.is_some() || claims.closed && one.uses(store),
                None if named.is_some() || may_claim => {
                    let stores = vec![store.to_owned()];
                    let one = Live { stores, untold: true, ..Live::new(table, process) };
                    self.strangers.push(self.dated(one));
                }
                None => {}
            }
        }
    }

    /// Only a claim would tell: it is another user's, or belongs to the agent and has no session by its arguments, as
    /// Claude Code 2.1.197 has workers that are started before there is a session for them.
    fn may_claim(&self, process: &Process, key: &ProcKey) -> bool {
        let helps = || {
            let (exe, argv) = (self.host.exe(key).ok(), self.host.argv(key).unwrap_or_default());
            let program = Program { comm: &process.comm, exe: exe.as_deref(), argv: &argv };
            self.agent.part(&program) == Some(Part::Bystander)
        };
        self.host.is_mine(key) == Ok(false) || helps()
    }

    /// It ought to be written down by now, and is not: somebody removed that, or it begins or ends slowly.
    pub(super) fn is_unregistered(&self, process: &Live) -> bool {
        let Ok(table) = self.host.table() else { return false };
        let registers = self.agent.registers() && !process.mapped;
        registers && is_grown(process.since, table)
    }

    pub(super) fn follow(&mut self, store: &Path, claim: Claim) {
        match &claim.trail {
            Trail::Process { pid, start, written } => {
                match self.written_down(*pid, *start, *written) {
                    Found::Same(key) if self.is_stranger(&key) => {
                        let why = format!("pid {pid} is not known to be such an agent");
                        self.veil(store, &claim.session, why);
                    }
                    Found::Same(key) => self.hold(store, &claim, key, claim.source.clone()),
                    Found::Gone(process) => {
                        self.live.retain(|seen| seen.key != process); // ended since the pass
                        self.lose(store, claim.session, Source::Gone { process });
                    }
                    Found::OtherBoot => self.lose(store, claim.session, claim.source),
                    Found::CannotTell(why) => self.veil(store, &claim.session, why),
                }
            }
            Trail::Flock(path) => match self.lockers(path) {
                Ok(pids) if pids.is_empty() => {
                    self.lose(store, claim.session, Source::NoLock { path: path.clone() });
                }
                Ok(pids) => {
                    for pid in pids {
                        let trail = Source::Lock { path: path.clone(), pid };
                        let Some(key) = self.alive(pid) else {
                            // A process of another container, or one that began since.
                            let why =
                                format!("held by pid {pid}, which is not in the process table");
                            self.veil(store, &claim.session, why);
                            continue;
                        };
                        if self.is_stranger(&key) {
                            self.veil(store, &claim.session, stranger(pid));
                            continue;
                        }
                        self.hold(store, &claim, key, trail);
                    }
                }
                Err(_) => {
                    if let Some(why) = self.blind.clone() {
                        self.veil(store, &claim.session, why);
                    } // else live processes stay suspects
                }
            },
            Trail::Known(key) => self.hold(store, &claim, key.clone(), claim.source.clone()),
            Trail::Server { silent } => match self.is_answered(store) {
                true => self.doubt(store, &claim.session),
                false => self.veil(store, &claim.session, (*silent).to_owned()),
            },
        }
    }

    /// Pids that hold a flock. Whoever has it alone is told by the process itself; the kernel is asked only for what no process
    /// of the agent has.
    fn lockers(&self, path: &Path) -> Told<Vec<u32>> {
        let has = |one: &&Live| self.host.has_locked(&one.key, path) == Ok(true);
        match self.live.iter().find(has) {
            Some(one) => Ok(vec![one.key.pid]),
            None => self.host.lockers(path),
        }
    }

    fn alive(&self, pid: u32) -> Option<ProcKey> {
        let table = self.host.table().ok()?;
        table.process(pid).filter(|process| !process.zombie).map(|process| table.key(process))
    }

    /// Nothing shows that it is the agent's: whoever looks at a file may lock it, and anyone may be written down. A
    /// process that ends keeps its name until it is gone, and a program that was not installed by a package manager
    /// has its machine's behind it.
    fn is_stranger(&self, key: &ProcKey) -> bool {
        let card = self.agent.card();
        // One that began since the pass has no name yet.
        let process = self.host.table().ok().and_then(|table| table.of(key));
        let comm = process.map_or("", |process| process.comm.as_str());
        let launched = |one: &Launched| one.process.as_ref() == Some(key) && one.agent == card.name;
        let runs = |exe: PathBuf| {
            let program = Program { comm, exe: Some(&exe), argv: &[] };
            self.agent.part(&program).is_some()
        };
        let named = self.agent.may_be(comm) || comm.starts_with(card.binary);
        let known = named || self.host.launches().iter().any(launched);
        !known && !self.host.exe(key).is_ok_and(runs)
    }

    /// What became of the process the agent wrote down.
    fn written_down(&self, pid: u32, start: u64, written: Timestamp) -> Found {
        let table = match self.host.table() {
            Ok(table) => table,
            Err(why) => return Found::CannotTell(format!("pid {pid} may hold it: {}", why.0)),
        };
        let key = match self.host.began(pid, start) {
            // A clock that was set forward moves the boot as well: whoever has the pid now may be meant.
            Err(_) if written < table.booted && !self.live.iter().any(|one| one.key.pid == pid) => {
                return Found::OtherBoot;
            }
            Err(why) => return Found::CannotTell(format!("pid {pid} may hold it: {}", why.0)),
            Ok(None) => return Found::Gone(ProcKey { pid, start, boot: table.boot.clone() }),
            Ok(Some(key)) => key,
        };
        if written >= table.booted {
            return Found::Same(key);
        }
        // The same pid and ticks come again after a reboot, though hardly for the same program; and a clock that was set
        // forward puts the boot behind what was written since. The kernel's own note of the process is by the clock of then.
        let recognised = self.live.iter().any(|process| process.key == key);
        match self.host.noted(&key) {
            _ if !recognised => Found::OtherBoot,
            Some(noted) if noted >= table.booted => Found::CannotTell(format!(
                "pid {pid} may hold it, or was another's before this boot"
            )),
            Some(_) | None => Found::Same(key),
        }
    }

    /// It is claimed, and whoever may hold it cannot be seen: unknown, and shown.
    fn veil(&mut self, store: &Path, id: &str, why: String) {
        let stub = self.agent.find(self.host, store, id, None).into_iter().next();
        self.claimant(store, id, stub).hidden = Some(why);
    }

    /// It is claimed, and no server that answered runs it: its record and their age decide.
    fn doubt(&mut self, store: &Path, id: &str) {
        let stub = self.agent.find(self.host, store, id, None).into_iter().next();
        if stub.is_some() {
            self.claimant(store, id, stub);
        }
    }

    fn hold(&mut self, store: &Path, claim: &Claim, key: ProcKey, trail: Source) {
        if self.knows(store, claim, &key) {
            return;
        }
        let started_in =
            self.live.iter().find(|one| one.key == key).and_then(|one| one.cwd.clone());
        let place = claim.about.cwd.as_deref().or(started_in.as_deref());
        let found = self.agent.find(self.host, store, &claim.session, place).into_iter().next();
        self.join(store, (&claim.session, &claim.about), (key, trail), found);
    }

    /// The process holds the session of this record.
    pub(super) fn join(
        &mut self,
        store: &Path,
        (session, about): (&str, &About),
        (key, trail): (ProcKey, Source),
        stub: Option<Stub>,
    ) {
        let launched = self.launched_as(&key, session);
        let known = self.live.iter_mut().find(|process| process.key == key);
        let role = known.as_ref().and_then(|process| process.role);
        let cwd = known.as_ref().and_then(|process| process.cwd.clone());
        if let Some(process) = known {
            process.mapped = true;
        }
        let Ok(table) = self.host.table() else { return };
        let role = about.role.or(launched).or(role);
        // What it wrote down itself is by the clock of then, as its record is: a clock may be set since.
        let since = self.since(table, &key);
        let since = about.started.map_or(since, |started| started.min(since));
        let holder = Holder {
            since,
            role,
            shared: role == Some(Role::Server),
            halted: false,
            trail,
            says: about.says.clone(),
            key,
        };
        let candidate = self.claimant(store, session, stub);
        if candidate.holders.is_empty() {
            candidate.about = about.clone();
            candidate.started_in = cwd;
        }
        candidate.hold(holder);
    }

    /// Another trail led from it to this process before, and this one says no more.
    fn knows(&self, store: &Path, claim: &Claim, key: &ProcKey) -> bool {
        let same = |one: &Candidate| {
            one.store == store && one.id.as_ref() == Some(&claim.session) && one.stub.is_some()
        };
        let mut holders =
            self.candidates.iter().filter(|one| same(one)).flat_map(|one| &one.holders);
        holders.any(|holder| {
            holder.key == *key && (holder.says.is_some() || claim.about.says.is_none())
        })
    }

    /// When it began, by the clock of then as far as that can be told.
    pub(super) fn since(&self, table: &Table, key: &ProcKey) -> Timestamp {
        let since = table.since(key.start);
        self.host.noted(key).map_or(since, |noted| noted.min(since))
    }

    fn lose(&mut self, store: &Path, id: String, source: Source) {
        let lost = Lost { store: store.to_owned(), source };
        let all = self.lost.entry(id).or_default();
        if !all.contains(&lost) {
            all.push(lost);
        }
    }

    /// Sessions that a live process has open in this store. False where one does not say, and nothing else would.
    pub(super) fn opened(&mut self, store: &Path) -> bool {
        let card = self.agent.card();
        let mut told = true;
        if !card.keeps_open {
            return told;
        }
        for at in 0..self.live.len() {
            let key = self.live[at].key.clone();
            let Ok(files) = self.host.open_files(&key) else {
                told &= !card.locks_only || self.host.is_over(&key);
                continue;
            };
            let files: Vec<_> = files.into_iter().filter(|file| file.writable).collect();
            // A store that was moved aside under it: what lies in its place now is not what the process writes.
            self.live[at].told = !files.iter().any(|file| self.is_elsewhere(&file.path));
            for file in files {
                if let Some((claim, lock)) = self.locked(store, &key, &file.path) {
                    self.hold(store, &claim, key.clone(), lock);
                    continue;
                }
                let held = self.agent.holds(self.host, store, &file.path);
                let Some(session) = held else { continue };
                let source = Source::OpenFile { path: file.path, pid: key.pid };
                let trail = Trail::Known(key.clone());
                self.follow(store, Claim { session, trail, source, about: About::default() });
            }
        }
        told
    }

    /// Sessions that somebody has locked in this store who may be the agent by its name, and is none as far as can be told. False
    /// where that is not told of all.
    pub(super) fn locked_by_others(&mut self, store: &Path) -> bool {
        if !self.agent.card().locks_only {
            return true;
        }
        let Ok(table) = self.host.table() else { return false };
        let is_known = |key: &ProcKey| self.live.iter().any(|one| one.key == *key);
        let named = |one: &&Process| !one.zombie && self.agent.may_lock(&one.comm);
        let others = table.processes.iter().filter(named).map(|one| table.key(one));
        let others: Vec<ProcKey> = others.filter(|key| !is_known(key)).collect();
        let mut told = true;
        for key in others {
            let Ok(files) = self.host.open_files(&key) else {
                told &= self.host.is_mine(&key) == Ok(false) || self.host.is_over(&key);
                continue;
            };
            for (claim, lock) in files
                .iter()
                .filter_map(|file| self.locked(store, &key, &file.path))
                .collect::<Vec<_>>()
            {
                match self.is_stranger(&key) {
                    true => self.veil(store, &claim.session, stranger(key.pid)),
                    false => self.hold(store, &claim, key.clone(), lock),
                }
            }
        }
        told
    }

    /// The claim that a process makes by what it has open, if the kernel says that it has locked that.
    fn locked(&self, store: &Path, key: &ProcKey, open: &Path) -> Option<(Claim, Source)> {
        let claim = self.agent.locks(self.host, store, open)?;
        let Trail::Flock(path) = &claim.trail else { return None };
        self.host.has_locked(key, path).ok().filter(|locked| *locked)?;
        let lock = Source::Lock { path: path.clone(), pid: key.pid };
        Some((claim, lock))
    }

    /// It is a session's, and lies in no store.
    fn is_elsewhere(&self, open: &Path) -> bool {
        let name = open.file_name().and_then(|name| name.to_str());
        let held = |store: &PathBuf| self.agent.holds(self.host, store, open).is_some();
        name.is_some_and(|name| self.agent.is_its_file(name)) && !self.stores.iter().any(held)
    }

    /// An id that may be a throwaway counts once a record exists under it, or its time has passed.
    pub(super) fn settle(&mut self) {
        let now = self.host.now();
        let live = &mut self.live;
        self.candidates.retain(|candidate| {
            let settles = candidate.about.settles;
            let settled = candidate.stub.is_some() || settles.is_none_or(|at| at <= now);
            if !settled {
                for process in live.iter_mut() {
                    let holds = candidate.holders.iter().any(|holder| holder.key == process.key);
                    process.mapped &= !holds;
                }
            }
            settled
        });
    }
}

/// Who has locked a session, and need not be its agent.
fn stranger(pid: u32) -> String {
    format!("locked by pid {pid}, which is not known to be such an agent")
}

/// Whoever began then has written itself down, if it does.
fn is_grown(since: Timestamp, table: &Table) -> bool {
    since.saturating_add(YOUNG).unwrap_or(Timestamp::MAX) < table.taken
}

/// What a pid and start time that were written down lead to.
enum Found {
    /// That very process, alive.
    Same(ProcKey),
    /// No such process any more.
    Gone(ProcKey),
    /// A process of the same pid and ticks, written down before this boot.
    OtherBoot,
    /// The kernel does not say, and why.
    CannotTell(String),
}

/// Where a claim stands among others: by session, then by when it began, which some do not say, then by
/// whatever tells two apart.
fn place(claim: &Claim) -> (&str, bool, Option<Timestamp>, u32, u64, Option<&Path>) {
    let (pid, start, path) = match &claim.trail {
        Trail::Process { pid, start, .. } => (*pid, *start, None),
        Trail::Known(key) => (key.pid, key.start, None),
        Trail::Flock(path) => (0, 0, Some(path.as_path())),
        Trail::Server { .. } => (0, 0, None),
    };
    let began = claim.about.started;
    (&claim.session, began.is_none(), began, pid, start, path)
}
