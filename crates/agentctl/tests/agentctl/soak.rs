//! A soak: agents come, work, ask and go, daemons are killed at random, and what was told is compared with what
//! the kernel saw. Nothing may be missing, nothing told twice, nothing wrong.
//!
//! The driver launches sessions through `agentctl` and without it, ends them in every way, sets fuses, and keeps a
//! record of its own ([`record`]): when the kernel said that a process was gone, what stands in a stand-in's file.
//! Three listen ([`collect`]): a subscriber of the daemon, a chain of `agentctl events`, each killed and taken up again
//! from its last cursor, and a webhook. The judge ([`judge`]) compares.

mod chance;
mod collect;
mod daemons;
mod figures;
mod fuses;
mod judge;
mod page;
mod real;
mod record;
mod stand_in;
mod webhook;

use crate::support::Stage;
use chance::Chance;
use collect::Log;
use figures::Figures;
use record::{Record, locked};
use serde_json::Value;
use std::{
    env,
    sync::{Condvar, Mutex},
    thread,
    time::{Duration, Instant},
};

/// A number to begin with; else the clock gives one, which is printed.
const SEED: &str = "AGENTCTL_SOAK_SEED";
/// How many seconds the long one takes; else ten minutes.
const SECONDS: &str = "AGENTCTL_SOAK_SECONDS";
/// How long those who listen may need for the rest, once all is over.
const REST: Duration = Duration::from_secs(120);
/// How long anything may take on a machine that has other things to do.
const LIMIT: Duration = Duration::from_secs(200);

/// What is played.
struct Plan {
    seed: u64,
    length: Duration,
    /// So many stand-ins live at a time.
    stand_ins: u64,
    /// With real agents beside them.
    real: bool,
    /// The longest a daemon lives.
    reign: Duration,
}

/// When it is over.
struct Over {
    is: Mutex<bool>,
    bell: Condvar,
    end: Instant,
}

impl Over {
    fn new(length: Duration) -> Self {
        Self { is: Mutex::new(false), bell: Condvar::new(), end: Instant::now() + length }
    }

    fn is_over(&self) -> bool {
        *locked(&self.is) || self.end <= Instant::now()
    }

    /// Whatever is still there will never go.
    fn is_long_past(&self) -> bool {
        self.end + 2 * REST <= Instant::now()
    }

    /// Lets some time pass; less if it is over meanwhile.
    fn pause(&self, time: Duration) {
        let time = time.min(self.end.saturating_duration_since(Instant::now()));
        drop(self.bell.wait_timeout_while(locked(&self.is), time, |over| !*over));
    }

    fn ring(&self) {
        *locked(&self.is) = true;
        self.bell.notify_all();
    }
}

/// All that players and listeners share.
struct Soak<'a> {
    stage: &'a Stage,
    plan: &'a Plan,
    record: Record,
    /// When no more sessions are begun.
    over: Over,
    /// When no more daemons are killed.
    calm: Over,
    /// When nobody listens any more.
    heard: Over,
}

impl Soak<'_> {
    fn chance(&self, stream: u64) -> Chance {
        Chance::new(self.plan.seed, stream)
    }

    fn ask(&self, words: &[&str]) -> agentctl_testkit::sandbox::Answer {
        self.stage.sandbox.agentctl(words)
    }
}

/// Plays it all, and judges.
fn soak(stage: &Stage, plan: &Plan) -> Figures {
    let hook = webhook::Hook::new(plan.seed);
    webhook::configured(stage, &hook);
    stand_in::planted(stage);
    let cursor = stage.watch().cursor();
    let over = Over::new(plan.length);
    let (calm, heard) = (Over::new(plan.length + REST), Over::new(plan.length + 2 * REST));
    let soak = Soak { stage, plan, record: Record::default(), over, calm, heard };
    let (socket, events) = (Log::default(), Log::default());
    let began = Instant::now();
    let failed = thread::scope(|scope| {
        let soak = &soak;
        let first = daemons::first(soak);
        let daemons = scope.spawn(|| daemons::reign(soak, first));
        let listeners = [
            scope.spawn(|| collect::subscriber(soak, &cursor, &socket)),
            scope.spawn(|| collect::watchers(soak, &cursor, &events)),
        ];
        let mut players = vec![scope.spawn(|| fuses::play(soak))];
        for number in 0..plan.stand_ins {
            players.push(scope.spawn(move || stand_in::play(soak, number)));
        }
        if plan.real {
            players.push(scope.spawn(|| real::launched(soak)));
            players.push(scope.spawn(|| real::by_hand(soak)));
        }
        let played: Vec<_> = players.into_iter().map(thread::ScopedJoinHandle::join).collect();
        soak.calm.ring();
        let last = daemons.join();
        let due = judge::due(&soak.record);
        let logs = [&socket, &events];
        let hooked = || judge::hooked(&hook.log().told(), &due).is_empty();
        let heard = || logs.iter().all(|log| judge::has_all(log, &due)) && hooked();
        while !soak.heard.is_over() && !heard() {
            soak.heard.pause(Duration::from_millis(100));
        }
        soak.heard.ring();
        let listened = listeners.map(thread::ScopedJoinHandle::join);
        let others = [last.is_err(), listened.iter().any(Result::is_err)];
        let all = played.iter().map(Result::is_err).chain(others);
        all.filter(|failed| *failed).count()
    });
    let length = began.elapsed();
    let later = stage.sandbox.agentctl(&["events", "--once", "--json", "--since", &cursor]);
    let later: Vec<Value> =
        later.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let mut figures = judge::judge(&soak, [&socket, &events, hook.log()], &later, length);
    // What they said stands above.
    figures.wrong.extend((failed > 0).then(|| format!("{failed} who played or listened failed")));
    figures
}

/// Waits for a fact.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < LIMIT, "no {what} within {LIMIT:?}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The same as another time, if that was said.
fn seed(usual: u64) -> u64 {
    env::var(SEED).ok().map_or(usual, |text| text.parse().expect("a number"))
}

/// Stand-ins alone, for less than half a minute, and until all is heard.
#[test]
fn soak_of_stand_ins() {
    let plan = Plan {
        seed: seed(6),
        length: Duration::from_secs(20),
        stand_ins: 3,
        real: false,
        reign: Duration::from_secs(4),
    };
    let figures = soak(&Stage::new(), &plan);
    figures.are_good();
}

/// Real agents beside them, for ten minutes.
#[test]
#[ignore = "`cargo xtask prove --full --part soak` runs it"]
fn soak_of_real_agents() {
    let seconds = env::var(SECONDS).ok().map(|text| text.parse().expect("a number"));
    let now = u64::try_from(jiff::Timestamp::now().as_millisecond()).expect("a number");
    let plan = Plan {
        seed: seed(now),
        length: Duration::from_secs(seconds.unwrap_or(600)),
        stand_ins: 2,
        real: true,
        reign: Duration::from_secs(12),
    };
    let figures = soak(&Stage::opencode("allow"), &plan);
    page::written(&figures);
    figures.are_good();
}
