//! Ends a process and what it started, and tells what became of each.

use super::{Grip, Refused, Waited, grip::kernel};
use agentctl_core::{host::Told, ident::ProcKey, launch::Signal};
use std::time::{Duration, Instant};

/// What became of one process.
#[derive(Clone, Debug)]
pub(crate) struct Death {
    /// Which process.
    pub(crate) key: ProcKey,
    /// What it was called.
    pub(crate) comm: String,
    /// What became of it.
    pub(crate) how: How,
}

/// What became of a process that was to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// It ended this long after this signal.
    By(Signal, Duration),
    /// It ended with those above it.
    Followed,
    /// It lives, and why.
    Survived(String),
}

pub(super) struct Target {
    pub(super) grip: Grip,
    key: ProcKey,
    comm: String,
}

impl Target {
    fn lives(&self) -> bool {
        self.grip.is_alive().unwrap_or(true)
    }
}

/// How often it is looked at what a process starts while it is being ended.
const LOOK: Duration = Duration::from_millis(100);
/// Who starts others this often before it can be stopped is not caught up with.
const ROUNDS: usize = 20;

/// Ends this process by these signals, each with so much grace, then all that it had started.
pub(crate) fn end(
    key: &ProcKey,
    signals: &[Signal],
    grace: Duration,
) -> Result<Vec<Death>, Refused> {
    let grip = Grip::open(key)?;
    let comm = comm(key);
    let mut below = Vec::new();
    grow(&mut below, key).map_err(|why| Refused::Untold(why.0))?;
    let mut halted = is_halted(key);
    let how = escalate(&grip, signals, grace, &mut || {
        // Once it is gone nobody can tell any more what it started.
        let _ = grow(&mut below, key);
        // Who is halted heeds no signal but the last, and nor do those whose end it waits for.
        if std::mem::take(&mut halted) {
            let all = below.iter().map(|target| &target.grip).chain([&grip]);
            all.for_each(|one| drop(one.thaw()));
        }
    });
    let lives = matches!(how, How::Survived(_));
    let mut deaths = vec![Death { key: key.clone(), comm, how }];
    if !lives {
        deaths.extend(sweep(below, key, grace));
    }
    Ok(deaths)
}

fn escalate(grip: &Grip, signals: &[Signal], grace: Duration, look: &mut dyn FnMut()) -> How {
    let mut why = "no signal ends it".to_owned();
    let mut heeded = None;
    for signal in signals {
        if *signal == Signal::Kill {
            grip.freeze();
        }
        look();
        let sent = Instant::now();
        match grip.signal(*signal) {
            Ok(()) => {}
            Err(Refused::Gone | Refused::Reused) => {
                return heeded.map_or(How::Followed, |(signal, at): (Signal, Instant)| {
                    How::By(signal, at.elapsed())
                });
            }
            Err(refused) => {
                why = refused.to_string();
                continue;
            }
        }
        if ended_within(grip, grace, look) {
            return How::By(*signal, sent.elapsed());
        }
        heeded = Some((*signal, sent));
        why = format!("it outlived {}", signal.name());
    }
    How::Survived(why)
}

fn ended_within(grip: &Grip, grace: Duration, look: &mut dyn FnMut()) -> bool {
    let until = Instant::now() + grace;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if grip.wait(Some(left.min(LOOK))).is_ok_and(|waited| waited == Waited::Ended) {
            return true;
        }
        if left.is_zero() {
            return false;
        }
        look();
    }
}

/// What the process had started, if it lives on: asked, then made to go.
fn sweep(mut below: Vec<Target>, root: &ProcKey, grace: Duration) -> Vec<Death> {
    let followed: Vec<ProcKey> =
        below.iter().filter(|target| !target.lives()).map(|target| target.key.clone()).collect();
    for target in below.iter().filter(|target| target.lives()) {
        let _ = target.grip.signal(Signal::Terminate);
    }
    let asked = Instant::now();
    while below.iter().any(Target::lives) && asked.elapsed() < grace {
        let first = below.iter().find(|target| target.lives());
        let _ = first.map(|target| target.grip.wait(Some(LOOK)));
        let _ = grow(&mut below, root);
    }
    let patient = asked.elapsed();
    let stubborn = catch(&mut below, root);
    let death = |target: Target| {
        let how = match (followed.contains(&target.key), stubborn.contains(&target.key)) {
            (true, _) => How::Followed,
            (false, false) => How::By(Signal::Terminate, patient),
            (false, true) => escalate(&target.grip, &[Signal::Kill], grace, &mut || ()),
        };
        Death { key: target.key, comm: target.comm, how }
    };
    below.into_iter().map(death).collect()
}

/// Stops all that live where they are, and whom they started meanwhile, until nobody is new. All are
/// stopped before the first is killed: who sees a child die may start another.
pub(super) fn catch(below: &mut Vec<Target>, root: &ProcKey) -> Vec<ProcKey> {
    for _ in 0..ROUNDS {
        let before = below.len();
        for target in below.iter().filter(|target| target.lives()) {
            target.grip.freeze();
        }
        let _ = grow(below, root);
        if below.len() == before {
            break;
        }
    }
    below.iter().filter(|target| target.lives()).map(|target| target.key.clone()).collect()
}

/// Adds all that descends now from a process or from those known to descend from it, each in a grip.
pub(super) fn grow(known: &mut Vec<Target>, root: &ProcKey) -> Told<()> {
    let kernel = kernel(root);
    let table = kernel.table()?;
    let roots: Vec<ProcKey> =
        [root].into_iter().chain(known.iter().map(|target| &target.key)).cloned().collect();
    let same = |key: &&ProcKey| table.process(key.pid).is_some_and(|one| table.key(one) == **key);
    for pid in roots.iter().filter(same).flat_map(|key| table.descendants(key.pid)) {
        let Some(process) = table.process(pid).filter(|process| !process.zombie) else { continue };
        let key = table.key(process);
        if key == *root || known.iter().any(|target| target.key == key) {
            continue;
        }
        if let Ok(grip) = Grip::open(&key) {
            known.push(Target { grip, key, comm: process.comm.clone() }); // else it is gone since
        }
    }
    Ok(())
}

pub(super) fn is_halted(key: &ProcKey) -> bool {
    let kernel = kernel(key);
    let table = kernel.table().ok();
    table.and_then(|table| table.of(key)).is_some_and(|own| own.halted)
}

fn comm(key: &ProcKey) -> String {
    let kernel = kernel(key);
    let name =
        kernel.table().ok().and_then(|table| table.process(key.pid)).map(|one| one.comm.clone());
    name.unwrap_or_default()
}
