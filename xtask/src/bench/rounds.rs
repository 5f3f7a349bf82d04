//! Programs run in turns, so that a noisy moment falls on all of them alike.

use super::measure::Subject;
use crate::failure::Outcome;
use std::time::Duration;

/// The fewest runs a figure is taken from.
const FEWEST: usize = 3;

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// How many rounds there are.
    pub(super) rounds: usize,
    /// How long all runs of one subject may take together.
    pub(super) each: Duration,
}

/// How long the runs of one subject took.
#[derive(Clone, Debug, Default)]
pub(super) struct Times(Vec<Duration>);

impl Times {
    /// One run more.
    pub(super) fn add(&mut self, took: Duration) {
        self.0.push(took);
    }

    /// The quickest run, in milliseconds: what it costs when nobody disturbs.
    pub(super) fn min(&self) -> f64 {
        self.0.iter().min().map_or(f64::NAN, |took| took.as_secs_f64() * 1e3)
    }

    /// The run in the middle, in milliseconds.
    pub(super) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).map_or(f64::NAN, |took| took.as_secs_f64() * 1e3)
    }

    fn is_enough(&self, patience: Patience) -> bool {
        self.0.len() >= FEWEST && self.0.iter().sum::<Duration>() >= patience.each
    }
}

/// Runs all subjects in turns, after one run of each that warms the caches.
pub(super) fn interleaved(subjects: &[&Subject], patience: Patience) -> Outcome<Vec<Times>> {
    for subject in subjects {
        subject.time()?;
    }
    let mut times = vec![Times::default(); subjects.len()];
    for _ in 0..patience.rounds {
        for (subject, times) in subjects.iter().zip(&mut times) {
            if !times.is_enough(patience) {
                times.add(subject.time()?);
            }
        }
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::Times;
    use std::time::Duration;

    #[test]
    fn the_quickest_and_the_middle_run_count() {
        let mut times = Times::default();
        [9, 2, 4].into_iter().for_each(|it| times.add(Duration::from_millis(it)));
        assert_eq!((times.min(), times.median()), (2.0, 4.0));
    }
}
