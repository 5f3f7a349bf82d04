//! What [`derive`] promises, whatever was seen.

use crate::some;
use agentctl_core::{
    derive::{Idle, State, Verdict, derive},
    evidence::{Ending, Evidence, Holder, Reading, Record, Role, Turn},
    ident::ProcKey,
    proof::{Rule, Source},
};
use jiff::Timestamp;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn is_ended(state: &State) -> bool {
    match state {
        State::Done | State::Failed(_) | State::Stopped | State::Died => true,
        State::Working | State::Waiting(_) | State::Idle(_) | State::Unknown(_) => false,
    }
}

/// The whole answer; what it follows from is told in the order in which it was seen, and may be told twice.
fn in_no_order(verdict: Verdict) -> (State, bool, BTreeSet<String>) {
    let because = verdict.because.iter().map(|fact| format!("{fact:?}")).collect();
    (verdict.state, verdict.live, because)
}

proptest! {
    #![proptest_config(some::plain(3_000))]

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
        prop_assert_eq!(in_no_order(derive(&seen)), in_no_order(derive(&other)));
    }

    #[test]
    fn written_down_and_read_again_it_has_the_same_answer(seen in some::evidence()) {
        let text = serde_json::to_string(&seen).expect("evidence is plain data");
        let again: Evidence = serde_json::from_str(&text).expect("what was written can be read");
        prop_assert_eq!(&seen, &again);
        prop_assert_eq!(derive(&seen), derive(&again));
    }

    #[test]
    fn no_record_ends_what_a_process_holds(
        seen in some::evidence(), holder in some::holder(), record in some::reading(),
    ) {
        let holders = [vec![holder], seen.holders.clone()].concat();
        let verdict = derive(&Evidence { holders, record, ..seen });
        prop_assert!(verdict.live && !is_ended(&verdict.state), "{:?}", verdict.state);
    }

    #[test]
    fn what_is_seen_twice_counts_once(seen in some::evidence()) {
        let mut twice = seen.clone();
        twice.holders.extend(seen.holders.clone());
        twice.suspects.extend(seen.suspects.clone());
        twice.lost.extend(seen.lost.clone());
        prop_assert_eq!(in_no_order(derive(&seen)), in_no_order(derive(&twice)));
    }

    /// Who could hold it is never taken away by what else is known.
    #[test]
    fn more_suspects_end_nothing(seen in some::evidence(), suspect in some::suspect()) {
        let suspects = [seen.suspects.clone(), vec![suspect]].concat();
        let verdict = derive(&Evidence { suspects, ..seen });
        prop_assert!(!is_ended(&verdict.state));
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

/// A piped process since 10, launched by us with a prompt, whose session has this newest turn.
fn launched(turn: Option<Turn>) -> Evidence {
    let key = ProcKey { pid: 7, start: 1, boot: "boot".into() };
    let trail = Source::Launch { launch: "l-1".into(), pid: 7 };
    let holder = Holder {
        key: key.clone(),
        since: second(10),
        role: Some(Role::Piped),
        shared: false,
        halted: false,
        trail: trail.clone(),
        says: None,
    };
    Evidence {
        record: turn.map_or(Reading::Absent, |turn| Reading::Read(Box::new(Record::of(turn)))),
        holders: vec![holder],
        prompted: Some((key, trail)),
        ..Evidence::none("pi", Some("id".into()))
    }
}

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a small number of seconds")
}

/// Pi 0.73 records nothing of its first prompt before it has answered it.
#[test]
fn a_prompt_that_we_gave_runs_until_something_is_recorded() {
    let ended = |at| {
        let at = second(at);
        Some(Turn::Ended { at, how: Ending::Completed, line: Source::Blind })
    };
    for turn in [None, Some(Turn::None), ended(5)] {
        let seen = launched(turn);
        let verdict = derive(&seen);
        let last = verdict.because.last().map(|fact| (fact.rule, fact.source.clone()));
        let source = Source::Launch { launch: "l-1".into(), pid: 7 };
        assert_eq!((verdict.state, last), (State::Working, Some((Rule::PromptGiven, source))));
        // Somebody else's process has no prompt that we know of.
        let other = derive(&Evidence { prompted: None, ..seen });
        assert!(matches!(other.state, State::Idle(_)), "{other:?}");
    }
    assert_eq!(derive(&launched(ended(11))).state, State::Idle(Idle::BetweenTurns));
}
