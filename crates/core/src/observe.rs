//! Joins what an agent's files claim with what the kernel shows, one agent at a time.
//!
//! A [`Survey`] finds out who is alive and which sessions are worth a look; [`Survey::look`] then
//! gathers the evidence for one of them. Nothing here decides a state: [`crate::derive`] does.

mod asked;
mod claims;
mod evidence;
mod infer;
mod live;
mod orphans;
mod tools;

pub use asked::Teller;
pub use orphans::orphans;

use crate::{
    agent::{About, Agent, Depth, Listing, Stub},
    evidence::Holder,
    host::{Env, Host, Stat, Table, is_absent},
    ident::ProcKey,
    proof::Source,
};
use jiff::Timestamp;
use live::Live;
use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// Which sessions to look for besides the live ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// Only those that are alive, or may be.
    Skip,
    /// The same for whoever acts on all of them: with those that a process may hold which nobody would take for the agent's, however
    /// long it takes to find them.
    Held,
    /// Those written since then, too.
    Since(Timestamp),
    /// All.
    All,
}

/// What of sessions may be told from what was kept of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recall {
    /// What was counted of long transcripts: they are not read again because somebody asks for tokens.
    Counts,
    /// Records of live sessions too, which every list asks for, and which rest while their agent waits or thinks.
    Live,
    /// All records, and every count, which pays where there are many.
    Records,
}

/// A session worth a look.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The store it is in.
    pub store: PathBuf,
    /// Its id; `None` for a process that has named none.
    pub id: Option<String>,
    /// Its record's file, where there is one.
    pub stub: Option<Stub>,
    holders: Vec<Holder>,
    lost: Vec<Source>,
    about: About,
    /// Where its process was started.
    started_in: Option<PathBuf>,
    /// Why its holder cannot be seen.
    hidden: Option<String>,
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Whose.
    pub agent: &'static str,
    /// Where.
    pub path: Option<PathBuf>,
    /// Why.
    pub why: String,
}

/// One agent on this host at this moment.
pub struct Survey<'a> {
    /// Which agent.
    pub agent: &'a dyn Agent,
    /// Its stores that exist, or that a live process of it uses.
    pub stores: Vec<PathBuf>,
    /// Sessions worth a look.
    pub candidates: Vec<Candidate>,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// What may be told from what the host kept.
    pub recalls: Recall,
    /// Only what a table shows is wanted: no proof of how a session ended.
    pub brief: bool,
    host: &'a dyn Host,
    blind: Option<String>,
    live: Vec<Live>,
    suspects: Vec<Live>,
    /// Processes that are not known to be the agent's, and whose claims cannot be read.
    strangers: Vec<Live>,
    /// Stores whose claims could not all be read: a process without one may hold anything there.
    unclear: Vec<PathBuf>,
    /// Stores in which not even the names of claims could be read: a program under any name may hold anything there.
    shut: Vec<PathBuf>,
    /// Stores, each with what could not be read of its claims and would alone tell who has a session.
    unheard: Vec<(PathBuf, PathBuf)>,
    /// Some store could not be read at all.
    unread: bool,
    /// Some part of a store's history could not be read.
    partial: bool,
    /// By the ids of their sessions: killed processes may have left thousands.
    lost: HashMap<String, Vec<Lost>>,
    /// Stores that were listed: all that asks while a survey is made sees the same.
    listed: Vec<(PathBuf, Arc<Listing>)>,
    /// Databases of which a session was read: what tells one content of each from another.
    contents: Mutex<HashMap<PathBuf, Option<Content>>>,
}

/// A file as it was found, and those by which it is told too.
type Content = (Stat, Vec<Option<Stat>>);

/// A claim whose process is gone.
#[derive(PartialEq)]
struct Lost {
    source: Source,
    store: PathBuf,
}

impl<'a> Survey<'a> {
    /// Finds the live sessions of an agent, and as much of its history as asked for. What is read is read anew: somebody may act
    /// on it.
    pub fn new(agent: &'a dyn Agent, host: &'a dyn Host, env: &Env, history: History) -> Self {
        Self::recalling(agent, host, env, (history, Recall::Counts))
    }

    /// The same, with what may be told from what the host kept.
    pub fn recalling(
        agent: &'a dyn Agent,
        host: &'a dyn Host,
        env: &Env,
        (history, recalls): (History, Recall),
    ) -> Self {
        let mut survey = Self {
            agent,
            stores: Vec::new(),
            candidates: Vec::new(),
            problems: Vec::new(),
            recalls,
            brief: false,
            host,
            blind: None,
            live: Vec::new(),
            suspects: Vec::new(),
            strangers: Vec::new(),
            unclear: Vec::new(),
            shut: Vec::new(),
            unheard: Vec::new(),
            unread: false,
            partial: false,
            lost: HashMap::new(),
            listed: Vec::new(),
            contents: Mutex::default(),
        };
        survey.live = survey.living();
        survey.find_stores(env);
        for store in survey.stores.clone() {
            survey.trailed(&store, history);
        }
        survey.settle();
        survey.infer();
        survey.started();
        survey.spawned();
        survey.without_copies();
        survey.unnamed();
        survey.suspects = survey.untrailed();
        survey.suspects.append(&mut survey.strangers);
        survey.resumed();
        let claimed = survey.candidates.len();
        for store in survey.stores.clone() {
            survey.recorded(&store, history, claimed);
        }
        match history {
            History::All => survey.unrecorded(|_| true),
            History::Since(from) => survey.unrecorded(|stop| stop.at >= from),
            History::Skip | History::Held => {}
        }
        survey.listed.clear();
        survey
    }

    /// Follows every trail that leads from a session of this store to a process.
    fn trailed(&mut self, store: &Path, history: History) {
        self.asked(store); // first: what a store says runs is nothing once a server told
        self.idle_by(store);
        self.claimed(store);
        let told = self.opened(store) && self.locked_by_others(store);
        let left = match history {
            History::Skip => !told,
            History::Held => !told || self.agent.card().locks_only,
            History::Since(_) | History::All => true,
        };
        if left {
            self.left(store, None);
        }
        self.named(store);
        self.launched(store);
    }

    /// All sessions of a store.
    fn listing(&mut self, store: &Path) -> io::Result<Arc<Listing>> {
        if let Some((_, listing)) = self.listed.iter().find(|(listed, _)| listed == store) {
            return Ok(Arc::clone(listing));
        }
        let listing = Arc::new(self.agent.list(self.host, store)?);
        self.listed.push((store.to_owned(), Arc::clone(&listing)));
        Ok(listing)
    }

    /// Some process goes by a name of the agent's.
    pub fn may_live(agent: &dyn Agent, table: &Table) -> bool {
        table.processes.iter().any(|process| agent.may_be(&process.comm))
    }

    /// There is neither a store of the agent nor a process that may be one of its own.
    pub fn is_absent(agent: &dyn Agent, host: &dyn Host, env: &Env) -> bool {
        let Ok(table) = host.table() else { return false };
        if host.launches().iter().any(|launch| launch.agent == agent.card().name) {
            return false;
        }
        let missing = |store: &PathBuf| host.stat(store).is_err_and(|why| is_absent(&why));
        !Self::may_live(agent, table) && agent.stores(env).iter().all(missing)
    }

    /// No store is closed to us: what was written since is here.
    pub fn is_listed(&self) -> bool {
        !self.unread && self.blind.is_none()
    }

    /// All that it keeps could be read, and all of its processes said what they run: who is not here is
    /// gone.
    pub fn is_whole(&self) -> bool {
        let told = |one: &Live| one.judged && one.silent.is_none();
        let clear = self.unclear.is_empty() && !self.partial;
        self.is_listed() && clear && self.live.iter().all(told)
    }

    /// As [`Survey::new`] for live sessions, and with those of this full id, ended or not.
    pub fn of(agent: &'a dyn Agent, host: &'a dyn Host, env: &Env, id: &str) -> Self {
        let mut survey = Self::new(agent, host, env, History::Skip);
        survey.also(id);
        survey
    }

    /// The same, looking only where the id itself says: nothing there does not mean that there is none.
    pub fn near(agent: &'a dyn Agent, host: &'a dyn Host, env: &Env, id: &str) -> Self {
        let mut survey = Self::new(agent, host, env, History::Skip);
        survey.add(id, |store| agent.find_near(host, store, id));
        survey.unrecorded(|stop| stop.session == id);
        survey
    }

    /// Adds the sessions of this full id, ended or not.
    pub fn also(&mut self, id: &str) {
        let (agent, host) = (self.agent, self.host);
        self.add(id, |store| agent.find(host, store, id, None));
        self.unrecorded(|stop| stop.session == id);
    }

    fn add(&mut self, id: &str, find: impl Fn(&Path) -> Vec<Stub>) {
        for store in self.stores.clone() {
            self.left(&store, Some(id));
            for stub in find(&store) {
                if !self.candidates.iter().any(|c| c.store == store && c.is_of(&stub)) {
                    let candidate = self.ended(&store, stub);
                    self.candidates.push(candidate);
                }
            }
        }
    }

    /// Live servers that may use this store, whatever they run.
    pub fn servers(&self, store: &Path) -> Vec<ProcKey> {
        let servers = self.live.iter().filter(|one| one.judged && one.serves() && one.uses(store));
        servers.map(|one| one.key.clone()).collect()
    }

    /// What a record is told by, as it is now.
    fn content(&self, stub: &Stub, depth: Depth) -> Option<Content> {
        // What cannot be looked at is not absent: what is read beside it is of no content that is known.
        let stat = |path: &PathBuf| match self.host.stat(path) {
            Err(why) if is_absent(&why) => Some(None),
            stat => stat.ok().map(Some),
        };
        let beside = self.agent.told_by(self.host, stub, depth)?;
        let own = stub.stat.or_else(|| self.host.stat(&stub.path).ok())?;
        Some((own, beside.iter().map(stat).collect::<Option<_>>()?))
    }

    /// The same of a file of many sessions, as it was when the first of them was looked at: what is read of it
    /// later may be newer, and is then kept under dates that it will never have again.
    fn shared_content(&self, stub: &Stub, depth: Depth) -> Option<Content> {
        let mut contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = contents.get(&stub.path) {
            return known.clone();
        }
        let found = self.content(stub, depth);
        contents.insert(stub.path.clone(), found.clone());
        found
    }

    /// A registry may have been copied with its store: one process has one such session.
    fn without_copies(&mut self) {
        let mut seen: Vec<(Option<String>, Vec<ProcKey>)> = Vec::new();
        self.candidates.sort_by_key(|candidate| candidate.stub.is_none());
        self.candidates.retain(|candidate| {
            let holders = candidate.holders.iter().map(|holder| holder.key.clone()).collect();
            let this = (candidate.id.clone(), holders);
            let new = !seen.contains(&this);
            seen.push(this);
            new
        });
    }

    fn problem(&mut self, path: impl Into<Option<PathBuf>>, why: impl ToString) {
        let agent = self.agent.card().name;
        let problem = Problem { agent, path: path.into(), why: why.to_string() };
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// The live candidate of this id and record. Few sessions are alive at once: a walk is quick.
    fn claimant(&mut self, store: &Path, id: &str, stub: Option<Stub>) -> &mut Candidate {
        let same = |c: &Candidate| {
            let one = stub.as_ref().is_none_or(|stub| c.is_of(stub));
            c.id.as_deref() == Some(id) && c.store == store && one
        };
        let at = match self.candidates.iter().position(same) {
            Some(at) => at,
            None => {
                self.candidates.push(Candidate::new(store.to_owned(), Some(id.to_owned())));
                self.candidates.len() - 1
            }
        };
        let candidate = &mut self.candidates[at];
        candidate.stub = candidate.stub.take().or(stub);
        candidate
    }
}

impl Candidate {
    fn new(store: PathBuf, id: Option<String>) -> Self {
        Self {
            store,
            id,
            stub: None,
            holders: Vec::new(),
            lost: Vec::new(),
            about: About::default(),
            started_in: None,
            hidden: None,
        }
    }

    /// Ids may be unique only per directory: the record decides where there is one.
    fn is_of(&self, stub: &Stub) -> bool {
        let same = self.id.as_ref() == Some(&stub.id);
        same && self.stub.as_ref().is_none_or(|own| own.path == stub.path)
    }

    /// A live process has it loaded.
    pub fn is_held(&self) -> bool {
        !self.holders.is_empty()
    }

    /// The process of this pid has it loaded.
    pub fn is_held_by(&self, pid: u32) -> bool {
        self.holders.iter().any(|holder| holder.key.pid == pid)
    }

    /// Adds a holder once, whichever trail led to it first; what it says is kept.
    fn hold(&mut self, holder: Holder) {
        match self.holders.iter_mut().find(|known| known.key == holder.key) {
            Some(known) => known.says = known.says.take().or(holder.says),
            None => self.holders.push(holder),
        }
    }
}
