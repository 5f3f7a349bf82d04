//! When to try again: what did not go through, and how long to leave it alone. Pure, and kept on disk by
//! whoever tries.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The number of this shape.
const SCHEMA: u32 = 1;
/// How long the first wait is.
const FIRST: SignedDuration = SignedDuration::from_secs(2);
/// No wait is longer: whoever comes back is told soon.
pub(super) const LONGEST: SignedDuration = SignedDuration::from_mins(10);
/// A message that is refused so often is given up.
pub(super) const REFUSALS: u32 = 6;

/// What waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tries {
    schema: u32,
    /// For whom: nothing is sent until then.
    all: Option<Wait>,
    /// For each session, what is sent next: others go on.
    lanes: BTreeMap<String, Wait>,
}

/// A wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Wait {
    /// How often it was tried in vain.
    tries: u32,
    /// How often of these they did not take the message.
    #[serde(default)]
    refused: u32,
    /// When it is tried again: on the wall clock, so that a restart changes nothing.
    next: Timestamp,
}

/// How often it was tried in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) tries: u32,
    /// Only these count against a message: whoever was down for a day may still take it.
    pub(super) refused: u32,
}

/// What waits in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// They cannot be reached, or say themselves that it is not the message. A second, where they ask for it.
    Them(Option<SignedDuration>),
    /// They do not take the message.
    It,
}

impl Default for Tries {
    fn default() -> Self {
        Self { schema: SCHEMA, all: None, lanes: BTreeMap::new() }
    }
}

impl Tries {
    /// When something for this session may be sent; `None` is now.
    pub(super) fn until(&self, lane: &str, now: Timestamp) -> Option<Timestamp> {
        let waits = self.all.iter().chain(self.lanes.get(lane));
        // A clock that was set back must not make it wait for years.
        let counts = |next: &Timestamp| now < *next && next.duration_since(now) <= LONGEST;
        waits.map(|wait| wait.next).filter(counts).max()
    }

    /// It did not go through. Says how often it was tried.
    pub(super) fn failed(
        &mut self,
        lane: &str,
        how: Failed,
        (now, chance): (Timestamp, f64),
    ) -> Count {
        let before = self.lanes.get(lane);
        let tries = before.map_or(0, |wait| wait.tries).saturating_add(1);
        let refused = before.map_or(0, |wait| wait.refused);
        let refused = refused.saturating_add(u32::from(how == Failed::It));
        if let Failed::Them(asked) = how {
            // One message that they stumble over must not keep the others back for long.
            let before = self.all.map_or(0, |wait| wait.tries).saturating_add(1);
            let wait = asked.map_or(pause(before, chance), |asked| asked.min(LONGEST));
            self.all = Some(Wait { tries: before, refused: 0, next: after(now, wait) });
        }
        let next = after(now, pause(tries, chance));
        self.lanes.insert(lane.to_owned(), Wait { tries, refused, next });
        Count { tries, refused }
    }

    /// It went through, or is given up.
    pub(super) fn over(&mut self, lane: &str, is_through: bool) {
        self.lanes.remove(lane);
        if is_through {
            self.all = None;
        }
    }

    /// Forgets sessions of which nothing waits.
    pub(super) fn keep(&mut self, is_there: impl Fn(&str) -> bool) {
        self.lanes.retain(|lane, _| is_there(lane));
    }

    /// It is one that we can read.
    pub(super) fn is_ours(&self) -> bool {
        self.schema == SCHEMA
    }
}

fn after(now: Timestamp, wait: SignedDuration) -> Timestamp {
    now.checked_add(wait).unwrap_or(now)
}

/// Twice as long each time, and by chance up to a half shorter: those who failed together do not come back
/// together.
fn pause(tries: u32, chance: f64) -> SignedDuration {
    let doubled = FIRST.checked_mul(1 << tries.saturating_sub(1).min(16)).unwrap_or(LONGEST);
    let whole = doubled.min(LONGEST);
    whole - whole.mul_f64(chance.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    #[test]
    fn waits_grow_and_have_an_end() {
        let seconds = |tries| [0.0, 1.0].map(|chance| pause(tries, chance).as_secs());
        assert_eq!(seconds(1), [2, 1]);
        assert_eq!(seconds(4), [16, 8]);
        assert_eq!(seconds(100), [600, 300]);
    }

    #[test]
    fn what_they_refuse_keeps_only_its_own_session_back() {
        let mut tries = Tries::default();
        let once = Count { tries: 1, refused: 1 };
        assert_eq!(tries.failed("a", Failed::It, (at(0), 0.0)), once);
        assert_eq!((tries.until("a", at(1)), tries.until("b", at(1))), (Some(at(2)), None));
        assert_eq!(tries.until("a", at(2)), None);
        tries.failed("b", Failed::Them(None), (at(2), 0.0));
        assert_eq!(tries.until("c", at(3)), Some(at(4)));
        tries.failed("b", Failed::Them(Some(SignedDuration::from_secs(60))), (at(4), 0.0));
        assert_eq!(tries.until("c", at(4)), Some(at(64)));
        tries.over("c", true);
        assert_eq!((tries.until("c", at(4)), tries.until("b", at(4))), (None, Some(at(8))));
    }

    #[test]
    fn whoever_was_down_for_long_has_refused_nothing() {
        let mut tries = Tries::default();
        for second in 0..10 {
            tries.failed("a", Failed::Them(None), (at(second), 0.0));
        }
        let counted = tries.failed("a", Failed::It, (at(10), 0.0));
        assert_eq!(counted, Count { tries: 11, refused: 1 });
    }

    #[test]
    fn a_clock_that_was_set_back_delays_nothing() {
        let mut tries = Tries::default();
        tries.failed("a", Failed::Them(None), (at(1_000_000), 0.0));
        assert_eq!(tries.until("a", at(1000)), None);
    }
}
