//! Programs run in turns, so that a noisy moment falls on all of them alike.

use super::measure::{Cost, Subject};
use crate::failure::Outcome;
use std::time::Duration;

/// The fewest runs a figure is taken from.
const FEWEST: usize = 3;
/// What takes less suffers from whatever ran before it.
const QUICK: Duration = Duration::from_millis(200);

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// How many rounds there are.
    pub(super) rounds: usize,
    /// How long all runs of one subject may take together.
    pub(super) each: Duration,
}

/// What the runs of one subject cost, in the order of the rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct Costs(Vec<Cost>);

impl Costs {
    /// One run more.
    pub(super) fn add(&mut self, cost: Cost) {
        self.0.push(cost);
    }

    /// The run in the middle, in milliseconds.
    pub(super) fn wall(&self) -> f64 {
        median(self.walls())
    }

    /// The quickest run, in milliseconds: what it costs when nobody disturbs.
    pub(super) fn quickest(&self) -> f64 {
        self.walls().fold(f64::NAN, f64::min)
    }

    /// Milliseconds of all cores, of the run in the middle.
    pub(super) fn cpu(&self) -> f64 {
        median(self.0.iter().map(|cost| cost.cpu.as_secs_f64() * 1e3))
    }

    /// Megabytes that it read, in the middle.
    pub(super) fn read(&self) -> f64 {
        median(self.0.iter().map(|cost| cost.read as f64 / 1e6))
    }

    /// How many times as long as another subject it took: the middle of all rounds, so that what slows
    /// both does not count.
    pub(super) fn times(&self, other: &Self) -> f64 {
        median(self.walls().zip(other.walls()).map(|(own, other)| own / other))
    }

    /// The same by the processor's time, which other programs at work disturb less.
    pub(super) fn cpu_times(&self, other: &Self) -> f64 {
        let cpus = |of: &Self| of.0.iter().map(|cost| cost.cpu.as_secs_f64()).collect::<Vec<_>>();
        median(cpus(self).into_iter().zip(cpus(other)).map(|(own, other)| own / other))
    }

    fn walls(&self) -> impl Iterator<Item = f64> + '_ {
        self.0.iter().map(|cost| cost.wall.as_secs_f64() * 1e3)
    }

    fn is_enough(&self, patience: Patience) -> bool {
        let spent: Duration = self.0.iter().map(|cost| cost.wall).sum();
        self.0.len() >= FEWEST && spent >= patience.each
    }
}

fn median(of: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = of.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Runs all subjects in turns, after one run of each that warms the caches. A quick one is run twice in
/// its turn, and the second run counts: what ran before it has left the processor's caches to it as it is.
pub(super) fn interleaved(subjects: &[&Subject], patience: Patience) -> Outcome<Vec<Costs>> {
    let mut quick = Vec::with_capacity(subjects.len());
    for subject in subjects {
        quick.push(subject.run()?.wall < QUICK);
    }
    let mut costs = vec![Costs::default(); subjects.len()];
    for _ in 0..patience.rounds {
        for ((subject, costs), quick) in subjects.iter().zip(&mut costs).zip(&quick) {
            if costs.is_enough(patience) {
                continue;
            }
            if *quick {
                subject.run()?;
            }
            costs.add(subject.run()?);
        }
    }
    Ok(costs)
}

#[cfg(test)]
mod tests {
    use super::{Cost, Costs};
    use std::time::Duration;

    fn costs(walls: &[u64]) -> Costs {
        let cost = |wall: &u64| Cost { wall: Duration::from_millis(*wall), ..Cost::default() };
        Costs(walls.iter().map(cost).collect())
    }

    #[test]
    fn the_quickest_and_the_middle_run_count() {
        let costs = costs(&[9, 2, 4]);
        assert_eq!((costs.quickest(), costs.wall()), (2.0, 4.0));
    }

    #[test]
    fn a_round_that_was_slow_for_both_does_not_change_the_ratio() {
        assert_eq!(costs(&[20, 200, 22]).times(&costs(&[10, 100, 11])), 2.0);
    }
}
