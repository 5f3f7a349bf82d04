//! Who is alive: the agent's processes, and the stores they use.

use super::Survey;
use crate::{
    agent::{Part, Program},
    evidence::Role,
    host::{Env, Process, Stat, Table, is_absent},
    ident::ProcKey,
    receipt::{Launched, VARIABLE},
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
    /// It certainly is the agent's; else it tells nothing of itself and may be.
    pub(super) judged: bool,
    /// It runs as the user who asks, or may.
    pub(super) mine: bool,
    /// How it is run, where it tells.
    pub(super) role: Option<Role>,
    pub(super) parent: u32,
    /// The kernel says that it is a copy of its parent still.
    pub(super) forked: bool,
    pub(super) argv: Vec<String>,
    pub(super) cwd: Option<PathBuf>,
    /// None where its environment cannot be read: it may use any store.
    pub(super) stores: Vec<PathBuf>,
    /// What those are that it sees under other names than we do, as in a container.
    pub(super) apart: Vec<Apart>,
    /// The session its arguments name.
    pub(super) named: Option<String>,
    /// Our launch, if it or an ancestor was launched by us.
    pub(super) launch: Option<String>,
    /// A session that its arguments name, and that it may have left since.
    pub(super) may_name: Option<String>,
    /// The session that it went on with, if it was told to go on with the newest of its directory.
    pub(super) resumed: Option<String>,
    /// It may have been told so.
    pub(super) may_resume: bool,
    /// Some trail leads from a session to it.
    pub(super) mapped: bool,
    /// Every session it holds would have left a trail that can be read.
    pub(super) told: bool,
    /// It was asked, and named every session it holds.
    pub(super) answers: bool,
    /// It was asked, and did not answer.
    pub(super) silent: Option<String>,
    /// It has a claim of which nothing can be read: it may have written anything in its stores, wherever it works.
    pub(super) untold: bool,
}

/// A store that a process sees in mounts of its own, and what it is.
pub(super) type Apart = (PathBuf, (u64, u64));

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
        let judged = |process| self.judge(table, process).map(|one| self.dated(one));
        let mut live: Vec<Live> = table.processes.iter().filter(named).filter_map(judged).collect();
        // A child that has not loaded its own program yet looks like its parent.
        let forked = live.iter().filter(|one| one.is_forked(&live));
        let forked: Vec<ProcKey> = forked.map(|one| one.key.clone()).collect();
        live.retain(|one| !forked.contains(&one.key));
        live
    }

    /// Records are dated by the clock of then, and so must be the start that they are compared with: it is told by
    /// today's, which may have been set forward since.
    pub(super) fn dated(&self, process: Live) -> Live {
        let Ok(table) = self.host.table() else { return process };
        Live { since: self.since(table, &process.key), ..process }
    }

    fn judge(&self, table: &Table, process: &Process) -> Option<Live> {
        let key = table.key(process);
        let (mine, argv) = match (self.host.is_mine(&key), self.host.argv(&key)) {
            (Ok(mine), Ok(argv)) => (mine, argv),
            (Ok(false), Err(_)) => return None,
            (Ok(true), Err(_)) | (Err(_), _) => return self.unjudged(table, process),
        };
        let exe = self.host.exe(&key).ok();
        let program = Program { comm: &process.comm, exe: exe.as_deref(), argv: &argv };
        let role = match self.agent.part(&program)? {
            Part::Agent(role) => Some(role),
            Part::Untold => None,
            Part::Bystander => return None,
        };
        let (named, may_name) = (self.agent.names(&program), self.agent.may_name(&program));
        let may_resume = self.agent.may_resume(&program);
        let env = self.environment(&key);
        let cwd = self.host.cwd(&key).ok();
        // What cannot be told of a process that ends is no reason to suspect it of anything.
        if (env.is_none() || cwd.is_none()) && self.host.is_over(&key) {
            return None;
        }
        // Root may read what others run. To anybody else they tell nothing, and none of his stores is theirs to write to.
        if !mine && env.is_none() {
            return None;
        }
        let env = env.unwrap_or_default();
        // A relative store is relative to where its process works, not to where we do.
        let whole = |store: PathBuf| cwd.as_ref().map_or(store.clone(), |cwd| cwd.join(&store));
        let stores = self.agent.stores(&env).into_iter().map(whole).collect();
        let (stores, apart) = self.placed(&key, stores);
        let launch = env.get(VARIABLE).and_then(|launch| launch.to_str()).map(str::to_owned);
        let cwd = cwd.map(|cwd| self.host.resolve(&self.agent.directory(&program, &env, cwd)));
        Some(Live {
            judged: true,
            mine,
            role,
            argv,
            stores,
            apart,
            named,
            may_name,
            may_resume,
            launch,
            cwd,
            ..Live::new(table, process)
        })
    }

    /// The stores of a process, and what those are that it sees in mounts of its own: a path of ours may be the same by name
    /// alone, and so they go by the name under which they lie here.
    fn placed(&self, key: &ProcKey, stores: Vec<PathBuf>) -> (Vec<PathBuf>, Vec<Apart>) {
        let outside = Path::new("/proc").join(key.pid.to_string()).join("root");
        let mut apart = Vec::new();
        let place = |store: PathBuf| {
            let Some(identity) = self.host.sees(key, &store) else {
                return self.host.resolve(&store);
            };
            let place = outside.join(store.strip_prefix("/").unwrap_or(&store));
            apart.push((place.clone(), identity));
            place
        };
        (stores.into_iter().map(place).collect(), apart)
    }

    /// A process that tells nothing of itself. One that is over holds nothing; any other, even if it
    /// is only being loaded, may be an agent and hold what was written since it began.
    fn unjudged(&self, table: &Table, process: &Process) -> Option<Live> {
        (!self.host.is_over(&table.key(process))).then(|| Live::new(table, process))
    }

    fn environment(&self, key: &ProcKey) -> Option<Env> {
        let mut names = self.agent.card().variables.to_vec();
        names.extend(["HOME", VARIABLE]);
        self.host.env(key, &names).ok()
    }

    /// Stores of the caller's environment that exist, and those that live processes use or launches did.
    pub(super) fn find_stores(&mut self, env: &Env) {
        let looked = |store: PathBuf| {
            let stat = self.host.stat(&store);
            let place = match &stat {
                Err(why) if is_absent(why) => store.clone(),
                Ok(_) | Err(_) => self.host.resolve(&store),
            };
            let stat = (place == store).then_some(stat);
            (place, stat)
        };
        let mine = self.agent.stores(env).into_iter().map(looked);
        let is_here = |one: &Live, store: &PathBuf| one.apart.iter().all(|(own, _)| own != store);
        // Whoever looks at one home as root has not asked for those of others.
        let theirs = self.live.iter().filter(|process| process.mine).flat_map(|process| {
            process.stores.iter().filter(|store| is_here(process, store)).cloned()
        });
        let own = |launch: &&Launched| launch.agent == self.agent.card().name;
        let ours = self.host.launches().iter().filter(own).flat_map(|launch| &launch.stores);
        let ours = ours.map(|store| self.host.resolve(store));
        let mut named: Vec<(PathBuf, Option<io::Result<Stat>>)> = Vec::new();
        for (store, stat) in mine.chain(theirs.chain(ours).map(|store| (store, None))) {
            if !named.iter().any(|(other, _)| *other == store) {
                named.push((store, stat));
            }
        }
        let mut known: Vec<((u64, u64), PathBuf)> = Vec::new();
        for (store, stat) in named {
            match stat.unwrap_or_else(|| self.host.stat(&store)) {
                Ok(stat) => match known.iter().find(|(identity, _)| *identity == stat.identity) {
                    Some((_, first)) => self.rename(&store, first),
                    None => known.push((stat.identity, store)),
                },
                Err(why) if is_absent(&why) => {}
                Err(why) => self.problem(store, why),
            }
        }
        let apart: Vec<_> = self.live.iter().flat_map(|process| process.apart.clone()).collect();
        for (alias, identity) in apart {
            if let Some((_, store)) = known.iter().find(|(here, _)| *here == identity) {
                self.rename(&alias, store);
            }
        }
        self.stores = known.into_iter().map(|(_, store)| store).collect();
        let stores = &self.stores;
        let concerns = |one: &Live| one.mine || one.stores.iter().any(|own| stores.contains(own));
        self.live.retain(concerns);
    }

    /// The same directory may be mounted in two places: whoever uses one uses the other.
    fn rename(&mut self, alias: &Path, store: &Path) {
        let named = self.live.iter_mut().flat_map(|process| process.stores.iter_mut());
        for own in named.filter(|own| *own == alias) {
            *own = store.to_owned();
        }
    }
}

impl Live {
    /// Known by the pass alone.
    pub(super) fn new(table: &Table, process: &Process) -> Self {
        Self {
            key: table.key(process),
            since: table.since(process.start),
            judged: false,
            mine: true,
            role: None,
            parent: process.parent,
            forked: process.forked,
            argv: Vec::new(),
            cwd: None,
            stores: Vec::new(),
            apart: Vec::new(),
            named: None,
            launch: None,
            may_name: None,
            resumed: None,
            may_resume: false,
            mapped: false,
            told: false,
            answers: false,
            silent: None,
            untold: false,
        }
    }

    fn is_forked(&self, all: &[Self]) -> bool {
        let twin = |other: &Self| other.key.pid == self.parent && other.argv == self.argv;
        // Words that were erased look the same whatever they were.
        let words = self.argv.iter().skip(1).any(|word| !word.is_empty());
        let told = words || self.argv.len() == 1 && self.role.is_some();
        (self.forked || told) && all.iter().any(twin)
    }

    /// Where it works, if that can be told: a server works for others, wherever it was started.
    pub(super) fn works_in(&self) -> Option<&Path> {
        self.cwd.as_deref().filter(|_| !self.serves())
    }

    pub(super) fn serves(&self) -> bool {
        self.role == Some(Role::Server)
    }

    /// It may use this store.
    pub(super) fn uses(&self, store: &Path) -> bool {
        self.stores.is_empty() || self.stores.iter().any(|own| own == store)
    }

    /// Both may use the same store.
    pub(super) fn may_share(&self, other: &Self) -> bool {
        self.stores.is_empty()
            || other.stores.is_empty()
            || other.stores.iter().any(|store| self.uses(store))
    }

    /// Its words name this session, or may have meant it.
    pub(super) fn may_go_on_with(&self, id: &str) -> bool {
        [&self.may_name, &self.resumed].iter().any(|name| name.as_deref() == Some(id))
    }

    /// It may have written to this store at `last`.
    pub(super) fn may_hold(&self, store: &Path, last: Timestamp) -> bool {
        self.uses(store) && self.since <= last
    }
}
