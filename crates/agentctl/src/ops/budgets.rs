//! Budgets: set, shown, taken away; kept by whoever looks after them.

mod keep;
mod look;

pub(crate) use keep::{due, keep, sweep};
pub(crate) use look::attach;

use super::{
    Here,
    dirs::{untaken, unwritable},
    exact::{self, exact},
    hold,
    status::status,
};
use crate::{
    error::{Error, Kind},
    intents::{
        budgets::{self, Held},
        store::{Found, Untaken},
    },
    places,
};
use agentctl_core::{
    agent::{Agent, Depth},
    agents,
    budget::{Budget, KEPT, Limits, OnBudget, Order, SCHEMA},
    text::one_line,
    wire::{self, Problem, Session},
};
use jiff::Timestamp;
use look::{Much, look};
use std::{
    collections::BTreeMap,
    io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// How long a budget may be in other hands before a person is told so.
const MOMENT: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(10);

/// Why this cannot be kept for any session of an agent.
pub(crate) fn why_not(agent: &dyn Agent, wanted: &Order) -> Option<Error> {
    let title = agent.card().title;
    if wanted.limits.cost.is_some() && !agent.card().costs {
        let what = format!("no cost can be limited: {title} writes down none");
        return Some(
            Error::new(Kind::Usage, what).hint("--max-tokens and --max-turns can be kept"),
        );
    }
    if agent.hosted().is_some() && wanted.action == Some(OnBudget::Hold) {
        let what = format!("{title} cannot be held: its server runs its sessions");
        return Some(Error::new(Kind::Usage, what).hint("--on-budget stop ends its turn"));
    }
    None
}

/// All budgets that are set, with what was used; with `over`, those too that were taken away.
pub(crate) fn list(here: &Here, over: bool) -> Result<wire::Budgets, Error> {
    let state = places::known_state()?;
    adopt(here, &state);
    let found = all(&state)?;
    let (set, gone): (Vec<Budget>, Vec<Budget>) = found.all.into_iter().partition(Budget::is_set);
    let seen = look(here, set, Much::All);
    let mut budgets: Vec<wire::Budget> =
        seen.iter().map(|one| wire::Budget::new(&one.budget, Some(&one.used))).collect();
    budgets.extend(gone.iter().filter(|_| over).map(|one| wire::Budget::new(one, None)));
    budgets.sort_by_key(|budget| std::cmp::Reverse(budget.set_at));
    let problem = |(path, why): (_, String)| Problem {
        agent: "agentctl".to_owned(),
        path: Some(path),
        message: format!(
            "this budget cannot be read, and is not kept: {why}; remove it, and set it anew"
        ),
    };
    let problems = found.broken.into_iter().map(problem).collect();
    Ok(wire::Budgets { schema: wire::SCHEMA, budgets, problems })
}

/// Sets limits of a session; those that are not named stay.
pub(crate) fn set(here: &Here, name: &str, wanted: &Order) -> Result<wire::Budget, Error> {
    let state = places::known_state()?;
    adopt(here, &state);
    let (session, id) = named(here, name)?;
    let agent = agents::named(&session.agent).expect("sessions come from known agents");
    if let Some(why) = why_not(agent, wanted) {
        return Err(why);
    }
    if wanted.limits.is_none() && wanted.action.is_none() {
        return Err(Error::new(Kind::Usage, "nothing is limited")
            .hint("--max-cost, --max-tokens, --max-turns or --idle-timeout"));
    }
    let who = (session.agent.as_str(), id.as_str());
    let budget = put(&state, who, (wanted, here.now()), |_| true)?;
    let seen = look(&here.again(), vec![budget], Much::All).pop();
    let seen = seen.expect("it is looked at");
    // Whoever has more again may use it: more of what held it.
    let last = seen.budget.crossed.last().map(|last| last.crossing.limit);
    let named = last.is_none_or(|limit| wanted.limits.of(limit).is_some());
    let free = named || seen.budget.action != OnBudget::Hold;
    let ours = free && seen.budget.holds() && seen.budget.overrun(&seen.used).is_empty();
    if let Some(session) = seen.session.filter(|one| one.halted && ours) {
        let_go(here, &state, &session)?;
    }
    Ok(wire::Budget::new(&seen.budget, Some(&seen.used)))
}

/// Takes the budget of a session away; what it halted goes on. The file stays for whoever is yet to be told.
pub(crate) fn cancel(here: &Here, name: &str) -> Result<wire::Budget, Error> {
    let state = places::known_state()?;
    adopt(here, &state);
    let id = budget_of(here, &state, name)?;
    let held = take(&state, &id)?.filter(|held| held.now.is_set()).ok_or_else(|| none(name))?;
    let (now, ours) = (here.again().now(), held.now.holds());
    let released_at = if ours { Some(now) } else { held.now.released_at };
    let budget = Budget { cancelled_at: Some(now), released_at, ..held.now.clone() };
    held.change(&budget).map_err(|why| unwritable(&budgets::folder(&state), &why))?;
    let session = exact(&here.again(), &budget.agent, &budget.session).ok().flatten();
    if let Some(session) = session.filter(|one| one.halted && ours) {
        hold::release(here, &session)?;
    }
    Ok(wire::Budget::new(&budget, None))
}

/// Lets a session go on that was halted, and says whether its budget had done that; the limit that it crossed
/// does not halt it again.
pub(crate) fn release(here: &Here, name: &str) -> Result<(Session, bool), Error> {
    let session = status(here, name, Depth::Glance)?.session;
    if !session.halted {
        let what = format!("{} is not held", one_line(name));
        return Err(Error::new(Kind::No, what).hint("`agentctl list` shows what is halted"));
    }
    let ours = let_go(here, &places::known_state()?, &session)?;
    Ok((exact::again(&here.again(), &session)?, ours))
}

fn let_go(here: &Here, state: &Path, session: &Session) -> Result<bool, Error> {
    let mut ours = false;
    // Before it goes on: the time that it was halted is no silence.
    if let Some(id) = &session.id
        && let Some(held) = take(state, &budgets::name(&session.agent, id))?
    {
        ours = held.now.holds();
        let budget = Budget { released_at: Some(here.again().now()), ..held.now.clone() };
        held.change(&budget).map_err(|why| unwritable(&budgets::folder(state), &why))?;
    }
    hold::release(here, session)?;
    Ok(ours)
}

/// What a session has used up, if it must not go on before a person gives it more. Where nobody can read that,
/// nobody may say that there is something left.
pub(crate) fn spent(agent: &str, session: &str) -> Result<Option<wire::Crossed>, Error> {
    let Some(state) = places::state() else { return Ok(None) };
    let own = budgets::of(&state, agent, session).map_err(|why| {
        let what = format!("cannot resume {}: its budget cannot be read: {why}", one_line(session));
        let file = format!("{}.json", budgets::name(agent, session));
        let file = budgets::folder(&state).join(file);
        Error::new(Kind::Refused, what)
            .hint(format!("make {} readable, or remove it", file.display()))
    })?;
    Ok(own.as_ref().and_then(Budget::spent).map(wire::Crossed::new))
}

/// What launches were given becomes their sessions' as soon as these have names, whoever was killed meanwhile.
pub(crate) fn adopt(here: &Here, state: &Path) {
    let now = here.now();
    let known: BTreeMap<String, Budget> = match budgets::all(state) {
        Ok(found) => found.all.into_iter().map(|one| (one.id.clone(), one)).collect(),
        Err(_) => return, // whoever lists them says why
    };
    for launch in here.host().launches() {
        let (Some(order), Some(session)) = (&launch.budget, &launch.session) else { continue };
        let own = known.get(&budgets::name(&launch.agent, session));
        let is_older = |own: &Budget| {
            own.set_at < launch.at && own.cancelled_at.is_none_or(|at| at < launch.at)
        };
        // One that was taken away is remembered for as long: it does not come back.
        if own.is_none_or(is_older) && now.duration_since(launch.at).abs() < KEPT {
            let who = (launch.agent.as_str(), session.as_str());
            let _ = put(state, who, (order, launch.at), is_older); // the next one does
        }
    }
}

/// Sets limits, unless what is there by then must stay as it is.
fn put(
    state: &Path,
    (agent, session): (&str, &str),
    (wanted, at): (&Order, Timestamp),
    may_change: impl Fn(&Budget) -> bool,
) -> Result<Budget, Error> {
    let unwritten = |why: io::Error| unwritable(&budgets::folder(state), &why);
    let id = budgets::name(agent, session);
    loop {
        if let Some(held) = take(state, &id)? {
            if !may_change(&held.now) {
                return Ok(held.now); // somebody was quicker
            }
            let budget = held.now.clone().with(wanted, at);
            held.change(&budget).map_err(unwritten)?;
            return Ok(budget);
        }
        let fresh = Budget {
            schema: SCHEMA,
            id: id.clone(),
            agent: agent.to_owned(),
            session: session.to_owned(),
            set_at: at,
            limits: Limits::default(),
            action: OnBudget::USUAL,
            since: BTreeMap::new(),
            released_at: None,
            crossed: Vec::new(),
            cancelled_at: None,
        };
        let fresh = fresh.with(wanted, at);
        match budgets::add(state, &fresh) {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
            Err(why) => return Err(unwritten(why)),
            Ok(()) => return Ok(fresh),
        }
    }
}

/// Whoever keeps it is given a moment to write down what it did.
fn take(state: &Path, id: &str) -> Result<Option<Held>, Error> {
    let until = Instant::now() + MOMENT;
    let held = loop {
        match Held::take(state, id) {
            Err(Untaken::Held) if Instant::now() < until => thread::sleep(TICK),
            held => break held,
        }
    };
    held.map_err(|why| untaken(why, || in_use(id)))
}

fn in_use(id: &str) -> Error {
    let what = format!("budget {id} was crossed, and is being acted on, or changed");
    Error::new(Kind::Refused, what).hint("`agentctl budget list` says what came of it")
}

fn named(here: &Here, name: &str) -> Result<(Session, String), Error> {
    let session = status(here, name, Depth::Glance)?.session;
    let id = session.id.clone().ok_or_else(|| {
        Error::new(Kind::Refused, format!("{} has named no session yet", one_line(name)))
            .hint("set the budget once `agentctl list` shows its id")
    })?;
    Ok((session, id))
}

/// The name of the budget that is meant: its own, or that of its session, which may be gone.
fn budget_of(here: &Here, state: &Path, name: &str) -> Result<String, Error> {
    let found = all(state)?.all;
    if let Some(own) = found.iter().find(|one| one.id == name || one.session == name) {
        return Ok(own.id.clone());
    }
    let (session, id) = named(here, name).map_err(|why| match why.kind {
        Kind::NoSession => none(name),
        _ => why,
    })?;
    Ok(budgets::name(&session.agent, &id))
}

fn none(name: &str) -> Error {
    Error::new(Kind::No, format!("no budget is set on {}", one_line(name)))
        .hint("`agentctl budget list` shows those that are")
}

fn all(state: &Path) -> Result<Found<Budget>, Error> {
    budgets::all(state).map_err(|why| {
        let place = budgets::folder(state);
        Error::new(Kind::Io, format!("cannot read budgets: {}: {why}", place.display()))
            .hint("make it readable for you")
    })
}
