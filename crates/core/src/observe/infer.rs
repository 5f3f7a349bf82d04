//! Processes that leave no trail: what their own words tell, and what only one answer can explain.

use super::{Candidate, Live, Recall, Survey};
use crate::{
    agent::{About, Claim, Depth, Lately, Listing, Stub, Trail},
    evidence::{Holder, Record, Role, Turn},
    ident::ProcKey,
    proof::Source,
    receipt::Launched,
};
use jiff::{SignedDuration, Timestamp};
use std::{
    cmp::Reverse,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Clocks of file servers differ by less, and no look takes so long.
const SKEW: SignedDuration = SignedDuration::from_mins(1);

/// A session that a process may have written.
struct Written {
    store: PathBuf,
    stub: Stub,
    record: Record,
    /// Nothing speaks against it.
    joins: bool,
}

impl Survey<'_> {
    /// Sessions that a process's own arguments name, or the environment of its tools.
    pub(super) fn named(&mut self, store: &Path) {
        for at in 0..self.live.len() {
            let process = &self.live[at];
            if process.mapped || !process.uses(store) || self.launches(process) {
                continue;
            }
            let key = process.key.clone();
            let by_argument = process.named.clone().map(|id| {
                let source = Source::Arguments { shows: id.clone(), pid: key.pid };
                (id, source)
            });
            let Some((session, source)) = by_argument.or_else(|| self.by_tool(&key)) else {
                continue;
            };
            let (trail, about) = (Trail::Known(key), About::default());
            self.follow(store, Claim { session, trail, source, about });
        }
    }

    /// Sessions that we launched a process for, where the agent itself leaves no trail.
    pub(super) fn launched(&mut self, store: &Path) {
        for at in 0..self.live.len() {
            let process = &self.live[at];
            let Some(launch) = process.launch.clone().filter(|_| !process.mapped) else { continue };
            if !process.uses(store) || self.launches(process) || self.is_within(process) {
                continue;
            }
            let own = |one: &&Launched| one.launch == launch && one.agent == self.agent.card().name;
            let Some(receipt) = self.host.launches().iter().find(own) else { continue };
            let Some(session) = receipt.session.clone() else { continue };
            let key = process.key.clone();
            let source = Source::Launch { launch, pid: key.pid };
            let about = About::default();
            self.follow(store, Claim { session, trail: Trail::Known(key), source, about });
        }
    }

    /// Processes that we started and that no other sign shows to be the agent's.
    pub(super) fn started(&mut self) {
        let name = self.agent.card().name;
        let own: Vec<Launched> =
            self.host.launches().iter().filter(|one| one.agent == name).cloned().collect();
        for receipt in own {
            let Some(key) = &receipt.process else { continue };
            let seen = self.live.iter().any(|one| one.launch.as_ref() == Some(&receipt.launch));
            let held =
                |one: &Candidate| one.is_held() && one.id.is_some() && one.id == receipt.session;
            let known = self.live.iter().any(|one| one.key == *key);
            if seen || known || self.candidates.iter().any(held) {
                continue;
            }
            if self.host.began(key.pid, key.start).ok().flatten().as_ref() != Some(key) {
                continue; // it is gone, or cannot be told from another
            }
            let store = self.stores.first().cloned().unwrap_or_default();
            let role = receipt.role();
            let source = Source::Launch { launch: receipt.launch, pid: key.pid };
            match receipt.session {
                Some(session) => {
                    let cwd = self.host.cwd(key).ok();
                    let about = About { role: Some(role), cwd, ..About::default() };
                    let trail = Trail::Known(key.clone());
                    self.follow(&store, Claim { session, trail, source, about });
                }
                None => self.nameless(store, key.clone(), source),
            }
        }
    }

    fn nameless(&mut self, store: PathBuf, key: ProcKey, trail: Source) {
        let Ok(table) = self.host.table() else { return };
        let mut candidate = Candidate::new(store, None);
        candidate.about.cwd = self.host.cwd(&key).ok();
        let since = self.since(table, &key);
        candidate.hold(Holder {
            key,
            since,
            role: None,
            shared: false,
            halted: false,
            trail,
            says: None,
        });
        self.candidates.push(candidate);
    }

    /// How we started a process for this session. Its arguments do not tell where its prompt came from.
    pub(super) fn launched_as(&self, key: &ProcKey, session: &str) -> Option<Role> {
        let process = self.live.iter().find(|process| process.key == *key)?;
        let launch = process.launch.as_ref()?;
        let own = |one: &&Launched| {
            one.launch == *launch
                && one.agent == self.agent.card().name
                && one.session.as_deref() == Some(session)
        };
        self.host.launches().iter().find(own).map(Launched::role)
    }

    /// A process of the same launch is above it: it is a tool of that one, and has a session of its own.
    fn is_within(&self, process: &Live) -> bool {
        let Ok(table) = self.host.table() else { return false };
        let above = |other: &Live| {
            other.key != process.key
                && other.launch == process.launch
                && !self.launches(other)
                && table.descendants(other.key.pid).contains(&process.key.pid)
        };
        self.live.iter().any(above)
    }

    fn by_tool(&self, key: &ProcKey) -> Option<(String, Source)> {
        let variable = self.agent.card().tool_variable?;
        let table = self.host.table().ok()?;
        let tools = table.descendants(key.pid);
        if tools.is_empty() {
            return None;
        }
        // An agent that itself is a tool of another hands that one's variable on, and may where it does not tell.
        let inherited = self.host.env(key, &[variable]).ok()?.remove(variable);
        tools.into_iter().find_map(|pid| {
            let child = table.key(table.process(pid)?);
            let id = self.host.env(&child, &[variable]).ok()?.remove(variable)?;
            if inherited.as_ref() == Some(&id) {
                return None;
            }
            let id = id.into_string().ok()?;
            let source = Source::Variable { variable: format!("{variable}={id}"), pid };
            Some((id, source))
        })
    }

    /// Joins a process that leaves no trail with a session, if only one answer is possible.
    pub(super) fn infer(&mut self) {
        if !self.agent.card().infers {
            return;
        }
        let suspects = self.untrailed();
        for process in suspects.iter().filter(|process| process.judged && !process.serves()) {
            let rival = |other: &&Live| {
                other.key != process.key
                    && (other.works_in().is_none() || other.works_in() == process.works_in())
                    && other.may_share(process)
            };
            if process.works_in().is_none() || suspects.iter().any(|other| rival(&other)) {
                continue;
            }
            if let Some((store, stub)) = self.only_session(process) {
                let (id, key) = (stub.id.clone(), process.key.clone());
                let trail = Source::Inference { process: key.clone() };
                self.join(&store, (&id, &About::default()), (key, trail), Some(stub));
            }
        }
    }

    /// The only session of the process's stores and directory that was written since it began.
    fn only_session(&mut self, process: &Live) -> Option<(PathBuf, Stub)> {
        let cwd = process.works_in()?;
        let stores: Vec<PathBuf> =
            self.stores.iter().filter(|store| process.uses(store)).cloned().collect();
        // Whoever acts goes by what is there now.
        let lately = Lately { since: process.since, recalls: self.recalls != Recall::Counts };
        let near = |store: &PathBuf| {
            let listing = self.agent.list_of(self.host, store, cwd, lately)?.ok()?;
            Some((store.clone(), Arc::new(listing)))
        };
        let near = stores.iter().map(near).collect::<Option<Vec<_>>>().unwrap_or_default();
        let mut found = self.written_by(process, &near)?;
        // A session whose folder is called otherwise than its agent calls it was moved there: only where its own has none.
        if found.is_empty() {
            let all = |store: PathBuf| Some((store.clone(), self.listing(&store).ok()?));
            let all = stores.into_iter().map(all).collect::<Option<Vec<_>>>()?;
            found = self.written_by(process, &all)?;
        }
        let Written { store, stub, record, joins } = found.pop().filter(|_| found.is_empty())?;
        (joins && !self.may_be_served(&store, &stub, &record)).then_some((store, stub))
    }

    /// What the process may have written of what was listed.
    fn written_by(
        &self,
        process: &Live,
        listed: &[(PathBuf, Arc<Listing>)],
    ) -> Option<Vec<Written>> {
        let mut found = Vec::new();
        // Some hosts tell starts to the second only: it may have begun after the last write.
        let table = self.host.table().ok()?;
        let start = process.key.start;
        let unit = table.since(start.saturating_add(1)).duration_since(table.since(start));
        let surely = process.since.saturating_add(unit).unwrap_or(process.since);
        for (store, listing) in listed {
            if !listing.problems.is_empty() {
                return None; // what cannot be read may be a second answer
            }
            for stub in listing.stubs.iter().filter(|stub| process.since <= stub.updated) {
                let record = self.record(stub, Depth::Glance).ok()?;
                let joins = surely <= stub.updated
                    && !self.is_ahead(stub)
                    && self.may_join(&record, process)
                    && !self.is_another_s(stub, &record, process);
                let there = record.cwd.as_ref().map(|cwd| self.host.resolve(cwd));
                if there.is_none() || there.as_deref() == process.works_in() {
                    let (store, stub) = (store.clone(), stub.clone());
                    found.push(Written { store, stub, record, joins });
                }
            }
        }
        let held =
            |stub: &Stub| self.candidates.iter().any(|other| other.is_of(stub) && other.is_held());
        found.retain(|one| !held(&one.stub));
        let ids: Vec<String> = found.iter().map(|one| one.stub.id.clone()).collect();
        // Whoever holds a session holds those it spawned: they are no second answer.
        found.retain(|one| one.record.parent.as_ref().is_none_or(|id| !ids.contains(id)));
        Some(found)
    }

    /// Finds what each suspect went on with, if it was told to go on with the newest of its directory.
    pub(super) fn resumed(&mut self) {
        for at in 0..self.suspects.len() {
            let resumed = self.newest_before(&self.suspects[at].clone());
            self.suspects[at].resumed = resumed;
        }
    }

    /// The session of its directory that was written last before it began.
    fn newest_before(&mut self, process: &Live) -> Option<String> {
        let cwd = process.works_in().filter(|_| process.may_resume && !self.is_ours(process))?;
        let stores: Vec<PathBuf> =
            self.stores.iter().filter(|store| process.uses(store)).cloned().collect();
        let listed: Vec<Arc<Listing>> =
            stores.iter().filter_map(|store| self.listing(store).ok()).collect();
        let elsewhere = |stub: &Stub| self.agent.goes_on_here(stub, cwd) == Some(false);
        let older = |stub: &&Stub| stub.updated < process.since && !elsewhere(stub);
        let mut older: Vec<&Stub> =
            listed.iter().flat_map(|listing| &listing.stubs).filter(older).collect();
        older.sort_by_key(|stub| Reverse(stub.updated));
        let there = |stub: &&&Stub| {
            let Ok(record) = self.record(stub, Depth::Glance) else { return false };
            let told = self.agent.goes_on_here(stub, cwd);
            let own = |own: PathBuf| self.agent.shares(&self.host.resolve(&own), cwd);
            told.unwrap_or_else(|| record.cwd.is_none_or(own)) && record.parent.is_none()
        };
        older.iter().find(there).map(|stub| stub.id.clone())
    }

    /// We launched it, and know what we told it.
    fn is_ours(&self, process: &Live) -> bool {
        let name = self.agent.card().name;
        let own =
            |one: &Launched| process.launch.as_ref() == Some(&one.launch) && one.agent == name;
        self.host.launches().iter().any(own) && !self.is_within(process)
    }

    /// It was written at a time that is yet to come: the clock was set back since, and who seems to be older than that
    /// may be younger.
    fn is_ahead(&self, stub: &Stub) -> bool {
        let soon = self.host.now().saturating_add(SKEW).unwrap_or(Timestamp::MAX);
        stub.updated > soon
    }

    /// It was made since the process began, and more stands in it than the process has ever written.
    fn is_another_s(&self, stub: &Stub, record: &Record, process: &Live) -> bool {
        let made = record.started.is_some_and(|started| started >= process.since);
        let alone = self.agent.grows(stub).is_some_and(|path| path == stub.path);
        let written = self.host.written(&process.key).filter(|_| made && alone);
        written.is_some_and(|bytes| self.host.stat(&stub.path).is_ok_and(|it| it.size > bytes))
    }

    fn may_join(&self, record: &Record, process: &Live) -> bool {
        self.agent.may_join(record, process.since, process.role)
    }

    /// Processes that lack what every process of a store has open hold nothing there.
    pub(super) fn idle_by(&mut self, store: &Path) {
        if self.live.is_empty() {
            return; // the store need not be looked at for nobody
        }
        let Some(file) = self.agent.always_open(self.host, store) else { return };
        for at in 0..self.live.len() {
            if self.live[at].stores != [store.to_owned()] {
                continue;
            }
            let key = self.live[at].key.clone();
            let Ok(open) = self.host.open_files(&key) else { continue };
            self.live[at].told |= !open.iter().any(|one| one.path == file);
        }
    }

    /// A server may have written it. What a server runs it says when asked: a turn that is open and
    /// that no server runs is not a server's.
    fn may_be_served(&self, store: &Path, stub: &Stub, record: &Record) -> bool {
        let open = matches!(record.turn, Turn::Open { .. });
        let serves = |process: &Live| process.serves() && process.may_hold(store, stub.updated);
        self.live.iter().any(|process| serves(process) && !(open && process.told))
    }

    /// Processes that are the agent's and have named no session.
    pub(super) fn unnamed(&mut self) {
        let live = self.live.clone();
        let unnamed = |one: &&Live| !one.mapped && one.judged && !one.serves();
        for process in live.iter().filter(unnamed) {
            // A terminal beside a server of the same store shows that server's sessions, unless its
            // agent is one whose processes all run their own.
            let client = process.role == Some(Role::Interactive)
                && !self.agent.card().infers
                && live.iter().any(|other| other.serves() && other.may_share(process));
            if client || self.launches(process) {
                continue;
            }
            let store = process.stores.first().or(self.stores.first()).cloned();
            let mut candidate = Candidate::new(store.unwrap_or_default(), None);
            candidate.about.cwd = process.cwd.clone();
            candidate.hold(Holder {
                key: process.key.clone(),
                since: process.since,
                role: process.role,
                shared: false,
                halted: false,
                trail: Source::Alive { process: process.key.clone() },
                says: None,
            });
            self.candidates.push(candidate);
        }
    }

    /// Processes that may hold a session without a trail.
    pub(super) fn untrailed(&self) -> Vec<Live> {
        let untold = |process: &&Live| !process.mapped && !process.told && !self.launches(process);
        self.live.iter().filter(untold).cloned().collect()
    }

    /// It only started another process of the agent, with the same script and words, and waits for it.
    fn launches(&self, process: &Live) -> bool {
        let [program, words @ ..] = process.argv.as_slice() else { return false };
        if words.is_empty() || !Path::new(program).ends_with("node") {
            return false;
        }
        self.live.iter().any(|child| child.parent == process.key.pid && child.argv.ends_with(words))
    }
}
