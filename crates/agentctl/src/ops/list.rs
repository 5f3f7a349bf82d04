//! All sessions that are asked for.

use super::{
    Here,
    observe::{self, Answers},
};
use crate::{
    error::{Error, Kind},
    patience::{Patience, moment},
};
use agentctl_core::{
    agent::{Agent, Depth},
    agents,
    host::{Env, Host},
    observe::{Candidate, History, Recall, Survey, orphans},
    select::{Filter, Order, Wanted, join_unnamed, sort},
    wire::{Problem, SCHEMA, Session, Sessions, StateName},
};
use jiff::{SignedDuration, Timestamp};
use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How far back is looked where nobody says.
const WINDOW: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How long a plain list waits for agents.
const GLANCE: Duration = Duration::from_millis(300);
/// Fewer records are as quickly read anew as found among those that were kept.
const MANY: usize = 24;
/// More sessions that may be alive have no room in the one file of these.
const FEW: usize = 100;

/// What is asked for, in the words of a call.
#[derive(Debug, Default)]
pub(crate) struct Words {
    pub(crate) all: bool,
    pub(crate) since: Option<String>,
    pub(crate) usage: bool,
    pub(crate) agents: Vec<String>,
    pub(crate) states: Vec<String>,
    pub(crate) statuses: Vec<String>,
    pub(crate) dirs: Vec<PathBuf>,
    pub(crate) groups: Vec<String>,
    pub(crate) stalled: bool,
    pub(crate) order: Option<Order>,
    pub(crate) limit: Option<usize>,
}

impl Words {
    /// How long all agents together may take. Only a plain list is a glance that may not be kept
    /// waiting; whoever asks for more has the time.
    pub(crate) fn patience(plain: bool, asked: Option<Patience>) -> Option<Duration> {
        match asked {
            Some(Patience::Within(limit)) => Some(limit),
            Some(Patience::Endless) => None,
            None => plain.then_some(GLANCE),
        }
    }

    /// What they mean.
    pub(crate) fn ask(self, here: &Here) -> Result<Ask, Error> {
        let state = |word: &String| Wanted::state(word).ok_or_else(|| unknown("state", word));
        let status = |word: &String| Wanted::status(word).ok_or_else(|| unknown("status", word));
        let wanted = self.states.iter().map(state).chain(self.statuses.iter().map(status));
        let wanted = wanted.collect::<Result<Vec<Wanted>, Error>>()?;
        if let Some(word) = self.agents.iter().find(|word| agents::named(word).is_none()) {
            return Err(unknown("agent", word));
        }
        let past = self.all || wanted.iter().any(|wanted| wanted.is_of_the_past());
        let dirs = self.dirs.iter().map(|dir| observe::absolute(here, dir)).collect();
        Ok(Ask {
            agents: self.agents,
            history: history(self.since.as_deref(), past, here.now())?,
            depth: if self.usage { Depth::Whole } else { Depth::Glance },
            filter: Filter { wanted, dirs, groups: self.groups, stalled: self.stalled },
            order: self.order.unwrap_or(Order::Attention),
            limit: self.limit,
            brief: false,
        })
    }
}

fn unknown(what: &str, word: &str) -> Error {
    Error::new(Kind::Usage, format!("no such {what}: {word:?}"))
}

/// How far back to look. Asking for a state of ended sessions, or for a time, is asking for them too.
fn history(since: Option<&str>, past: bool, now: Timestamp) -> Result<History, Error> {
    match since {
        None if past => Ok(History::Since(now.saturating_sub(WINDOW).unwrap_or(now))),
        None => Ok(History::Skip),
        Some("all") => Ok(History::All),
        Some(text) => moment(text, now).map(History::Since).ok_or_else(|| {
            Error::new(Kind::Usage, format!("cannot read --since {text:?}")).hint(
                "use a duration such as 30m, 12h, 7d or 2w, a date such as 2026-11-15, or `all`",
            )
        }),
    }
}

/// What is asked for.
pub(crate) struct Ask {
    /// Names of agents; none means all.
    pub(crate) agents: Vec<String>,
    /// How far back.
    pub(crate) history: History,
    /// How much of each to read.
    pub(crate) depth: Depth,
    /// Which to keep.
    pub(crate) filter: Filter,
    /// In which order.
    pub(crate) order: Order,
    /// How many at most.
    pub(crate) limit: Option<usize>,
    /// For a table: of ended sessions only what it shows.
    pub(crate) brief: bool,
}

impl Ask {
    /// Every session, as far back as this.
    pub(super) fn every(history: History) -> Self {
        Self {
            agents: Vec::new(),
            history,
            depth: Depth::Glance,
            filter: Filter::default(),
            order: Order::Attention,
            limit: None,
            brief: false,
        }
    }

    /// Everything that is alive is asked for.
    pub(crate) fn is_plain(&self) -> bool {
        let all = self.agents.is_empty() && self.filter == Filter::default();
        all && self.history == History::Skip && self.limit.is_none()
    }
}

/// How long it took to look at an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timed {
    pub(crate) agent: &'static str,
    pub(crate) time: Duration,
}

/// Lists sessions.
pub(crate) fn list(here: &Here, ask: &Ask) -> Sessions {
    timed(here, ask).0
}

/// The same for whoever asked: what our own receipts would have added, and cannot, is told too.
pub(crate) fn told(here: &Here, ask: &Ask) -> Sessions {
    with_lost(here, list(here, ask))
}

fn with_lost(here: &Here, mut found: Sessions) -> Sessions {
    found.problems.extend(observe::lost(here.host().lost()));
    found
}

/// The same as the last thing that the program does: `end` shows it and says the exit code, on this thread or, if it is kept
/// waiting, on another, which then ends the program.
pub(crate) fn ending(
    here: &'static Here,
    ask: Ask,
    end: impl Fn(&Ask, Sessions) -> u8 + Send + Sync + 'static,
) -> u8 {
    let look = looking(&ask);
    observe::ending(here, observe::chosen(&ask.agents), look, move |seen| {
        let found = gathered(here, &ask, seen).0;
        end(&ask, with_lost(here, found))
    })
}

/// The same, with how long each agent took that answered in time.
pub(super) fn timed(here: &Here, ask: &Ask) -> (Sessions, Vec<Timed>) {
    gathered(
        here,
        ask,
        observe::each(here, observe::BRISK, &observe::chosen(&ask.agents), looking(ask)),
    )
}

/// What is seen of one agent.
type Seen = (Vec<Vec<Option<Box<Session>>>>, Vec<Problem>, Timed);

/// How an agent is looked at for this.
fn looking(
    ask: &Ask,
) -> impl Fn(&'static dyn Agent, &dyn Host, &Env) -> Seen + Send + Sync + 'static {
    let (history, depth, brief) = (ask.history, ask.depth, ask.brief);
    move |agent, host, env| {
        let began = Instant::now();
        let (recalls, many) = match history {
            History::Skip | History::Held => (Recall::Live, FEW),
            History::Since(_) | History::All => (Recall::Counts, MANY),
        };
        let mut survey = Survey::recalling(agent, host, env, (history, recalls));
        if survey.candidates.len() >= many {
            survey.recalls = Recall::Records;
        }
        survey.brief = brief;
        let candidates: Vec<&Candidate> = survey.candidates.iter().collect();
        let unread = Mutex::new(Vec::new());
        let sessions = observe::in_parts(&candidates, |candidate| {
            let (mut session, why) = survey.session(candidate, depth);
            if let Some(why) = why {
                if survey.is_removed(candidate) {
                    return None;
                }
                unread.lock().unwrap_or_else(PoisonError::into_inner).push(Problem::from(why));
            }
            if brief {
                cut_short(&mut session);
            }
            Some(Box::new(session)) // it is large, and moved by whoever gathers and sorts
        });
        let unread = unread.into_inner().unwrap_or_else(PoisonError::into_inner);
        let problems = observe::problems(&mut survey, unread);
        (sessions, problems, Timed { agent: agent.card().name, time: began.elapsed() })
    }
}

/// The answer that all of them give together.
fn gathered(here: &Here, ask: &Ask, seen: Answers<Seen>) -> (Sessions, Vec<Timed>) {
    here.host().put_down();
    let answered = seen.late.is_empty();
    let (mut sessions, mut problems, mut times) = (Vec::new(), seen.late, Vec::new());
    let parts = seen.found.iter().flat_map(|(parts, _, _)| parts);
    sessions.reserve_exact(parts.map(Vec::len).sum());
    for (found, troubles, time) in seen.found {
        times.push(time);
        for part in found {
            sessions.extend(part.into_iter().flatten());
        }
        problems.extend(troubles);
    }
    join_unnamed(&mut sessions, |session| {
        agents::named(&session.agent).is_some_and(|agent| agent.card().infers)
    });
    // Whoever did not answer may still hold what looks left behind.
    let orphans = match ask.agents.is_empty() && answered {
        true => orphans(here.host(), &sessions),
        false => Vec::new(),
    };
    sessions.retain(|session| in_scope(session, ask.history) && ask.filter.keeps(session));
    sort(&mut sessions, ask.order);
    sessions.truncate(ask.limit.unwrap_or(usize::MAX));
    super::budgets::attach(here, sessions.iter_mut().map(|session| &mut **session), false);
    let _ = here.host().launches(); // receipts are swept by whoever looks, though nothing may be there to look at
    if ask.depth == Depth::Glance {
        for session in &mut sessions {
            session.tokens = None; // some agents tell them for nothing: the answer is the same for all
        }
    }
    (Sessions { schema: SCHEMA, sessions, orphans, problems }, times)
}

/// Without what no table shows of an ended session: there may be tens of thousands.
fn cut_short(session: &mut Session) {
    if session.live || session.state == StateName::Unknown {
        return;
    }
    session.last = None;
    session.source = None;
    session.version = None;
    if session.title.is_some() {
        session.prompt = None;
    }
}

/// A file may have been touched without a line being written: the newest line decides.
fn in_scope(session: &Session, history: History) -> bool {
    let open = session.live || session.state == StateName::Unknown;
    match history {
        History::Skip | History::Held => open,
        History::All => true,
        History::Since(at) => open || session.updated_at.is_none_or(|updated| updated >= at),
    }
}

/// Where each agent is looked for: its title, the directory, and whether it is there.
pub(crate) fn places(here: &Here) -> Vec<(&'static str, PathBuf, bool)> {
    let env = observe::environment();
    let place = |store: PathBuf| (here.host().stat(&store).is_ok(), store);
    agents::ALL
        .iter()
        .flat_map(|agent| {
            let stores = agent.stores(&env).into_iter().map(place);
            stores.map(|(there, store)| (agent.card().title, store, there)).collect::<Vec<_>>()
        })
        .collect()
}
