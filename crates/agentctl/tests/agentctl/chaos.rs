//! Chaos: launches, prompts, kills and faults in any order, and after each step the truth.
//!
//! A sequence of steps follows from a seed. It is played in a home of its own with the real program and stand-ins that
//! are real processes, and after each step all that `agentctl` says is compared with what the kernel says and with what
//! the driver did ([`truth`]). One that fails is made as short as it can be and printed; what was found so is kept in
//! `chaos/found.jsonl`, a sequence a line, and played each time.

mod begin;
mod faults;
mod life;
mod play;
mod step;
mod tally;
mod truth;
mod world;

use proptest::{
    strategy::Strategy,
    test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner},
};
use rustix::process::Signal;
use std::{
    env,
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
/// The longest sequence.
const LONGEST: usize = 40;

/// Plays a sequence in a fresh home; panics where something is not so.
fn played(steps: &[Step], tally: &mut Tally) {
    let mut world = World::new();
    tally.sequences += 1;
    for step in steps {
        world.play(*step);
        tally.step(step);
        world.holds(false);
    }
    world.mend();
    for at in 0..world.lives.len() {
        world.end(at);
    }
    world.holds(true);
    tally.checks += world.checks;
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

/// Plays sequences that follow from this seed, so many or for so long; returns the shortest that fail.
fn chaos(seed: u64, shrinks: Duration, mut goes_on: impl FnMut(u64) -> bool) -> Tally {
    let config = Config {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed),
        max_shrink_time: u32::try_from(shrinks.as_millis()).expect("not long"),
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    let tally = std::cell::RefCell::new(Tally::new(seed));
    let mut case = 0;
    while goes_on(case) {
        case += 1;
        let tree = sequences(LONGEST).new_tree(&mut runner).expect("there are sequences");
        let outcome = runner.run_one(tree, |steps| {
            played(&steps, &mut tally.borrow_mut());
            Ok::<(), TestCaseError>(())
        });
        if let Err(TestError::Fail(why, steps)) = outcome {
            let steps = serde_json::to_string(&steps).expect("plain values");
            tally.borrow_mut().wrong.push(format!("{STEPS}='{steps}': {why}"));
        }
    }
    tally.into_inner()
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// A few sequences, always the same.
#[test]
fn chaos_of_a_few() {
    let seed = number(SEED).unwrap_or(7);
    let tally = chaos(seed, Duration::from_secs(90), |case| case < 4);
    tally.is_good();
}

/// What was found before, and what is asked for.
#[test]
fn chaos_that_was_found() {
    let asked = env::var(STEPS).ok();
    let mut tally = Tally::new(0);
    for line in FOUND.lines().chain(asked.as_deref()) {
        let steps: Vec<Step> = serde_json::from_str(line).expect("a sequence of steps");
        played(&steps, &mut tally);
    }
    tally.is_good();
}

/// For ten minutes, from a seed that nobody knows.
#[test]
#[ignore = "`cargo xtask prove --full --part chaos` runs it"]
fn chaos_for_long() {
    let now = u64::try_from(jiff::Timestamp::now().as_millisecond()).expect("a number");
    let length = Duration::from_secs(number(SECONDS).unwrap_or(600));
    let began = Instant::now();
    let mut tally = chaos(number(SEED).unwrap_or(now), length / 2, |_| began.elapsed() < length);
    tally.seconds = began.elapsed().as_secs();
    tally.written();
    tally.is_good();
}
