//! Chance that can be had again: all of a soak follows from one number, but for the clock.

use std::time::Duration;

/// A source of numbers (SplitMix64).
pub(super) struct Chance(u64);

impl Chance {
    /// One of many that follow from the same seed.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut one = Self(seed ^ stream.wrapping_mul(0x2545_f491_4f6c_dd1d));
        one.next();
        one
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than this.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Once in so many times.
    pub(super) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub(super) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        let at = self.below(u64::try_from(of.len()).expect("not many"));
        of[usize::try_from(at).expect("not many")]
    }

    /// Between these, in milliseconds.
    pub(super) fn between(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(least + self.below(most - least + 1))
    }
}
