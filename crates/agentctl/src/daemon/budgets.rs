//! Keeps budgets while nobody looks: when a session with one writes something, ends, or is silent for too long.

use super::{due::Hands, shared::Shared};
use crate::{
    host::{LAUNCHES, Watch},
    intents,
    ops::budgets,
    places,
};
use agentctl_core::{budget::Crossed, ident::ProcKey};
use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};
use std::{
    collections::BTreeSet,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// However quiet it is, sessions with a budget that live are looked at this often: sub-agents write elsewhere.
const SCAN: Duration = Duration::from_secs(15);
/// Where one has written nothing yet, this often: nobody knows where to wait for that.
const FIRST: Duration = Duration::from_secs(2);
/// Where none lives, this often: a person may take one up again by hand.
const LOOK: Duration = Duration::from_secs(60);
/// Nothing is looked at more often than this, and looking takes no more than a small part of the time: tokens
/// are in the whole of a record.
const REST: (Duration, u32) = (Duration::from_millis(500), 20);
/// Files are swept this often.
const SWEEP: Duration = Duration::from_secs(3600);

/// Keeps budgets, for ever.
pub(super) fn run(shared: &Arc<Shared>) {
    let Ok(state) = places::known_state() else { return };
    let (mut watch, refused) = Watch::empty();
    if let Some(why) = refused {
        let what = format!("a budget is kept up to {} s late: {why}", LOOK.as_secs());
        shared.own_trouble(None, what);
    }
    let (hands, mut known, mut swept) = (Hands::default(), BTreeSet::new(), None);
    loop {
        shared.beat("budgets");
        if swept.is_none_or(|at: Instant| at.elapsed() > SWEEP) {
            swept = Some(Instant::now());
            for path in budgets::sweep(&shared.here(None), &state) {
                let _ = intents::budgets::remove(&state, &path, Timestamp::now()); // `prune` says why not
            }
        }
        for dir in [intents::budgets::folder(&state), state.join(LAUNCHES)] {
            let _ = watch.below(&dir, false); // else it is looked at now and then
        }
        let began = worked();
        let wait = pass(shared, &hands, (&mut watch, &mut known));
        let rest = (worked().saturating_sub(began) * REST.1).max(REST.0).min(SCAN);
        let looked = Instant::now();
        watch.next(Some(wait));
        thread::sleep(rest.saturating_sub(looked.elapsed()));
        while watch.next(Some(Duration::ZERO)) != crate::host::Change::TimedOut {}
    }
}

/// How long this program has worked: where others keep the machine busy, a look takes long and costs little.
fn worked() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Begins what is to be done, and says how long to wait if nothing happens.
fn pass(
    shared: &Arc<Shared>,
    hands: &Hands,
    (watch, known): (&mut Watch, &mut BTreeSet<ProcKey>),
) -> Duration {
    let due = match budgets::due(&shared.here(None)) {
        Ok(due) => due,
        Err(why) => {
            shared.own_trouble(None, why.message);
            return LOOK;
        }
    };
    for id in due.crossed.into_iter().filter(|_| !shared.is_ending()) {
        let own = Arc::clone(shared);
        if let Err(why) = hands.take(id.clone(), move || keep(&own, &id)) {
            shared.own_trouble(None, format!("cannot begin to keep a budget: {why}"));
        }
    }
    known.retain(|key| due.processes.contains(key));
    let lives = !due.processes.is_empty();
    for key in due.processes {
        if !known.contains(&key) && watch.process(&key).is_ok() {
            known.insert(key);
        }
    }
    for dir in due.sources.iter().filter_map(|path| path.parent()) {
        let _ = watch.below(dir, false); // else it is looked at now and then
    }
    let most = match (due.unwritten, lives) {
        (true, _) => FIRST,
        (false, true) => SCAN,
        (false, false) => LOOK,
    };
    due.next.map_or(most, |next| next.min(most))
}

fn keep(shared: &Shared, id: &str) {
    match budgets::keep(&shared.here(None), id) {
        Ok(None) => {}
        Ok(Some((budget, new))) => {
            let what = |Crossed { crossing, action, problem, .. }: &Crossed| {
                let (limit, action) = (crossing.limit.name(), action.name());
                let but = problem.as_ref().map_or_else(String::new, |why| format!(", but {why}"));
                format!("{limit} {} of {}, {action}{but}", crossing.used, crossing.allowed)
            };
            let (agent, session) = (&budget.agent, &budget.session);
            for crossed in &new {
                shared.log.say(&format!("crossed {id} {agent} {session}: {}", what(crossed)));
            }
        }
        Err(why) => shared.own_trouble(None, format!("budget {id}: {}", why.message)),
    }
}
