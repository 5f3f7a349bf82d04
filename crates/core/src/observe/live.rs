//! Who is alive: the agent's processes, and the sessions their trails lead from.

use super::{Candidate, Lost, Survey};
use crate::{
    agent::{About, Claim, Part, Program, Trail},
    evidence::{Holder, Role},
    host::{Env, Process, Table},
    ident::ProcKey,
    proof::Source,
};
use jiff::Timestamp;
use std::{
    io,
    path::{Path, PathBuf},
};

/// A live process of the agent that holds, or may hold, sessions.
#[derive(Clone, Debug)]
pub(super) struct Live {
    pub(super) key: ProcKey,
    pub(super) since: Timestamp,
    /// `None` where the process could not be judged: it may be none of the agent's.
    role: Option<Role>,
    parent: u32,
    argv: Vec<String>,
    cwd: Option<PathBuf>,
    /// `None` where its environment cannot be read: it may use any store.
    store: Option<PathBuf>,
    /// Some trail leads from a session to it.
    mapped: bool,
    /// Every session it holds would have left a trail that can be read.
    told: bool,
}

impl Survey<'_> {
    /// Live processes of this user that are the agent's, from the one pass over the table.
    pub(super) fn living(&mut self) -> Vec<Live> {
        let table = match self.host.table() {
            Ok(table) => table,
            Err(why) => {
                self.problem(None, &why);
                self.blind = Some(format!("the process table cannot be read: {}", why.0));
                return Vec::new();
            }
        };
        let named = |process: &&Process| !process.zombie && self.agent.may_be(&process.comm);
        let mut live: Vec<Live> =
            table.processes.iter().filter(named).filter_map(|p| self.judge(table, p)).collect();
        // A child that has not loaded its own program yet looks like its parent.
        let forked = live.iter().filter(|one| one.is_forked(&live));
        let forked: Vec<ProcKey> = forked.map(|one| one.key.clone()).collect();
        live.retain(|one| !forked.contains(&one.key));
        live
    }

    fn judge(&self, table: &Table, process: &Process) -> Option<Live> {
        let key = table.key(process);
        let mine = self.host.is_mine(&key);
        if mine == Ok(false) {
            return None;
        }
        let (Ok(_), Ok(argv)) = (mine, self.host.argv(&key)) else {
            return self.unjudged(table, process);
        };
        let exe = self.host.exe(&key).ok();
        let program = Program { comm: &process.comm, exe: exe.as_deref(), argv: &argv };
        let Some(Part::Agent(role)) = self.agent.part(&program) else { return None };
        let env = self.environment(&key);
        if env.is_none() && self.host.is_over(&key) {
            return None;
        }
        let cwd = self.host.cwd(&key).ok();
        let store = env.and_then(|env| self.agent.stores(&env).into_iter().next());
        // A relative store is relative to where its process works, not to where we do.
        let store = store.map(|store| cwd.as_ref().map_or(store.clone(), |cwd| cwd.join(&store)));
        Some(Live {
            role: Some(role),
            argv,
            cwd,
            store: store.map(|store| self.host.resolve(&store)),
            ..Live::new(table, process)
        })
    }

    /// A process that tells nothing of itself. One that is over holds nothing; any other, even if it
    /// is only being loaded, may be an agent and hold what was written since it began.
    fn unjudged(&self, table: &Table, process: &Process) -> Option<Live> {
        (!self.host.is_over(&table.key(process))).then(|| Live::new(table, process))
    }

    fn environment(&self, key: &ProcKey) -> Option<Env> {
        let mut names = self.agent.card().variables.to_vec();
        names.push("HOME");
        self.host.env(key, &names).ok()
    }

    /// Stores of the caller's environment that exist, and those that live processes use.
    pub(super) fn find_stores(&mut self, env: &Env) {
        let mine = self.agent.stores(env).into_iter().map(|store| self.host.resolve(&store));
        let theirs = self.live.iter().filter_map(|process| process.store.clone());
        let mut named: Vec<PathBuf> = Vec::new();
        for store in mine.chain(theirs) {
            if !named.contains(&store) {
                named.push(store);
            }
        }
        let mut known: Vec<((u64, u64), PathBuf)> = Vec::new();
        for store in named {
            match self.host.stat(&store) {
                Ok(stat) => match known.iter().find(|(identity, _)| *identity == stat.identity) {
                    Some((_, first)) => self.rename(&store, first),
                    None => known.push((stat.identity, store)),
                },
                Err(why) if is_absent(&why) => {}
                Err(why) => self.problem(store, why),
            }
        }
        self.stores = known.into_iter().map(|(_, store)| store).collect();
    }

    /// The same directory may be mounted in two places: whoever uses one uses the other.
    fn rename(&mut self, alias: &Path, store: &Path) {
        for process in self.live.iter_mut().filter(|one| one.store.as_deref() == Some(alias)) {
            process.store = Some(store.to_owned());
        }
    }

    /// Follows every claim of a store.
    pub(super) fn claimed(&mut self, store: &Path) {
        let claims = match self.agent.claims(self.host, store) {
            Ok(claims) => claims,
            Err(why) => {
                self.unclear.push(store.to_owned());
                return self.problem(store.to_owned(), why);
            }
        };
        if !claims.problems.is_empty() {
            self.unclear.push(store.to_owned());
        }
        for trouble in claims.problems {
            self.problem(trouble.path, trouble.why);
        }
        for claim in claims.claims {
            self.follow(store, claim);
        }
    }

    fn follow(&mut self, store: &Path, claim: Claim) {
        match &claim.trail {
            Trail::Process { pid, start, written } => {
                match self.written_down(*pid, *start, *written) {
                    Found::Same(key) => self.hold(store, &claim, key, claim.source.clone()),
                    Found::Gone(process) => {
                        self.live.retain(|seen| seen.key != process); // ended since the pass
                        self.lose(store, claim.session, Source::Gone { process });
                    }
                    Found::OtherBoot => self.lose(store, claim.session, claim.source),
                    Found::CannotTell(why) => self.veil(store, &claim.session, why),
                }
            }
            Trail::Flock(path) => match self.host.lockers(path) {
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
                        self.hold(store, &claim, key, trail);
                    }
                }
                Err(_) => {
                    if let Some(why) = self.blind.clone() {
                        self.veil(store, &claim.session, why);
                    } // else live processes stay suspects
                }
            },
            Trail::OpenBy(key) => self.hold(store, &claim, key.clone(), claim.source.clone()),
        }
    }

    fn alive(&self, pid: u32) -> Option<ProcKey> {
        let table = self.host.table().ok()?;
        table.process(pid).filter(|process| !process.zombie).map(|process| table.key(process))
    }

    /// What became of the process the agent wrote down.
    fn written_down(&self, pid: u32, start: u64, written: Timestamp) -> Found {
        let table = match self.host.table() {
            Ok(table) => table,
            Err(why) => return Found::CannotTell(format!("pid {pid} may hold it: {}", why.0)),
        };
        let key = match self.host.began(pid, start) {
            Err(why) => return Found::CannotTell(format!("pid {pid} may hold it: {}", why.0)),
            Ok(None) => return Found::Gone(ProcKey { pid, start, boot: table.boot.clone() }),
            Ok(Some(key)) => key,
        };
        // The same pid and ticks may come again after a reboot, but hardly for the same program.
        let recognised = self.live.iter().any(|process| process.key == key);
        match written >= table.booted || recognised {
            true => Found::Same(key),
            false => Found::OtherBoot,
        }
    }

    /// It is claimed, and whoever may hold it cannot be seen: unknown, and shown.
    fn veil(&mut self, store: &Path, id: &str, why: String) {
        let stub = self.agent.find(self.host, store, id, None).into_iter().next();
        let candidate = self.claimant(store, id);
        candidate.stub = candidate.stub.take().or(stub);
        candidate.hidden = Some(why);
    }

    fn hold(&mut self, store: &Path, claim: &Claim, key: ProcKey, trail: Source) {
        let known = self.live.iter_mut().find(|process| process.key == key);
        let role = known.as_ref().and_then(|process| process.role);
        let cwd = known.as_ref().and_then(|process| process.cwd.clone());
        if let Some(process) = known {
            process.mapped = true;
        }
        let Ok(table) = self.host.table() else { return };
        let role = claim.about.role.or(role);
        let holder = Holder {
            since: table.since(key.start),
            role,
            shared: role == Some(Role::Server),
            trail,
            says: claim.about.says.clone(),
            key,
        };
        let (agent, host) = (self.agent, self.host);
        let candidate = self.claimant(store, &claim.session);
        if candidate.stub.is_none() {
            let found = agent.find(host, store, &claim.session, claim.about.cwd.as_deref());
            candidate.stub = found.into_iter().next();
        }
        if candidate.holders.is_empty() {
            candidate.about = claim.about.clone();
            candidate.started_in = cwd;
        }
        candidate.hold(holder);
    }

    fn lose(&mut self, store: &Path, id: String, source: Source) {
        self.lost.push(Lost { store: store.to_owned(), id, source });
    }

    /// Sessions that a live process has open in this store.
    pub(super) fn opened(&mut self, store: &Path) {
        if !self.agent.card().keeps_open {
            return;
        }
        for at in 0..self.live.len() {
            let key = self.live[at].key.clone();
            let Ok(files) = self.host.open_files(&key) else { continue };
            self.live[at].told = true;
            for file in files.into_iter().filter(|file| file.writable) {
                let held = self.agent.holds(self.host, store, &file.path);
                let Some(session) = held else { continue };
                let source = Source::OpenFile { path: file.path, pid: key.pid };
                let trail = Trail::OpenBy(key.clone());
                self.follow(store, Claim { session, trail, source, about: About::default() });
            }
        }
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

    /// Processes that are the agent's and have named no session.
    pub(super) fn unnamed(&mut self) {
        let serves = |process: &Live| process.role == Some(Role::Server);
        let live = self.live.clone();
        let unnamed = |one: &&Live| !one.mapped && one.role.is_some() && !serves(one);
        for process in live.iter().filter(unnamed) {
            // A terminal beside a server of the same store shows that server's sessions.
            let client = process.role == Some(Role::Interactive)
                && live.iter().any(|other| serves(other) && other.store == process.store);
            if client {
                continue;
            }
            let store = process.store.clone().or_else(|| self.stores.first().cloned());
            let mut candidate = Candidate::new(store.unwrap_or_default(), None);
            candidate.about.cwd = process.cwd.clone();
            candidate.hold(Holder {
                key: process.key.clone(),
                since: process.since,
                role: process.role,
                shared: false,
                trail: Source::Alive { process: process.key.clone() },
                says: None,
            });
            self.candidates.push(candidate);
        }
    }

    /// Processes that may hold a session without a trail.
    pub(super) fn untrailed(&self) -> Vec<Live> {
        self.live.iter().filter(|process| !process.mapped && !process.told).cloned().collect()
    }
}

impl Live {
    /// Known by the pass alone.
    fn new(table: &Table, process: &Process) -> Self {
        Self {
            key: table.key(process),
            since: table.since(process.start),
            role: None,
            parent: process.parent,
            argv: Vec::new(),
            cwd: None,
            store: None,
            mapped: false,
            told: false,
        }
    }

    fn is_forked(&self, all: &[Self]) -> bool {
        let twin = |other: &Self| other.key.pid == self.parent && other.argv == self.argv;
        !self.argv.is_empty() && all.iter().any(twin)
    }

    /// Where it works, if that can be told: a server works for others, wherever it was started.
    pub(super) fn works_in(&self) -> Option<&Path> {
        self.cwd.as_deref().filter(|_| self.role != Some(Role::Server))
    }

    /// It may have written to this store at `last`.
    pub(super) fn may_hold(&self, store: &Path, last: Timestamp) -> bool {
        self.store.as_deref().is_none_or(|own| own == store) && self.since <= last
    }
}

fn is_absent(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
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
