//! One look at all agents: side by side, and over the cores where there is much to read.

use super::Here;
use agentctl_core::{
    agent::{Agent, Depth},
    agents,
    host::{Env, Host},
    observe::{self, Candidate, Survey},
    wire::{Problem, Session},
};
use rustix::time::{ClockId, clock_gettime};
use std::{
    collections::VecDeque,
    mem::ManuallyDrop,
    path::{Path, PathBuf},
    process,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::{Duration, Instant},
};

/// From this many sessions on, a second thread saves more than it costs.
const WORTH_A_THREAD: usize = 24;
/// After each such time those who still wait get one thread more. Where nobody is slow all together take less, and one
/// thread does it with half the work: threads wait for each other's memory and descriptors.
const STEP: Duration = Duration::from_millis(4);

/// How soon those who still wait get one thread more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tempo {
    step: Duration,
    /// The same once each processor has a thread: whoever waits then waits for a disk or a server, or for nothing that a
    /// thread more would end.
    patient: Duration,
}

/// Somebody waits for the answer.
pub(super) const BRISK: Tempo = Tempo { step: STEP, patient: Duration::from_millis(40) };
/// Who looks stays, and looks again: what agents have on disk is in memory one behind the other, not all at once, unless one of them keeps
/// the others waiting.
pub(super) const CALM: Tempo = Tempo { step: Duration::from_millis(250), ..BRISK };

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

pub(super) type Read = (Session, Option<observe::Problem>);

/// What agents answered in time, in their order, and who did not.
pub(super) struct Answers<T> {
    pub(super) found: Vec<T>,
    pub(super) late: Vec<Problem>,
}

/// Looks at every agent, at once where it takes long. One that is late is left behind: its thread ends with the program.
pub(super) fn each<T: Send + 'static>(
    here: &Here,
    tempo: Tempo,
    chosen: &[&'static dyn Agent],
    look: impl Fn(&'static dyn Agent, &dyn Host, &Env) -> T + Send + Sync + 'static,
) -> Answers<T> {
    let host = here.shared();
    let _ = host.table(); // the one pass, before anybody asks at the same time
    let is_quick = |agent: &dyn Agent, env: &Env| Survey::is_absent(agent, here.host(), env);
    side_by_side((here, tempo), chosen, is_quick, move |agent, env| look(agent, &*host, env))
}

/// Surveys of these agents, made one behind the other: where each is soon done, threads cost more than they save.
pub(super) fn in_turn<'h>(
    here: &'h Here,
    agents: &[&'static dyn Agent],
    look: impl Fn(&'static dyn Agent, &'h dyn Host, &Env) -> Survey<'h>,
) -> Vec<Survey<'h>> {
    let env = &environment();
    agents.iter().map(|agent| look(*agent, here.host(), env)).collect()
}

/// Surveys of all agents, made at once; nobody hurries them.
pub(super) fn all<'h>(
    here: &'h Here,
    look: impl Fn(&'static dyn Agent, &'h dyn Host, &Env) -> Survey<'h> + Sync,
) -> Vec<Survey<'h>> {
    let (host, env) = (here.host(), &environment());
    let _ = host.table();
    let look = |agent| look(agent, host, env);
    thread::scope(|scope| {
        let begin = |agent: &&'static dyn Agent| {
            let agent = *agent;
            match Survey::is_absent(agent, host, env) {
                true => Ok(look(agent)), // a thread costs more than it saves
                false => Err(scope.spawn(move || look(agent))),
            }
        };
        let begun: Vec<_> = agents::ALL.iter().map(begin).collect();
        let end =
            |one: thread::ScopedJoinHandle<'_, _>| one.join().expect("a bug ends the program");
        begun.into_iter().map(|one| one.unwrap_or_else(end)).collect()
    })
}

fn side_by_side<T: Send + 'static>(
    (here, tempo): (&Here, Tempo),
    chosen: &[&'static dyn Agent],
    is_quick: impl Fn(&dyn Agent, &Env) -> bool,
    look: impl Fn(&'static dyn Agent, &Env) -> T + Send + Sync + 'static,
) -> Answers<T> {
    let env = environment();
    let (quick, slow): (Vec<_>, Vec<_>) =
        chosen.iter().copied().enumerate().partition(|(_, agent)| is_quick(*agent, &env));
    let queue = Arc::new(Queue::new(env, look, slow));
    let (tell, told) = mpsc::channel();
    if !begin(&queue, &tell) {
        queue.work();
    }
    // A thread costs more than it saves where there is nothing to see.
    let found = quick.iter().map(|(at, agent)| (*at, (queue.look)(*agent, &queue.env))).collect();
    let why = pace((here, tempo), &queue, &tell, &told);
    queue.answers(chosen, found, why)
}

/// Looks at every agent on this thread, and ends with what `end` makes of it: to wake another processor takes longer than
/// many an answer. After a moment others help, and then one of them may end the program in its place; if this one is kept for too
/// long, with what is known by then.
pub(super) fn ending<T: Send + 'static>(
    here: &'static Here,
    chosen: Vec<&'static dyn Agent>,
    look: impl Fn(&'static dyn Agent, &dyn Host, &Env) -> T + Send + Sync + 'static,
    end: impl Fn(Answers<T>) -> u8 + Send + Sync + 'static,
) -> u8 {
    let _ = here.host().table(); // the one pass, before anybody asks at the same time
    let look = move |agent: &'static dyn Agent, env: &Env| look(agent, here.host(), env);
    let todo = chosen.iter().copied().enumerate().collect();
    let queue = Arc::new(Queue::new(environment(), look, todo));
    let (only, end) = (Arc::new(Mutex::new(())), Arc::new(end));
    let (others, alone, its_end, all) =
        (Arc::clone(&queue), Arc::clone(&only), Arc::clone(&end), chosen.clone());
    // Where no thread can be had, this one has all the time that it takes.
    let _ = thread::Builder::new().spawn(move || {
        // Whoever has all the time asks for history, of which there is enough for two at once.
        thread::sleep(here.left().map_or(Duration::ZERO, |left| left.min(STEP)));
        let (tell, told) = mpsc::channel();
        begin(&others, &tell);
        let why = pace((here, BRISK), &others, &tell, &told);
        let _only = locked(&alone);
        process::exit(its_end(others.answers(&all, Vec::new(), why)).into());
    });
    if !queue.work() {
        loop {
            thread::park(); // others are at it, and one of them ends the program
        }
    }
    // Never given back: whoever else would end the program waits.
    let _only = ManuallyDrop::new(locked(&only));
    end(queue.answers(&chosen, Vec::new(), None))
}

/// Agents that wait to be looked at, with their places, and what was seen of the others.
struct Queue<L, T> {
    env: Env,
    look: L,
    todo: Mutex<VecDeque<(usize, &'static dyn Agent)>>,
    done: Mutex<Vec<(usize, T)>>,
    /// How many are not done.
    left: AtomicUsize,
}

impl<T, L: Fn(&'static dyn Agent, &Env) -> T> Queue<L, T> {
    fn new(env: Env, look: L, todo: Vec<(usize, &'static dyn Agent)>) -> Self {
        let left = AtomicUsize::new(todo.len());
        Self { env, look, todo: Mutex::new(todo.into()), done: Mutex::default(), left }
    }

    /// Looks at one behind the other for as long as any waits. This thread was the one that was done last.
    fn work(&self) -> bool {
        let _place = AtWork::begin();
        let mut last = false;
        while let Some((at, agent)) = { locked(&self.todo).pop_front() } {
            let seen = (self.look)(agent, &self.env);
            locked(&self.done).push((at, seen));
            last = self.left.fetch_sub(1, Ordering::AcqRel) == 1;
        }
        last
    }

    /// What was seen of these, some of which was `found` elsewhere, and who was late, and why.
    fn answers(
        &self,
        chosen: &[&'static dyn Agent],
        mut found: Vec<(usize, T)>,
        why: Option<String>,
    ) -> Answers<T> {
        found.append(&mut locked(&self.done));
        let missed = (0..chosen.len()).filter(|at| !found.iter().any(|(done, _)| done == at));
        let why = why.unwrap_or_default();
        let late = missed.map(|at| late(chosen[at], &why)).collect();
        found.sort_by_key(|(at, _)| *at);
        Answers { found: found.into_iter().map(|(_, one)| one).collect(), late }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until all are done, and begins a thread now and then for those who wait; says why not all are.
fn pace<T: Send + 'static, L: Fn(&'static dyn Agent, &Env) -> T + Send + Sync + 'static>(
    (here, tempo): (&Here, Tempo),
    queue: &Arc<Queue<L, T>>,
    tell: &Sender<()>,
    told: &Receiver<()>,
) -> Option<String> {
    let (mut begun, mut cores) = (1, None);
    let (mut seen, mut spent) = (Instant::now(), spent());
    while queue.left.load(Ordering::Acquire) > 0 {
        let left = here.left().unwrap_or(Duration::MAX);
        let pace = if begun < cores.unwrap_or(2) { tempo.step } else { tempo.patient };
        let step = if locked(&queue.todo).is_empty() { left } else { left.min(pace) };
        match told.recv_timeout(step) {
            Err(_) if step < left => {
                let cores = *cores.get_or_insert_with(processors);
                let (passed, now) = (seen.elapsed(), self::spent());
                // Who has all processors already gains nothing by a thread more, and each has memory of its own. Under a
                // deadline nobody is left waiting behind one who may never answer.
                let is_idle = now.saturating_sub(spent) * 2 < passed * (2 * cores - 1);
                if is_idle || here.left().is_some() {
                    begun += u32::from(begin(queue, tell));
                }
                (seen, spent) = (Instant::now(), now);
            }
            Err(_) => return Some(format!("no answer within {:?}", here.limit())),
            Ok(()) => {}
        }
    }
    None
}

fn processors() -> u32 {
    thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(1))
}

/// The processors' time that this process has had.
fn spent() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

/// Threads that look at agents, or help those that do.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// A place among them, for as long as this is there.
struct AtWork;

impl AtWork {
    fn begin() -> Self {
        AT_WORK.fetch_add(1, Ordering::AcqRel);
        Self
    }

    /// The same, if fewer than so many are at work.
    fn beside(most: usize) -> Option<Self> {
        let one_more = |now: usize| (now < most).then_some(now + 1);
        AT_WORK.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).ok().map(|_| Self)
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, Ordering::AcqRel);
    }
}

/// One more thread, if anybody waits and one can be had. It tells only that all are done: whoever waits for that is not woken
/// for each answer.
fn begin<T: Send + 'static, L: Fn(&'static dyn Agent, &Env) -> T + Send + Sync + 'static>(
    queue: &Arc<Queue<L, T>>,
    tell: &Sender<()>,
) -> bool {
    if locked(&queue.todo).is_empty() {
        return false;
    }
    let (queue, tell) = (Arc::clone(queue), tell.clone());
    let begun = thread::Builder::new().spawn(move || {
        make_room();
        if queue.work() {
            let _ = tell.send(()); // nobody may be waiting any more
        }
    });
    begun.is_ok()
}

/// glibc gives memory to a thread that is not the first one page by page, a call and a lock each; what it has given once is
/// used again without.
fn make_room() {
    const PIECE: usize = 120 << 10; // larger ones would be mapped, each for itself
    let room: [Vec<u8>; 6] = std::array::from_fn(|_| Vec::with_capacity(PIECE));
    std::hint::black_box(&room);
}

fn late(agent: &dyn Agent, why: &str) -> Problem {
    Problem {
        agent: agent.card().name.to_owned(),
        path: None,
        message: format!("its sessions are not shown: {why}"),
    }
}

/// The sessions of these candidates, and what of them could not be read.
pub(super) fn sessions(
    survey: &Survey<'_>,
    chosen: &[&Candidate],
    depth: Depth,
) -> (Vec<Session>, Vec<Problem>) {
    parted(spread(chosen, |candidate| survey.session(candidate, depth)))
}

/// Sessions, and what of them could not be read.
pub(super) fn parted(read: impl IntoIterator<Item = Read>) -> (Vec<Session>, Vec<Problem>) {
    let (sessions, problems): (Vec<_>, Vec<_>) = read.into_iter().unzip();
    (sessions, problems.into_iter().flatten().map(Problem::from).collect())
}

/// Does the same with all of these, over the cores if there are many, and returns what came of each in
/// their order.
pub(super) fn spread<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    in_parts(all, work).into_iter().flatten().collect()
}

/// The same in the parts in which it was done: ten thousand sessions are ten megabytes, and moved only once so.
pub(super) fn in_parts<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<Vec<R>> {
    let most = all.len() / WORTH_A_THREAD;
    // Who asks how many cores there are has a dozen files of the kernel read.
    let cores = if most < 2 { 1 } else { thread::available_parallelism().map_or(1, usize::from) };
    let threads = cores.min(most);
    if threads < 2 {
        return vec![all.iter().map(work).collect()];
    }
    let next = Mutex::new(0);
    let part = || {
        let mut next = locked(&next);
        let rest = all.get(*next..).filter(|rest| !rest.is_empty())?;
        let (at, part) = (*next, rest.get(..WORTH_A_THREAD).unwrap_or(rest));
        *next += part.len();
        Some((at, part))
    };
    let do_it = |(at, part): (usize, &[T])| (at, part.iter().map(&work).collect::<Vec<R>>());
    let mut done = thread::scope(|scope| {
        let (mut helpers, mut done) = (Vec::new(), Vec::new());
        while let Some((at, own)) = part() {
            // Asked before each part: whoever looked at another agent may have left a processor by now.
            let helps = helpers.len() + 1 < threads && at + own.len() < all.len();
            if let Some(place) = helps.then(|| AtWork::beside(cores)).flatten() {
                helpers.push(scope.spawn(|| {
                    let _place = place;
                    make_room();
                    std::iter::from_fn(part).map(do_it).collect::<Vec<_>>()
                }));
            }
            done.push(do_it((at, own)));
        }
        for helper in helpers {
            done.extend(helper.join().expect("a bug ends the program"));
        }
        done
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, part)| part).collect()
}

/// What could not be read, each once: many sessions may stand in one file.
pub(super) fn problems(survey: &mut Survey<'_>, unread: Vec<Problem>) -> Vec<Problem> {
    let told = std::mem::take(&mut survey.problems).into_iter();
    let mut all: Vec<Problem> = told.map(Problem::from).chain(unread).collect();
    all.sort();
    all.dedup();
    all
}

/// What our own receipts would have added to an answer, and cannot: whose they were nobody can say.
pub(super) fn lost(files: &[(PathBuf, String)]) -> impl Iterator<Item = Problem> {
    files.iter().map(|(path, why)| Problem {
        agent: "agentctl".to_owned(),
        path: Some(path.clone()),
        message: format!(
            "what we wrote there cannot be read: {why}; labels, keys, exit codes, hooks and ends on purpose that it \
             told of are not shown; remove it if nobody needs them"
        ),
    })
}

/// A directory as agents write it down: absolute, links resolved.
pub(crate) fn absolute(here: &Here, dir: &Path) -> PathBuf {
    let whole = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    here.host().resolve(&whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_side_by_side_stays_in_order() {
        let all: Vec<usize> = (0..1000).collect();
        assert_eq!(spread(&all, |number| number * 2), (0..2000).step_by(2).collect::<Vec<_>>());
    }

    #[test]
    fn who_is_late_is_named_and_keeps_nobody_waiting() {
        let here = Here::new(true, Some(Duration::from_millis(200)));
        let first = agents::ALL[0].card().name;
        let answers = side_by_side(
            (&here, BRISK),
            agents::ALL,
            |_, _| false,
            move |agent, _| {
                while agent.card().name == first {
                    thread::park();
                }
                agent.card().name
            },
        );
        let others: Vec<_> = agents::ALL[1..].iter().map(|agent| agent.card().name).collect();
        assert_eq!(answers.found, others);
        let late: Vec<_> = answers.late.iter().map(|problem| problem.agent.as_str()).collect();
        assert_eq!(late, [first]);
    }
}
