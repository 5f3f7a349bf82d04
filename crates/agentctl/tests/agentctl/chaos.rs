//! Chaos: launches, prompts, kills and faults in any order, and after each step the truth.
//!
//! A sequence of steps follows from a seed. It is played in a home of its own with the real program and stand-ins that
//! are real processes, in a world of its own where one can be made, and after each step all that `agentctl` says is
//! compared with what the kernel says and with what the driver did ([`truth`]). One that fails is made as short as it
//! can be and printed; what was found so is kept in `chaos/found.jsonl`, a sequence a line, and played each time.

mod begin;
mod faults;
mod heard;
mod life;
mod play;
mod shrink;
mod step;
mod tally;
mod truth;
mod world;

use crate::situations::alone;
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngSeed, TestRunner},
};
use rustix::process::Signal;
use std::{
    cell::Cell,
    env,
    io::{Write as _, stderr},
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};
use step::{Step, sequences};
use tally::Tally;
use world::World;

/// A number to begin with; else the clock gives one, which is printed.
const SEED: &str = "AGENTCTL_CHAOS_SEED";
/// How many seconds the long one takes; else ten minutes.
const SECONDS: &str = "AGENTCTL_CHAOS_SECONDS";
/// Steps to play, as they are printed.
const STEPS: &str = "AGENTCTL_CHAOS_STEPS";
/// What was found before.
const FOUND: &str = include_str!("chaos/found.jsonl");
/// How long one that fails is made shorter, where there is time; and where a test is ended after three minutes.
const SHRINKS: [Duration; 2] = [Duration::from_secs(90), Duration::from_secs(30)];
/// No new sequence of the few is begun after this: whoever is slow plays fewer, and is not ended over them.
const FEW: Duration = Duration::from_secs(60);
/// The longest sequence.
const LONGEST: usize = 40;

/// Plays a sequence in a fresh home; panics where something is not so.
fn played(steps: &[Step], tally: &mut Tally, at: &Cell<usize>) {
    let mut world = World::new();
    tally.sequences += 1;
    for (number, step) in steps.iter().enumerate() {
        at.set(number + 1);
        world.play(*step);
        tally.step(step, world.skipped);
        world.holds(false);
    }
    world.mend();
    for at in 0..world.lives.len() {
        world.end(at);
    }
    world.holds(true);
    world.is_heard();
    tally.checks += world.checks.get();
    tally.sessions += world.lives.len();
}

impl World {
    fn end(&mut self, at: usize) {
        let paper = self.paper();
        let life = &mut self.lives[at];
        if life.lives() {
            life.signal(Signal::KILL);
            life.gone(Some(137), paper);
        }
    }
}

/// Plays sequences that follow from this seed, so many or for so long, until enough have failed; of those that fail,
/// the shortest part is kept.
fn chaos(
    seed: u64,
    enough: usize,
    shrinks: Duration,
    mut goes_on: impl FnMut(u64) -> bool,
) -> Tally {
    let config = Config { rng_seed: RngSeed::Fixed(seed), ..Config::default() };
    let mut runner = TestRunner::new(config);
    let mut tally = Tally::new(seed);
    let mut case = 0;
    while tally.wrong.len() < enough && goes_on(case) {
        case += 1;
        let tree = sequences(LONGEST).new_tree(&mut runner).expect("there are sequences");
        let steps = tree.current();
        if let Some(first) = fault(&steps, &mut tally) {
            said(&format!("seed {seed}, step {}: {}\n{}\n", first.0, first.1, asked(&steps)));
            let until = Instant::now() + shrinks;
            let reason = shrink::reason(&first.1);
            let (steps, why) = shrink::shortest(steps, first, |steps| {
                let left = Instant::now() < until;
                let found = left.then(|| fault(steps, &mut Tally::new(seed))).flatten();
                found.filter(|(_, why)| shrink::reason(why) == reason)
            });
            tally.wrong.push(format!("{}: {why}", asked(&steps)));
        }
    }
    tally
}

/// How to play them again.
fn asked(steps: &[Step]) -> String {
    format!("{STEPS}='{}'", serde_json::to_string(steps).expect("plain values"))
}

/// Says it at once: whoever ends the test does not wait for its end.
fn said(text: &str) {
    let _ = stderr().write_all(text.as_bytes()); // whoever runs it may not look
}

/// Where a sequence fails, and why.
fn fault(steps: &[Step], tally: &mut Tally) -> Option<(usize, String)> {
    let at = Cell::new(0);
    let outcome = catch_unwind(AssertUnwindSafe(|| played(steps, tally, &at)));
    let why = outcome.err()?;
    let text = why.downcast_ref::<String>().cloned();
    let text = text.or_else(|| why.downcast_ref::<&str>().map(ToString::to_string));
    Some((at.get(), text.unwrap_or_default()))
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// A few sequences, always the same, the first in any case.
#[test]
fn chaos_of_a_few() {
    alone(|| {
        let seed = number(SEED).unwrap_or(7);
        let began = Instant::now();
        let few = |case| case == 0 || case < 4 && began.elapsed() < FEW;
        chaos(seed, 1, SHRINKS[1], few).is_good();
    });
}

/// What was found before, and what is asked for.
#[test]
fn chaos_that_was_found() {
    alone(|| {
        let asked = env::var(STEPS).ok();
        let mut tally = Tally::new(0);
        for line in FOUND.lines().chain(asked.as_deref()) {
            let steps: Vec<Step> = serde_json::from_str(line).expect("a sequence of steps");
            let wrong = fault(&steps, &mut tally);
            tally.wrong.extend(wrong.map(|(at, why)| format!("step {at} of {line}: {why}")));
        }
        tally.is_good();
    });
}

/// For ten minutes, from a seed that nobody knows.
#[test]
#[ignore = "`cargo xtask prove --full --part chaos` runs it"]
fn chaos_for_long() {
    alone(|| {
        let now = u64::try_from(jiff::Timestamp::now().as_millisecond()).expect("a number");
        let length = Duration::from_secs(number(SECONDS).unwrap_or(600));
        let began = Instant::now();
        let seed = number(SEED).unwrap_or(now);
        let mut tally = chaos(seed, 5, SHRINKS[0], |_| began.elapsed() < length);
        tally.seconds = began.elapsed().as_secs();
        tally.written();
        tally.is_good();
    });
}
