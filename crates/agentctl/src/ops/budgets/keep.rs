//! Keeps budgets: finds what was crossed, does what is to be done then, and writes that down afterwards.

use super::{
    adopt, in_use,
    look::{Much, Seen, look},
};
use crate::{
    error::{Error, Kind},
    intents::{
        budgets::{self, Held},
        store::Untaken,
    },
    ops::{
        Here,
        dirs::{untaken, unwritable},
        exact, hold,
        list::{self, Ask},
        stop::{self, Manner},
    },
    places,
};
use agentctl_core::{
    budget::{Budget, Crossed, Crossing, OnBudget},
    ident::ProcKey,
    observe::History,
    text::excerpt,
    wire::Session,
};
use jiff::SignedDuration;
use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

/// How long a session has to end that is stopped.
const GRACE: Duration = Duration::from_secs(5);

/// How long an agent may take to begin what it was launched for.
const BEGINS: SignedDuration = SignedDuration::from_mins(2);

/// What is to be done, and what to wait for.
#[derive(Default)]
pub(crate) struct Due {
    /// Budgets that were crossed, and nothing was done about it yet.
    pub(crate) crossed: Vec<String>,
    /// Processes of live sessions with a budget.
    pub(crate) processes: Vec<ProcKey>,
    /// Where those sessions are written down.
    pub(crate) sources: Vec<PathBuf>,
    /// Some of them are written down nowhere yet, or have just been launched and are not seen to live: nothing
    /// tells when that begins.
    pub(crate) unwritten: bool,
    /// How long until the next silence is too long.
    pub(crate) next: Option<Duration>,
}

/// Looks at all sessions with a budget; where there is none, that costs the look for files.
pub(crate) fn due(here: &Here) -> Result<Due, Error> {
    let state = places::known_state()?;
    adopt(here, &state);
    let found = super::all(&state)?;
    let set: Vec<Budget> = found.all.into_iter().filter(Budget::is_set).collect();
    let mut due = Due::default();
    for seen in look(here, set, Much::Limited) {
        let young = here.now().duration_since(seen.budget.set_at).abs() < BEGINS;
        due.unwritten |= young && !seen.session.as_ref().is_some_and(|session| session.live);
        let Some(session) = &seen.session else { continue };
        if !undone(&seen, session).is_empty() {
            due.crossed.push(seen.budget.id.clone());
        }
        if session.live {
            due.processes.extend(stop::holders(session));
            due.unwritten |= session.source.is_none();
            due.sources.extend(session.source.clone());
            due.next = [due.next, left(&seen)].into_iter().flatten().min();
        }
    }
    Ok(due)
}

/// How long until its silence is too long.
fn left(seen: &Seen) -> Option<Duration> {
    let (time, _) = seen.used.idle?;
    let left = seen.budget.limits.idle?.checked_sub(time)?;
    Some(Duration::from_millis(left + 1))
}

/// Crossings that nobody has seen, and those of a live session about which nothing could be done.
fn undone(seen: &Seen, session: &Session) -> Vec<Crossing> {
    let mut all = seen.budget.overrun(&seen.used);
    all.retain(|crossing| match seen.budget.known(crossing) {
        None => true,
        Some(known) => known.problem.is_some() && session.live,
    });
    all
}

/// Does what is to be done about what was crossed, unless somebody else does. It is marked only afterwards, so
/// that one who is killed in between does it again.
pub(crate) fn keep(here: &Here, id: &str) -> Result<Option<(Budget, Vec<Crossed>)>, Error> {
    let state = places::known_state()?;
    let unwritten = |why: io::Error| unwritable(&budgets::folder(&state), &why);
    let held = match Held::take(&state, id) {
        Err(Untaken::Held) => None,
        held => held.map_err(|why| untaken(why, || in_use(id)))?,
    };
    let Some(held) = held.filter(|held| held.now.is_set()) else { return Ok(None) };
    let seen = look(&here.again(), vec![held.now.clone()], Much::Limited).pop();
    let seen = seen.expect("it is looked at");
    let Some(session) = &seen.session else { return Ok(None) };
    let undone = undone(&seen, session);
    if undone.is_empty() {
        return Ok(None);
    }
    let (action, at) = (held.now.action, here.again().now());
    let problem = act(here, action, session).err().and_then(|why| excerpt(&why));
    let (mut budget, mut new) = (held.now.clone(), Vec::new());
    for crossing in undone {
        let crossed = Crossed { crossing, at, action, problem: problem.clone() };
        match budget.crossed.iter_mut().find(|one| one.crossing.is(&crossing)) {
            Some(known) => known.problem.clone_from(&problem), // it was told
            None => {
                budget.saw(crossed.clone());
                new.push(crossed);
            }
        }
    }
    if budget == held.now {
        return Ok(None);
    }
    held.change(&budget).map_err(unwritten)?;
    Ok(Some((budget, new)))
}

fn act(here: &Here, action: OnBudget, session: &Session) -> Result<(), String> {
    let done = match action {
        OnBudget::Warn => Ok(()),
        // It ended by itself; that it used too much is told.
        OnBudget::Stop | OnBudget::Hold if !session.live => Ok(()),
        OnBudget::Stop => {
            let manner = Manner { grace: GRACE, force: false };
            exact::again(&here.again(), session)
                .and_then(|now| stop::stop_one(&here.again(), now, manner).map(drop))
        }
        OnBudget::Hold => hold::hold(here, session),
    };
    match done {
        Err(why) if why.kind != Kind::NoSession => Err(why.message),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Files that nobody needs any more: those of sessions that live stay.
pub(crate) fn sweep(here: &Here, state: &Path) -> Vec<PathBuf> {
    let now = here.now();
    let Ok(found) = budgets::all(state) else { return Vec::new() };
    let old = found.all.iter().any(|one| one.is_set() && one.is_stale(now));
    let live = old.then(|| list::list(&here.again(), &Ask::every(History::Held)));
    budgets::left(state, now, |budget| {
        live.as_ref().is_none_or(|live| {
            let own = |one: &Session| {
                one.agent == budget.agent && one.id.as_ref() == Some(&budget.session)
            };
            !live.problems.is_empty() || live.each().any(own)
        })
    })
}
