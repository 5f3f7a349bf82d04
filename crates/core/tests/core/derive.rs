//! What [`derive`] promises, whatever was seen.

use crate::some;
use agentctl_core::{
    derive::{State, derive},
    evidence::{Evidence, Reading, Turn},
};
use proptest::{prelude::*, test_runner::RngSeed};

/// The same evidence each time, so that a run that passed passes again; nothing is written beside the
/// sources, since a failure prints the evidence.
fn plain() -> ProptestConfig {
    ProptestConfig {
        cases: 3_000,
        rng_seed: RngSeed::Fixed(2026),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn is_ended(state: &State) -> bool {
    match state {
        State::Done | State::Failed(_) | State::Stopped | State::Died => true,
        State::Working | State::Waiting(_) | State::Idle(_) | State::Unknown(_) => false,
    }
}

proptest! {
    #![proptest_config(plain())]

    #[test]
    fn the_same_evidence_has_the_same_answer(seen in some::evidence()) {
        prop_assert_eq!(derive(&seen), derive(&seen.clone()));
    }

    #[test]
    fn live_means_that_somebody_holds_it(seen in some::evidence()) {
        prop_assert_eq!(derive(&seen).live, !seen.holders.is_empty());
    }

    #[test]
    fn only_what_nobody_holds_or_could_hold_has_ended(seen in some::evidence()) {
        if is_ended(&derive(&seen).state) {
            prop_assert!(seen.holders.is_empty());
            prop_assert!(seen.suspects.is_empty());
            prop_assert_eq!(seen.blind, None);
        }
    }

    #[test]
    fn a_failed_reading_ends_nothing(seen in some::evidence(), blind in any::<bool>()) {
        let seen = match (&seen.record, blind) {
            (Reading::Failed { .. }, _) => seen,
            (_, true) => Evidence { blind: Some("the table is not readable".into()), ..seen },
            (_, false) => {
                let source = agentctl_core::proof::Source::Blind;
                Evidence { record: Reading::Failed { why: "torn".into(), source }, ..seen }
            }
        };
        prop_assert!(!is_ended(&derive(&seen).state));
    }

    #[test]
    fn the_order_in_which_processes_are_seen_changes_nothing((seen, other) in some::shuffled()) {
        prop_assert_eq!(derive(&seen).state, derive(&other).state);
    }

    #[test]
    fn written_down_and_read_again_it_has_the_same_answer(seen in some::evidence()) {
        let text = serde_json::to_string(&seen).expect("evidence is plain data");
        let again: Evidence = serde_json::from_str(&text).expect("what was written can be read");
        prop_assert_eq!(&seen, &again);
        prop_assert_eq!(derive(&seen), derive(&again));
    }

    #[test]
    fn an_answer_has_reasons(seen in some::evidence()) {
        let never_prompted =
            matches!(&seen.record, Reading::Read(record) if record.turn == Turn::None);
        if derive(&seen).because.is_empty() {
            prop_assert!(never_prompted && seen.absence.is_none());
        }
    }
}
