//! One look at all agents: side by side, and over the cores where there is much to read.

use super::Here;
use agentctl_core::{
    agent::{Agent, Depth},
    agents,
    host::{Env, Host},
    observe::{self, Candidate, History, Survey},
    wire::{Problem, Session},
};
use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// From this many sessions on, a second thread saves more than it costs.
const WORTH_A_THREAD: usize = 24;

/// The environment of the caller, as far as any agent looks at it.
pub(super) fn environment() -> Env {
    let names = agents::ALL.iter().flat_map(|agent| agent.card().variables).copied();
    names
        .chain(["HOME"])
        .filter_map(|name| Some((name.to_owned(), std::env::var_os(name)?)))
        .collect()
}

/// The agents of these names, or all.
pub(super) fn chosen(names: &[String]) -> Vec<&'static dyn Agent> {
    let named: Vec<_> = names.iter().filter_map(|name| agents::named(name)).collect();
    match names.is_empty() {
        true => agents::ALL.to_vec(),
        false => named,
    }
}

/// Surveys every agent at once.
pub(super) fn surveys<'a>(
    host: &'a dyn Host,
    chosen: &[&'a dyn Agent],
    look: impl Fn(&'a dyn Agent, &Env) -> Survey<'a> + Sync,
) -> Vec<Survey<'a>> {
    let env = environment();
    let _ = host.table(); // the one pass, before anybody asks at the same time
    thread::scope(|scope| {
        let (first, others) = match chosen.split_first() {
            Some(split) => split,
            None => return Vec::new(),
        };
        let (env, look) = (&env, &look);
        let others: Vec<_> =
            others.iter().map(|agent| scope.spawn(move || look(*agent, env))).collect();
        let mut surveys = vec![look(*first, env)];
        surveys
            .extend(others.into_iter().map(|other| other.join().expect("a bug ends the program")));
        surveys
    })
}

/// Surveys with a history.
pub(super) fn all<'a>(
    host: &'a dyn Host,
    chosen: &[&'a dyn Agent],
    history: History,
) -> Vec<Survey<'a>> {
    if history == History::Skip {
        // A few reads: another thread costs more than it saves.
        let env = environment();
        return chosen.iter().map(|agent| Survey::new(*agent, host, &env, history)).collect();
    }
    surveys(host, chosen, |agent, env| Survey::new(agent, host, env, history))
}

/// The sessions of these candidates, read over the cores if they are many.
pub(super) fn sessions(
    surveys: &[Survey<'_>],
    chosen: &[(usize, &Candidate)],
    depth: Depth,
) -> (Vec<Session>, Vec<Problem>) {
    let all = read(surveys, chosen, depth);
    let (sessions, problems): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    (sessions, problems.into_iter().flatten().map(Problem::from).collect())
}

type Read = (Session, Option<observe::Problem>);

fn read(surveys: &[Survey<'_>], chosen: &[(usize, &Candidate)], depth: Depth) -> Vec<Read> {
    let read =
        |&(survey, candidate): &(usize, &Candidate)| surveys[survey].session(candidate, depth);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(chosen.len() / WORTH_A_THREAD);
    if threads < 2 {
        return chosen.iter().map(read).collect();
    }
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(WORTH_A_THREAD, Ordering::Relaxed);
            let Some(part) = chosen.get(at..) else { return done };
            if part.is_empty() {
                return done;
            }
            done.extend(part.iter().take(WORTH_A_THREAD).map(read));
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (1..threads).map(|_| scope.spawn(worker)).collect();
        let mut done = worker();
        for other in workers {
            done.extend(other.join().expect("a bug ends the program"));
        }
        done
    })
}

/// What could not be read.
pub(super) fn problems(surveys: &mut [Survey<'_>]) -> Vec<Problem> {
    let all = surveys.iter_mut().flat_map(|survey| std::mem::take(&mut survey.problems));
    all.map(Problem::from).collect()
}

/// A directory as agents write it down: absolute, links resolved.
pub(crate) fn absolute(here: &Here, dir: &Path) -> PathBuf {
    let whole = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    here.host().resolve(&whole)
}
