//! One look for a cursor: the sessions that live, those it has marks of, and what each did since.

use crate::{
    intents,
    ops::{Here, locks, observe},
    places,
};
use agentctl_core::{
    agent::{Agent, Depth},
    agents,
    event::{self, Cursor, Look, Seen},
    host::{Host, Table},
    ident::ProcKey,
    observe::{Candidate, History, Survey, Teller},
    receipt::Launched,
    select::join_unnamed,
    story::{self, From},
    wire::{Problem, Session, StateName},
};
use jiff::{SignedDuration, Timestamp};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// How long all agents together may take; who is later is looked at the next time.
const PATIENCE: Duration = Duration::from_secs(3);
/// And how long where nobody looked for a while, as after the machine slept.
const LONG: Duration = Duration::from_secs(30);
/// A watcher that runs is never further behind than this.
const RECENT: SignedDuration = SignedDuration::from_mins(8);

/// What to look at.
pub(super) struct Ask {
    pub(super) chosen: Vec<&'static dyn Agent>,
    /// What has ended since the cursor's floor, too.
    pub(super) full: bool,
    /// Nobody looked before: it may take as long as it takes.
    pub(super) first: bool,
    /// Only as it is: nothing of what was before.
    pub(super) only_now: bool,
    /// Processes whose way to tell of changes need not be asked for.
    pub(super) known: BTreeSet<ProcKey>,
}

/// What was seen, and what is to be watched.
pub(super) struct Looked {
    pub(super) look: Look,
    pub(super) processes: Vec<(ProcKey, &'static str)>,
    pub(super) stores: Vec<(&'static str, PathBuf)>,
    pub(super) tellers: Vec<(&'static str, Teller)>,
    pub(super) problems: Vec<Problem>,
    /// Agents of which not all could be asked.
    pub(super) partial: Vec<&'static str>,
}

/// One agent's part of it.
struct Part {
    agent: &'static str,
    /// All that it keeps could be asked: what is not here is gone.
    whole: bool,
    /// All that was written since is here.
    listed: bool,
    sessions: Vec<Seen>,
    stores: Vec<PathBuf>,
    tellers: Vec<Teller>,
    problems: Vec<Problem>,
}

/// Looks.
pub(super) fn look(here: &Here, cursor: &Cursor, ask: Ask) -> Looked {
    let Ask { chosen, full, first, only_now, known } = ask;
    // Whoever was away for long has long to read.
    let away = here.again().now().duration_since(cursor.floor) > RECENT;
    let here = match (away, first) {
        (true, true) => here.again(),
        (true, false) => here.again_within(LONG),
        (false, _) => here.again_within(PATIENCE),
    };
    let at = here.host().table().map_or_else(|_| here.now(), |table| table.taken);
    let marks = Arc::new(cursor.clone());
    let answers = observe::each(&here, observe::CALM, &chosen, move |agent, host, env| {
        let history = match full && !only_now {
            true => History::Since(marks.floor_of(agent.card().name)),
            false => History::Skip,
        };
        let survey = Survey::new(agent, host, env, history);
        let tellers = survey.tellers(|process| known.contains(process));
        let mut part = Part { tellers, ..part(survey, &marks, host, only_now) };
        if !only_now {
            unrecorded(&mut part, &marks, host, full);
        }
        part
    });
    let machine = here.host().machine().to_owned();
    let mut looked = Looked {
        look: Look {
            full,
            unread: answers.late.iter().map(|late| late.agent.clone()).collect(),
            processes: here.host().table().ok().map(living),
            machine,
            ..Look::nothing(at)
        },
        processes: Vec::new(),
        stores: Vec::new(),
        tellers: Vec::new(),
        problems: answers.late,
        partial: Vec::new(),
    };
    for part in answers.found {
        looked.add(part, at);
    }
    looked.problems.extend(observe::lost(here.host().lost()));
    if let Some(state) = places::state() {
        looked.asked_for(&state);
    }
    looked
}

impl Looked {
    /// Adds what people asked for; why something of it cannot be read `fuse list` and `budget list` say.
    fn asked_for(&mut self, state: &Path) {
        let fuses = intents::fuses::all(state);
        self.look.fuses = fuses.map(|found| found.all).unwrap_or_default();
        let budgets = intents::budgets::all(state);
        self.look.budgets = budgets.map(|found| found.all).unwrap_or_default();
        match locks::of_people(state, None) {
            Ok((manual, problems)) => {
                self.look.people = problems.is_empty();
                self.look.locks.extend(manual);
                self.problems.extend(problems);
            }
            Err(why) => {
                let (agent, message) = ("agentctl".to_owned(), why.message);
                self.problems.push(Problem { agent, path: None, message });
            }
        }
    }

    fn add(&mut self, part: Part, at: Timestamp) {
        let Part { agent, whole, listed, sessions, stores, tellers, problems } = part;
        self.tellers.extend(tellers.into_iter().map(|teller| (agent, teller)));
        match whole {
            true => self.look.agents.push(agent.to_owned()),
            false => self.partial.push(agent),
        }
        self.look.unread.extend((!listed).then(|| agent.to_owned()));
        self.stores.extend(stores.into_iter().map(|store| (agent, store)));
        self.problems.extend(problems);
        for Seen { session, .. } in &sessions {
            let holders = session.process.iter().chain(&session.processes);
            self.processes.extend(holders.map(|key| (key.clone(), agent)));
            self.look.locks.extend(locks::of_session(session, at));
        }
        self.look.sessions.extend(sessions);
    }
}

/// Adds sessions that left no record, and whose exit their parent saw.
fn unrecorded(part: &mut Part, cursor: &Cursor, host: &dyn Host, full: bool) {
    let Some(agent) = agents::named(part.agent) else { return };
    let own = |launch: &&Launched| launch.agent == part.agent && launch.session.is_some();
    let known: Vec<Option<String>> =
        part.sessions.iter().map(|seen| seen.session.id.clone()).collect();
    for launch in host.launches().iter().filter(own).filter(|one| !known.contains(&one.session)) {
        let Some(session) = event::witnessed(launch, host.stops(), host.machine()) else {
            continue;
        };
        let key = cursor.key_of(&session, agent.card().local_ids);
        let floor = cursor.floor_of(part.agent);
        let recent = full && launch.exit.is_some_and(|exit| exit.at > floor);
        let from = match cursor.marks.get(&key) {
            Some(mark) if !mark.is_over() => From::Mark(mark),
            None if recent => From::Time(floor),
            Some(_) | None => continue,
        };
        let story = story::story(agent, host, None, (from, [launch].into_iter()));
        let story = story.unwrap_or_default();
        part.sessions.push(Seen { key, session, story, settled: true });
    }
}

fn part(mut survey: Survey<'_>, cursor: &Cursor, host: &dyn Host, only_now: bool) -> Part {
    let agent = survey.agent;
    let name = agent.card().name;
    // What lived is looked for though nothing was written since.
    let lived = cursor
        .marks
        .iter()
        .filter(|(key, mark)| key.agent == name && !key.is_unnamed() && mark.live == Some(true));
    for (key, _) in lived {
        if !survey.candidates.iter().any(|one| one.id.as_ref() == Some(&key.id)) {
            survey.also(&key.id);
        }
    }
    let candidates: Vec<&Candidate> = survey.candidates.iter().collect();
    let read = observe::spread(&candidates, |candidate| {
        let (session, problem) = survey.session(candidate, Depth::Glance);
        let key = cursor.key_of(&session, agent.card().local_ids);
        let from = match cursor.marks.get(&key) {
            _ if only_now => From::Now,
            Some(mark) => From::Mark(mark),
            None => From::Time(cursor.floor_of(name)),
        };
        let own = |launch: &&Launched| launch.agent == name && launch.session == session.id;
        let launches = || host.launches().iter().filter(|_| session.id.is_some()).filter(own);
        let told = story::story(agent, host, candidate.stub.as_ref(), (from, launches()));
        let unread = told.as_ref().err().map(|why| unreadable(name, &session, why));
        // What it did is told once it can be read. That nothing is known of it any more is told of one that was known.
        let lost = cursor.marks.contains_key(&key) && session.state == StateName::Unknown;
        let told = match told {
            Err(_) if lost => story::story(agent, host, None, (from, launches())),
            told => told,
        };
        let settled = told.is_ok();
        let seen = Seen { key, session, story: told.unwrap_or_default(), settled };
        (seen, problem.map(Problem::from).or(unread))
    });
    let (mut seen, unread): (Vec<Seen>, Vec<Option<Problem>>) = read.into_iter().unzip();
    let mut joined: Vec<Session> = seen.iter().map(|seen| seen.session.clone()).collect();
    join_unnamed(&mut joined, |_| agent.card().infers);
    seen.retain(|seen| seen.session.id.is_some() || joined.contains(&seen.session));
    let unread = unread.into_iter().flatten().collect();
    let stores = survey.stores.clone();
    let (whole, listed) = (survey.is_whole(), survey.is_listed());
    let problems = observe::problems(&mut survey, unread);
    Part { agent: name, whole, listed, sessions: seen, stores, tellers: Vec::new(), problems }
}

/// Whoever does anything still.
fn living(table: &Table) -> Vec<ProcKey> {
    let live = table.processes.iter().filter(|process| !process.zombie);
    live.map(|process| table.key(process)).collect()
}

fn unreadable(agent: &str, session: &Session, why: &std::io::Error) -> Problem {
    Problem { agent: agent.to_owned(), path: session.source.clone(), message: why.to_string() }
}
