//! Watches everything, and tells what happens: the one watcher that commands and the daemon share.
//!
//! Nothing is asked again and again: a look is made when a store changes, when a process ends, when a
//! server says that something has changed, and, for what nobody tells, as [`Pace`] says. What it tells
//! goes on from a cursor, so that it may be killed at any moment. Plain calls: whoever wants it in the
//! background gives it a thread.

mod ears;
mod look;
mod pace;
mod places;

use super::{Here, observe};
use crate::host::{Change, Part, Watch};
use agentctl_core::{
    agent::Agent,
    agents,
    event::{Cursor, Key, Look, Mark, Seen},
    ident::ProcKey,
    wire::{Event, Problem, Session, StateName},
};
use ears::Ears;
use look::Looked;
use pace::{Pace, SCAN};
use places::Places;
use std::{
    collections::{BTreeMap, BTreeSet},
    thread,
    time::{Duration, Instant},
};

/// However busy it is, nothing is looked at more often than this.
const REST: Duration = Duration::from_millis(40);
/// How long files and processes may contradict each other before that is told as it is.
const SETTLE: Duration = Duration::from_millis(250);
/// How long a process may name no session before it is told as one, or its session as ended.
const UNNAMED: Duration = Duration::from_secs(2);
/// How long the parent of a launch may take to write down how it exited.
const EXIT: Duration = Duration::from_secs(3);
/// When what is in a directory that was just made is looked at again.
const MADE: Duration = Duration::from_millis(100);

/// When a process that has named no session is first looked at again.
const NAMED: Duration = Duration::from_millis(250);

/// What a watcher has to say.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// What happened, oldest first.
    pub(crate) events: Vec<Event>,
    /// What cannot be read or watched; each is told once, and again if it went and came back.
    pub(crate) problems: Vec<Problem>,
}

/// Which agents are looked at next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Scope {
    agents: BTreeSet<&'static str>,
    /// All of them, and what has ended since.
    full: bool,
}

/// A watch over all agents.
pub(crate) struct Watcher {
    here: Here,
    cursor: Cursor,
    watch: Watch,
    places: Places,
    ears: Ears,
    /// Sessions that live, as they were seen last: of some nothing else is left when they end.
    alive: BTreeMap<Key, Session>,
    /// Processes that are watched, and whose they are.
    processes: BTreeMap<ProcKey, &'static str>,
    /// Processes that have named no session, since when: they may do so without a change of any file.
    unnamed: BTreeMap<ProcKey, Instant>,
    /// Sessions that contradict themselves, since when.
    unsettled: BTreeMap<Key, Instant>,
    /// Agents of which not all could be asked, since when.
    partial: BTreeMap<&'static str, Instant>,
    /// When an agent is looked at though nothing else happens.
    soon: BTreeMap<&'static str, Instant>,
    /// When one is looked at again after a directory of it was made last, whatever is looked at before.
    made: BTreeMap<&'static str, Instant>,
    /// When everything is.
    pace: Pace,
    last: Instant,
    /// Nobody looked yet.
    first: bool,
    /// No directory can be watched.
    deaf: bool,
    /// Processes that live and could not be watched.
    unwatched: BTreeSet<ProcKey>,
    /// What could not be read at the last full look, and since.
    told: BTreeSet<Problem>,
    /// What could not be watched when that was tried last.
    refused: BTreeSet<Problem>,
}

impl Watcher {
    /// From now on, or from a cursor, with what was missed since.
    pub(crate) fn new(here: &Here, from: Option<Cursor>) -> (Self, Batch) {
        let (watch, refused) = Watch::empty();
        let now = Instant::now();
        let since = from.clone().unwrap_or_else(|| Cursor::since(here.now()));
        let mut watcher = Self {
            here: here.again(),
            cursor: since,
            watch,
            places: Places::default(),
            ears: Ears::default(),
            alive: BTreeMap::new(),
            processes: BTreeMap::new(),
            unnamed: BTreeMap::new(),
            unsettled: BTreeMap::new(),
            partial: BTreeMap::new(),
            soon: BTreeMap::new(),
            made: BTreeMap::new(),
            pace: Pace::new(now),
            last: now,
            first: true,
            deaf: refused.is_some(),
            unwatched: BTreeSet::new(),
            told: BTreeSet::new(),
            refused: BTreeSet::new(),
        };
        let mut batch = Batch::default();
        if let Some(why) = refused {
            batch.problems.push(unwatched(&why));
        }
        // Watch first, look then: nothing can happen in between unseen.
        watcher.arm(&[], &mut batch);
        let everything = Scope { agents: BTreeSet::new(), full: true };
        match from {
            None => {
                let looked = watcher.look(&everything, true);
                watcher.cursor = Cursor::now(&looked.look);
                watcher.seen(looked, &mut batch);
            }
            Some(_) => {
                let gap = watcher.cursor.gap(watcher.here.again().now());
                batch.events.push(gap);
                watcher.tell(&everything, &mut batch);
            }
        }
        watcher.first = false;
        watcher.pace.looked(Instant::now());
        (watcher, batch)
    }

    /// Where whoever was told everything so far stands.
    pub(crate) fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// Waits until there is something to say, or until then: what is said may then be nothing.
    pub(crate) fn next(&mut self, until: Option<Instant>) -> Batch {
        let mut batch = Batch::default();
        loop {
            self.ears.listen(&self.watch);
            let later = self.soon.values().chain(self.made.values()).copied();
            let due = later.chain([self.pace.scan]).chain(until).min();
            let left = due.map(|due| due.saturating_duration_since(Instant::now()));
            let mut scope = Scope::default();
            self.heed(self.watch.next(left), &mut scope, &mut batch);
            thread::sleep(REST.saturating_sub(self.last.elapsed()));
            // Only what is there by now: who writes all the time keeps nobody from looking.
            for change in self.watch.waiting() {
                self.heed(change, &mut scope, &mut batch);
            }
            self.fall_due(&mut scope, &mut batch);
            if scope != Scope::default() {
                self.tell(&scope, &mut batch);
            }
            let late = until.is_some_and(|until| until <= Instant::now());
            if late || !batch.events.is_empty() || !batch.problems.is_empty() {
                return batch;
            }
        }
    }

    /// Nothing is held back.
    pub(crate) fn is_settled(&self) -> bool {
        self.unsettled.is_empty()
    }

    fn heed(&mut self, change: Change, scope: &mut Scope, batch: &mut Batch) {
        match change {
            Change::TimedOut | Change::File(_) => {}
            Change::Lost => {
                scope.full = true;
                self.places.doubt();
            }
            Change::Pushed(key) => {
                self.ears.pushed(&key).into_iter().for_each(|told| self.due(told))
            }
            Change::Hushed(key, line) => {
                self.ears.hushed(&key, line).into_iter().for_each(|told| self.due(told))
            }
            Change::Ended(key) => scope.agents.extend(self.processes.remove(&key)),
            Change::Below { dir, what } => {
                let of = self.places.agents(&dir);
                scope.agents.extend(&of);
                if what == Part::Itself {
                    self.places.forget(&dir);
                    self.arm(&[], batch);
                }
                if what != Part::File {
                    let again = Instant::now() + MADE;
                    self.made.extend(of.into_iter().map(|agent| (agent, again)));
                }
            }
        }
    }

    /// Looks at an agent then, or before.
    fn due(&mut self, (agent, due): (&'static str, Instant)) {
        let soon = self.soon.entry(agent).or_insert(due);
        *soon = due.min(*soon);
    }

    /// Adds what is to be looked at by now.
    fn fall_due(&mut self, scope: &mut Scope, batch: &mut Batch) {
        let now = Instant::now();
        if self.pace.scan <= now {
            self.places.doubt(); // a watch that was lost silently is made anew
            self.arm(&[], batch);
        }
        scope.full |= self.pace.is_due(&self.here, self.is_sure());
        // What is due later was put off for a reason, whatever is looked at meanwhile.
        for later in [&mut self.soon, &mut self.made] {
            let due = later.extract_if(.., |_, due| *due <= now);
            scope.agents.extend(due.map(|(agent, _)| agent));
        }
        if scope.full {
            self.pace.looked(now);
        }
    }

    /// Whatever happens is told by the kernel, but for processes that come and write nothing. Who works
    /// or waits may stall, or be asked by a server that writes nothing down.
    fn is_sure(&self) -> bool {
        let rests = |session: &Session| session.state == StateName::Idle;
        let heard = !self.deaf && self.unwatched.is_empty() && self.refused.is_empty();
        heard && self.alive.values().all(rests)
    }

    fn tell(&mut self, scope: &Scope, batch: &mut Batch) {
        let mut looked = self.look(scope, false);
        self.last = Instant::now();
        let missed = self.cursor.marks.iter().filter(|(key, mark)| looked.look.misses(key, mark));
        let known = missed.filter_map(|(key, _)| self.alive.get_key_value(key));
        looked.look.missed = known.map(|(key, last)| (key.clone(), last.clone())).collect();
        self.settle(&mut looked);
        batch.events.extend(self.cursor.tell(&looked.look));
        self.seen(looked, batch);
    }

    fn look(&self, scope: &Scope, only_now: bool) -> Looked {
        let of =
            |agent: &&&'static dyn Agent| scope.full || scope.agents.contains(agent.card().name);
        let chosen: Vec<&'static dyn Agent> = agents::ALL.iter().filter(of).copied().collect();
        let known = self.ears.known();
        let ask = look::Ask { chosen, full: scope.full, first: self.first, only_now, known };
        look::look(&self.here, &self.cursor, ask)
    }

    /// Holds back what contradicts itself, for a moment.
    fn settle(&mut self, looked: &mut Looked) {
        let (now, marks) = (Instant::now(), &self.cursor.marks);
        let mut still = BTreeMap::new();
        let mut hold = |key: &Key, limit: Duration| {
            let since = self.unsettled.get(key).copied().unwrap_or(now);
            let held = now.duration_since(since) < limit;
            if held {
                still.insert(key.clone(), (since, since + limit));
            }
            held
        };
        let spared = bereft(&mut looked.look, marks);
        let linger: BTreeSet<&Key> = marks
            .iter()
            .filter(|(_, mark)| looked.look.lingers(mark))
            .map(|(key, _)| key)
            .collect();
        for seen in looked.look.sessions.iter_mut().filter(|seen| seen.settled) {
            let mark = marks.get(&seen.key);
            let ends = !seen.session.live && linger.contains(&seen.key);
            if seen.key.is_unnamed() && seen.session.launch_id.is_some() {
                seen.settled = false; // `launch` says what becomes of it until it has a name
            } else if ends || seen.is_unsettled(mark) {
                let limit = match (seen.key.is_unnamed(), ends || seen.awaits_exit(mark)) {
                    (true, _) => UNNAMED,
                    (false, true) => EXIT,
                    (false, false) => SETTLE,
                };
                seen.settled = !hold(&seen.key, limit);
            }
        }
        // One that ends takes its name away before its record is whole.
        let ends = |mark: &Mark| self.processes.keys().any(|process| mark.is_held_by(process));
        let missed = marks.iter().filter(|(key, mark)| looked.look.misses(key, mark));
        let missed = missed.filter(|(key, _)| !spared.contains(key));
        let missed = missed.map(|(key, mark)| (key, if ends(mark) { UNNAMED } else { SETTLE }));
        let held = missed.filter(|(key, limit)| hold(key, *limit)).map(|(key, _)| key.clone());
        looked.look.spared = held.chain(spared.iter().cloned()).collect();
        self.unsettled.retain(|key, _| !looked.look.agents.contains(&key.agent));
        for (key, (since, due)) in still {
            if let Some(agent) = agents::named(&key.agent) {
                self.due((agent.card().name, due));
            }
            self.unsettled.insert(key, since);
        }
    }

    /// Looks again, ever less often, at processes that have named no session.
    fn await_names(&mut self, looked: &Looked) {
        let now = Instant::now();
        let mut still = BTreeMap::new();
        for seen in looked.look.sessions.iter().filter(|seen| seen.key.is_unnamed()) {
            let agent = agents::named(&seen.key.agent).map(|agent| agent.card().name);
            let Some((key, agent)) = seen.session.process.clone().zip(agent) else { continue };
            let since = self.unnamed.get(&key).copied().unwrap_or(now);
            let age = now.duration_since(since);
            if age < SCAN {
                self.due((agent, now + age.max(NAMED)));
            }
            still.insert(key, since);
        }
        self.unnamed.retain(|key, _| {
            let agent = self.processes.get(key);
            agent.is_some_and(|agent| !looked.look.agents.iter().any(|one| one == agent))
        });
        self.unnamed.extend(still);
    }

    /// Looks again, ever less often, at agents of which not all could be asked: nothing of them is told
    /// as ended meanwhile, and most processes that tell nothing of themselves are only being loaded.
    fn await_all(&mut self, looked: &Looked) {
        let now = Instant::now();
        let agents = &looked.look.agents;
        self.partial.retain(|agent, _| !agents.iter().any(|whole| whole == agent));
        for agent in &looked.partial {
            let age = now.duration_since(*self.partial.entry(agent).or_insert(now));
            if age < SCAN {
                self.due((agent, now + age.max(SETTLE)));
            }
        }
    }

    /// Looks when a session that works will have said nothing for too long.
    fn await_stalls(&mut self, looked: &Looked) {
        let (wall, now) = (self.here.again().now(), Instant::now());
        for Seen { key, session, .. } in &looked.look.sessions {
            let left = session.stalls_at().map(|at| at.duration_since(wall));
            let left = left.and_then(|left| Duration::try_from(left).ok());
            if let Some((left, agent)) = left.zip(agents::named(&key.agent)) {
                self.due((agent.card().name, now + left + REST));
            }
        }
    }

    /// Watches what was found.
    fn seen(&mut self, looked: Looked, batch: &mut Batch) {
        self.await_names(&looked);
        self.await_stalls(&looked);
        self.await_all(&looked);
        let marks = &self.cursor.marks;
        self.alive.retain(|key, _| marks.contains_key(key));
        for seen in looked.look.sessions.iter().filter(|seen| seen.session.live) {
            self.alive.insert(seen.key.clone(), seen.session.clone());
        }
        let live = &looked.look.processes;
        self.unwatched.retain(|key| live.as_ref().is_none_or(|live| live.contains(key)));
        for (key, agent) in looked.processes {
            if self.processes.contains_key(&key) {
                continue;
            }
            match self.watch.process(&key) {
                Ok(()) => {
                    self.unwatched.remove(&key);
                    self.processes.insert(key, agent);
                }
                Err(_) => drop(self.unwatched.insert(key)),
            }
        }
        let again = self.ears.seen(looked.tellers, &looked.look.agents);
        again.into_iter().for_each(|told| self.due(told));
        self.arm(&looked.stores, batch);
        self.problems(looked.problems, looked.look.full, batch);
    }

    /// Watches all places that are known and not watched yet, and looks again where one is new.
    fn arm(&mut self, stores: &[(&'static str, std::path::PathBuf)], batch: &mut Batch) {
        let (new, refused) = self.places.arm(&mut self.watch, &observe::environment(), stores);
        let soon = Instant::now() + MADE;
        self.made.extend(new.into_iter().map(|agent| (agent, soon)));
        let Some(refused) = refused else { return };
        let refused: BTreeSet<Problem> = refused.iter().map(unwatched).collect();
        batch.problems.extend(refused.difference(&self.refused).cloned());
        self.refused = refused;
    }

    /// What is wrong as far as the last looks showed.
    pub(crate) fn troubles(&self) -> Vec<Problem> {
        self.told.union(&self.refused).cloned().collect()
    }

    /// Tells each problem once; a full look without it shows that it is gone.
    fn problems(&mut self, problems: Vec<Problem>, full: bool, batch: &mut Batch) {
        if full {
            self.told.retain(|known| problems.contains(known));
        }
        for problem in problems {
            if self.told.insert(problem.clone()) {
                batch.problems.push(problem);
            }
        }
    }
}

/// Sessions of which nothing is found while a process that had one lives and names no other: their
/// store was taken away from it, and may come back. Nothing is told of both until then.
fn bereft(look: &mut Look, marks: &BTreeMap<Key, Mark>) -> BTreeSet<Key> {
    let missed: Vec<_> = marks.iter().filter(|(key, mark)| look.misses(key, mark)).collect();
    let mut spared = BTreeSet::new();
    for seen in look.sessions.iter_mut().filter(|seen| seen.key.is_unnamed()) {
        let Some(process) = &seen.session.process else { continue };
        let lost = missed.iter().filter(|(_, mark)| mark.is_held_by(process));
        for (key, _) in lost.filter(|(key, _)| !key.is_unnamed()) {
            spared.insert((*key).clone());
            seen.settled = false;
        }
    }
    spared
}

fn unwatched(why: &notify::Error) -> Problem {
    let seconds = SCAN.as_secs();
    let limit = matches!(why.kind, notify::ErrorKind::MaxFilesWatch);
    let way = if limit { "; raise fs.inotify.max_user_watches" } else { "" };
    Problem {
        agent: "agentctl".to_owned(),
        path: None,
        message: format!(
            "not all can be watched, and is looked at every {seconds} s instead: {why}{way}"
        ),
    }
}
