//! The evidence for one session: its record, its holders, and what may hold it.

use super::{Candidate, History, Live, Problem, Recall, Survey};
use crate::{
    agent::{Depth, Stub},
    derive::{State, derive},
    evidence::{Ending, Evidence, Ground, Holder, Reading, Record, Role, Suspect, Turn},
    host::{self, Original, is_absent},
    ident::ProcKey,
    lines::{self, Body},
    proof::Source,
    receipt::{Launched, Stopped},
    sheet::Sheet,
    tally::{self, Tally},
    wire::{Around, Session},
};
use jiff::{SignedDuration, Timestamp};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// How much older a file may be than a line in it: kernels date files by a clock that stands still
/// for up to a hundredth of a second.
const COARSE: SignedDuration = SignedDuration::from_millis(20);

/// How far back the output of a launch is searched for its last word.
const PRINTED: u64 = 256 << 10;

impl Survey<'_> {
    /// Adds the sessions of a store's history that were asked for or may be held.
    pub(super) fn recorded(&mut self, store: &Path, history: History, claimed: usize) {
        let unclear = self.unclear.iter().any(|one| one == store);
        // Who has a claim that cannot be read may hold what it has not written to, however old.
        let earliest = |one: &Live| match one.uses(store) && (one.untold || unclear) {
            true => Timestamp::MIN,
            false => one.since,
        };
        // Whoever uses another store holds nothing here, unless its words name it.
        let concerns = |one: &&Live| one.uses(store) || one.may_name.is_some();
        let oldest = self.suspects.iter().filter(concerns).map(earliest).min();
        let asked = match history {
            History::All => Some(Timestamp::MIN),
            History::Since(at) => Some(at),
            History::Skip | History::Held => None,
        };
        if asked.is_none() && oldest.is_none() && !self.is_muted(store, None) {
            return;
        }
        let mut listing = match self.listing(store) {
            Ok(listing) => listing,
            Err(why) => {
                self.unread = true;
                return self.problem(store.to_owned(), why);
            }
        };
        self.listed.retain(|(listed, _)| listed != store); // nobody asks for it later: it is taken, not copied
        self.partial |= !listing.problems.is_empty();
        for trouble in &listing.problems {
            self.problem(trouble.path.clone(), &trouble.why);
        }
        let since = |at: Timestamp, from: Option<Timestamp>| {
            from.is_some_and(|from| at >= from.saturating_sub(COARSE).unwrap_or(from))
        };
        let named = |stub: &Stub| self.suspects.iter().any(|one| one.may_go_on_with(&stub.id));
        let may_be = |stub: &Stub| {
            let touched = stub.updated.max(stub.touched);
            let known = since(stub.updated, asked) || since(touched, oldest) || named(stub);
            known || self.is_muted(store, Some(stub))
        };
        let mut stubs = match Arc::get_mut(&mut listing) {
            Some(listing) => std::mem::take(&mut listing.stubs),
            None => listing.stubs.clone(),
        };
        stubs.retain(may_be);
        self.candidates.reserve_exact(stubs.len());
        for stub in stubs {
            let same = |c: &&mut Candidate| c.store == store && c.is_of(&stub);
            if let Some(known) = self.candidates[..claimed].iter_mut().find(same) {
                known.stub.get_or_insert(stub);
                continue;
            }
            let candidate = self.ended(store, stub);
            self.candidates.push(candidate);
        }
    }

    /// Sessions that we stopped before their agent had written anything of them, as Pi 0.73 does not
    /// before its first answer: our receipts alone know of them.
    pub(super) fn unrecorded(&mut self, asked: impl Fn(&Stopped) -> bool) {
        let (host, agent) = (self.host, self.agent);
        let own = |stop: &&Stopped| stop.agent == agent.card().name && asked(stop);
        for stop in host.stops().iter().map(|(_, stop)| stop).filter(own) {
            let Some(store) = self.stores.first().cloned() else { return };
            let known = self.candidates.iter().any(|one| one.id.as_ref() == Some(&stop.session));
            let found = |store: &PathBuf| !agent.find(host, store, &stop.session, None).is_empty();
            if known || !host.is_over(&stop.process) || self.stores.iter().any(found) {
                continue;
            }
            let mut candidate = Candidate::new(store, Some(stop.session.clone()));
            candidate.lost = vec![Source::Gone { process: stop.process.clone() }];
            self.candidates.push(candidate);
        }
    }

    /// A session with no live claim.
    pub(super) fn ended(&self, store: &Path, stub: Stub) -> Candidate {
        let mut candidate = Candidate::new(store.to_owned(), Some(stub.id.clone()));
        let lost = self.lost.get(&stub.id).into_iter().flatten().filter(|lost| lost.store == store);
        candidate.lost = lost.map(|lost| lost.source.clone()).collect();
        candidate.stub = Some(stub);
        candidate
    }

    /// Gathers the evidence for one session.
    pub fn look(&self, candidate: &Candidate, depth: Depth) -> Evidence {
        let mut record = self.read(candidate, depth);
        let tool = self.tool(&record, candidate);
        self.fill(&mut record, candidate);
        let suspects = match candidate.holders.is_empty() {
            true => self.may_hold(candidate, &record),
            false => Vec::new(), // its process is known
        };
        let hidden = candidate.hidden.clone().or_else(|| self.late(candidate, &record));
        let unsuspected = suspects.is_empty().then(|| self.muted(candidate, &record));
        let hidden = hidden.or(unsuspected.flatten());
        let unclaimed =
            candidate.id.as_deref().filter(|_| candidate.lost.is_empty() && !self.brief);
        let absence = unclaimed.map(|id| self.agent.absence(&candidate.store, id));
        let answered = self.answered(candidate, &record);
        Evidence {
            agent: self.agent.card().name.to_owned(),
            id: candidate.id.clone(),
            holders: self.holders(candidate, &record),
            record,
            lost: candidate.lost.clone(),
            suspects,
            absence: absence.map(|check| Source::Absence { check }),
            blind: hidden.or(self.blind.clone()),
            tool,
            stop: self.stopped(candidate),
            prompted: self.prompted(candidate),
            answered,
        }
    }

    /// The session as programs see it, and what of it could not be read.
    pub fn session(&self, candidate: &Candidate, depth: Depth) -> (Session, Option<Problem>) {
        let seen = self.look(candidate, depth);
        let why = match &seen.record {
            Reading::Failed { why, .. } => Some(why.clone()),
            Reading::Read(record) => record.gap.clone(),
            Reading::Absent => None,
        };
        let place = candidate.stub.as_ref().map_or(&candidate.store, |stub| &stub.path);
        let path = match &seen.record {
            Reading::Failed { source: Source::Unreadable { path }, .. } => Some(path.clone()),
            Reading::Read(_) | Reading::Failed { .. } | Reading::Absent => Some(place.clone()),
        };
        let problem = why.map(|why| Problem { agent: self.agent.card().name, path, why });
        let mut verdict = derive(&seen);
        let passes = self.brief && !verdict.live && !matches!(verdict.state, State::Unknown(_));
        if passes {
            verdict.because.clear(); // not even worded
        }
        verdict.because.shrink_to_fit(); // room for more would be held for each of a long list
        let around = Around {
            host: self.host.machine().to_owned(),
            source: candidate.stub.as_ref().filter(|_| !passes).map(|stub| stub.path.clone()),
            written: candidate.stub.as_ref().map(|stub| stub.updated),
            cwd: candidate.about.cwd.clone().or(candidate.started_in.clone()),
            title: candidate.about.title.clone(),
            started: candidate.about.started,
            launch: self.launch(candidate),
            now: self.host.now(),
        };
        (Session::new(seen, verdict, around), problem)
    }

    /// The last time that we stopped it, unless we had it go on since: whatever its record has lost, its last process is another.
    fn stopped(&self, candidate: &Candidate) -> Option<(Timestamp, Source)> {
        let (id, name) = (candidate.id.as_ref()?, self.agent.card().name);
        let own = |(_, stop): &&(PathBuf, Stopped)| stop.session == *id && stop.agent == name;
        let (path, stop) =
            self.host.stops().iter().filter(own).max_by_key(|(path, stop)| (stop.at, path))?;
        let last = self.newest_launch(candidate).is_none_or(|launch| stop.is_since(launch));
        let shows = Source::File { path: path.clone(), shows: id.clone() };
        last.then_some((stop.at, shows))
    }

    /// Our newest launch of it. Of one whose process is not the one that has it now only the names count.
    fn launch(&self, candidate: &Candidate) -> Option<Launched> {
        let newest = self.newest_launch(candidate)?.clone();
        let ours = newest.process.is_none()
            || candidate.holders.is_empty()
            || candidate.holders.iter().any(|holder| self.is_of(&holder.key, &newest));
        match ours {
            true => Some(newest),
            false => {
                Some(Launched { exit: None, deadline: None, log: None, hooks: None, ..newest })
            }
        }
    }

    fn newest_launch(&self, candidate: &Candidate) -> Option<&Launched> {
        let name = self.agent.card().name;
        let own = |one: &&Launched| one.session == candidate.id && one.agent == name;
        let launches = self.host.launches().iter().filter(|_| candidate.id.is_some());
        launches.filter(own).max_by_key(|one| (one.at, one.launch.as_str()))
    }

    /// The process is the one that was launched, or carries the launch's name.
    fn is_of(&self, key: &ProcKey, launch: &Launched) -> bool {
        let carries = |one: &Live| one.key == *key && one.launch.as_ref() == Some(&launch.launch);
        launch.process.as_ref() == Some(key) || self.live.iter().any(carries)
    }

    /// The holder that we launched for more than one prompt. It was given the first one, which Pi 0.73
    /// does not write down before it has answered.
    fn prompted(&self, candidate: &Candidate) -> Option<(ProcKey, Source)> {
        let newest = self.newest_launch(candidate).filter(|one| one.role() == Role::Piped)?;
        let holder = candidate.holders.iter().find(|holder| self.is_of(&holder.key, newest))?;
        let (launch, pid) = (newest.launch.clone(), holder.key.pid);
        Some((holder.key.clone(), Source::Launch { launch, pid }))
    }

    /// What our newest launch of it printed last of its prompt, if it exited well since the record was written, whose newest
    /// turn has no answer, and says that there was one. Behind it stands what hooks have printed.
    fn answered(&self, candidate: &Candidate, record: &Reading) -> Option<Source> {
        let Reading::Read(record) = record else { return None };
        match &record.turn {
            Turn::Open { .. } | Turn::Ended { how: Ending::Interrupted, .. } => {}
            Turn::None | Turn::Ended { .. } => return None,
        }
        let newest = self.newest_launch(candidate).filter(|_| candidate.holders.is_empty())?;
        newest.exit.filter(|exit| exit.code == Some(0) && Some(exit.at) >= record.updated)?;
        let path = newest.log.clone()?;
        let file = self.host.open(&path).ok()?;
        let (size, mut found) = (file.size(), None);
        let _ = lines::back(&*file, &mut |line| {
            let told = match line.body {
                Body::Whole(bytes) => self.agent.answers(bytes),
                Body::Huge(_) => None,
            };
            found = told.map(|told| (line.at, told));
            lines::until(found.is_some() || size - line.at >= PRINTED)
        });
        let (offset, (answered, shows)) = found?;
        let (shows, without) = (shows.to_owned(), Vec::new());
        answered.then_some(Source::Line { path, offset, shows, without })
    }

    fn read(&self, candidate: &Candidate, depth: Depth) -> Reading {
        let Some(stub) = &candidate.stub else { return self.missing(candidate) };
        let record = match depth {
            Depth::Glance => self.record(stub, depth),
            Depth::Whole => self.counted(stub),
        };
        // What is empty says nothing, also not that nothing was asked: somebody may have emptied it.
        let is_empty = !candidate.is_held() && stub.stat.is_some_and(|stat| stat.size == 0);
        match record {
            Ok(_) if is_empty => {
                Reading::Failed { why: "it is empty".to_owned(), source: Source::Blind }
            }
            Ok(record) => Reading::Read(Box::new(record)),
            Err(why) => Reading::Failed { why: why.to_string(), source: self.unread(&stub.path) },
        }
    }

    /// A record with what it used. Where that cannot be counted it is told, and the rest stands: how a session is
    /// does not depend on whether somebody asks for its tokens.
    fn counted(&self, stub: &Stub) -> io::Result<Record> {
        let (mut record, counted) = match self.agent.counts_apart() {
            true => {
                let sheet = Sheet::of(self.host, stub, Depth::Whole);
                let glance = || self.agent.glance(&sheet, stub);
                let mut record = self.recalled(stub, Depth::Glance, glance)?;
                let counted = self.agent.count(&self.tally(), &sheet, stub, &mut record);
                (record, counted)
            }
            false => match self.record(stub, Depth::Whole) {
                Ok(record) => return Ok(record),
                Err(why) => (self.record(stub, Depth::Glance)?, Err(why)),
            },
        };
        record.gap = counted.err().map(|why| format!("tokens cannot be counted: {why}"));
        Ok(record)
    }

    pub(super) fn record(&self, stub: &Stub, depth: Depth) -> io::Result<Record> {
        self.recalled(stub, depth, || self.agent.read(self.host, stub, depth))
    }

    /// What was read before, else what is read now, which is kept.
    fn recalled(
        &self,
        stub: &Stub,
        depth: Depth,
        read: impl FnOnce() -> io::Result<Record>,
    ) -> io::Result<Record> {
        let original = self.original(stub, depth);
        if let Some(record) = original.as_ref().and_then(|original| self.host.recall(original)) {
            return Ok(record);
        }
        let record = read()?;
        if let Some(original) = original.filter(|_| !record.elsewhere) {
            self.host.keep(&original, &record);
        }
        Ok(record)
    }

    fn tally(&self) -> Tally<'_> {
        let least = match self.recalls {
            Recall::Counts | Recall::Live => tally::LONG,
            Recall::Records => 0,
        };
        Tally::kept(self.host, self.agent.card().name, least)
    }

    /// No record was found: a store, or a part of it, that is closed to us may hold one.
    fn missing(&self, candidate: &Candidate) -> Reading {
        let (host, store) = (self.host, &candidate.store);
        let failed = |why: String, path: PathBuf| Reading::Failed {
            why,
            source: Source::Unreadable { path },
        };
        match host.entries(store) {
            Err(why) if !is_absent(&why) => return failed(why.to_string(), store.clone()),
            Ok(_) | Err(_) => {}
        }
        let id = candidate.id.as_deref().filter(|_| candidate.is_held());
        let missed = id.and_then(|id| self.agent.missed(host, store, id));
        missed.map_or(Reading::Absent, |missed| failed(missed.why, missed.path))
    }

    /// What a record is told by, where that can be said and it pays to ask what was read of it before.
    fn original<'s>(&self, stub: &'s Stub, depth: Depth) -> Option<Original<'s>> {
        let (stat, beside) = match (self.recalls, stub.stat) {
            (Recall::Counts, _) | (Recall::Live, None) => None,
            (Recall::Live | Recall::Records, Some(_)) => self.content(stub, depth),
            (Recall::Records, None) => self.shared_content(stub, depth),
        }?;
        let live = self.recalls == Recall::Live;
        let (agent, brief) = (self.agent.card().name, self.brief);
        Some(Original { agent, depth, stub, stat, beside, live, brief })
    }

    /// What shows that a record could not be read: nothing, where it could and was not understood.
    fn unread(&self, path: &Path) -> Source {
        match host::slurp(self.host, path, 1) {
            Ok(_) => Source::Blind,
            Err(_) => Source::Unreadable { path: path.to_owned() },
        }
    }

    /// What the running process tells of the session, where its record does not.
    fn fill(&self, record: &mut Reading, candidate: &Candidate) {
        let Reading::Read(record) = record else { return };
        let about = &candidate.about;
        record.title = record.title.take().or(about.title.clone());
        record.cwd = about.cwd.clone().or(record.cwd.take());
        record.version = about.version.clone().or(record.version.take());
    }

    /// Why nobody can say that nobody runs it: only a claim would tell, and what may be its own could not be read.
    fn muted(&self, candidate: &Candidate, record: &Reading) -> Option<String> {
        let stub = candidate.stub.as_ref().filter(|_| candidate.lost.is_empty())?;
        let may_run = is_open(record) && candidate.holders.is_empty();
        let may_run = may_run && self.is_muted(&candidate.store, Some(stub));
        may_run.then(|| "what tells who runs it cannot be read".to_owned())
    }

    /// What tells who has this session, or any, could not be read.
    fn is_muted(&self, store: &Path, stub: Option<&Stub>) -> bool {
        let speaks = |path: &Path| stub.is_none_or(|stub| self.agent.speaks_of(path, &stub.path));
        self.shut.iter().any(|shut| shut == store)
            || self.unheard.iter().any(|(own, path)| own == store && speaks(path))
    }

    /// Why the pass over the processes says nothing of it: it was written to since.
    fn late(&self, candidate: &Candidate, record: &Reading) -> Option<String> {
        let newest = match record {
            Reading::Read(record) => record.updated,
            Reading::Absent | Reading::Failed { .. } => None,
        };
        let written = candidate.stub.as_ref().map(|stub| stub.updated);
        let is_late = candidate.holders.is_empty() && self.since_pass(newest.max(written));
        is_late.then(|| "written to while processes were read".to_owned())
    }

    /// After the pass, and not in a future that only a wrong clock knows.
    pub(super) fn since_pass(&self, at: Option<Timestamp>) -> bool {
        let (Some(at), Ok(table)) = (at, self.host.table()) else { return false };
        table.taken < at && at <= self.host.now()
    }

    fn may_hold(&self, candidate: &Candidate, record: &Reading) -> Vec<Suspect> {
        let Some(stub) = &candidate.stub else { return Vec::new() };
        let (cwd, newest) = match record {
            Reading::Read(record) => (record.cwd.as_deref(), record.updated),
            Reading::Absent | Reading::Failed { .. } => (None, None),
        };
        // A file may be older than what stands in it: it was put back, or a clock was wrong.
        let written = newest.map_or(stub.updated, |newest| newest.max(stub.updated));
        // A directory may be renamed under an open turn, or left for another: where a process leaves no
        // trail, or has lost it, the directory tells that it cannot have a session only once its turn has ended; and
        // of one that leaves no trail never, once nothing goes by that name any more.
        let open = is_open(record);
        let last = self.concluded(candidate, written.max(stub.touched));
        let older = |process: &Live| {
            let own =
                |last: &ProcKey| process.key.boot == last.boot && process.key.start < last.start;
            last.is_some_and(own)
        };
        let lost = |process: &Live| self.is_unregistered(process) && !older(process);
        let roams = |process: &Live| self.agent.card().infers || lost(process);
        let elsewhere = |process: &Live| match (cwd, process.works_in()) {
            (Some(cwd), Some(own)) if self.agent.card().stays && !(open && roams(process)) => {
                let told = !self.agent.card().infers || self.is_there(cwd);
                told && self.host.resolve(cwd) != self.host.resolve(own)
            }
            _ => false,
        };
        // The process that had it is gone: only one that began later can have taken it over.
        let gone = candidate.lost.iter().filter_map(|lost| match lost {
            Source::Gone { process } => Some(process.start),
            _ => None,
        });
        let gone = gone.max();
        let unclear = self.unclear.contains(&candidate.store);
        let ground = |process: &Live| {
            let is = |id: &Option<String>| id.is_some() && *id == candidate.id;
            let later = gone.is_none_or(|gone| process.key.start > gone);
            let may = |last: Timestamp| later && process.may_hold(&candidate.store, last);
            let here = !elsewhere(process);
            let grounds = [
                (Ground::Named, is(&process.may_name)),
                (Ground::Wrote, here && may(written)),
                (Ground::Untold, process.untold && may(written)),
                (Ground::Untold, (process.untold || unclear) && here && may(Timestamp::MAX)),
                (Ground::Resumed, later && is(&process.resumed)),
            ];
            grounds.into_iter().find_map(|(ground, speaks)| speaks.then_some(ground))
        };
        let suspects = self.suspects.iter();
        let suspects = suspects.filter_map(|one| Some(one.suspected_for(ground(one)?)));
        let asked = self.between_answers(candidate, record);
        suspects.chain(asked.map(|one| one.suspected_for(Ground::Wrote))).collect()
    }

    /// Its record was removed since it was listed, no process is known to want it, and no receipt of ours tells how it
    /// ended: there is no such session any more.
    pub fn is_removed(&self, candidate: &Candidate) -> bool {
        let is_wanted =
            candidate.is_held() || candidate.hidden.is_some() || self.stopped(candidate).is_some();
        !is_wanted && candidate.stub.as_ref().is_some_and(|stub| !self.is_there(&stub.path))
    }

    /// Something goes by this path, or may.
    pub(super) fn is_there(&self, path: &Path) -> bool {
        !self.host.stat(path).is_err_and(|why| is_absent(&why))
    }

    /// The process that we launched for it last, if that has exited and nobody has touched the record since: whoever is
    /// older than that and works elsewhere has neither begun it nor taken it up.
    fn concluded(&self, candidate: &Candidate, touched: Timestamp) -> Option<&ProcKey> {
        let newest = self.newest_launch(candidate)?;
        newest.exit.filter(|exit| exit.at >= touched).and(newest.process.as_ref())
    }

    /// Who holds it. A process that holds its parent too is not the sub-agent's alone.
    fn holders(&self, candidate: &Candidate, record: &Reading) -> Vec<Holder> {
        let spawned = matches!(record, Reading::Read(record) if record.parent.is_some());
        let mut holders = candidate.holders.clone();
        if let Ok(table) = self.host.table() {
            let halts = |key: &ProcKey| table.of(key).is_some_and(|one| one.halted);
            holders.iter_mut().for_each(|holder| holder.halted = halts(&holder.key));
        }
        holders.sort_by(|a, b| a.key.cmp(&b.key));
        for holder in holders.iter_mut().filter(|_| spawned) {
            let held = |other: &&Candidate| other.holders.iter().any(|one| one.key == holder.key);
            holder.shared |= self.candidates.iter().filter(held).count() > 1;
        }
        holders
    }
}

fn is_open(record: &Reading) -> bool {
    matches!(record, Reading::Read(record) if matches!(record.turn, Turn::Open { .. }))
}
