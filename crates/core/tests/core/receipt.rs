//! How long what we witnessed is kept, and what it says by itself.

use crate::some;
use agentctl_core::{
    evidence::{Role, Tokens},
    ident::ProcKey,
    receipt::{Exit, Launched, Stopped},
};
use jiff::Timestamp;
use proptest::prelude::*;

const DAY: i64 = 24 * 3600;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a small number of seconds")
}

fn exit(second: i64) -> Exit {
    Exit { schema: 1, code: Some(0), signal: None, at: at(second), overdue: false }
}

/// At 0, and exited then.
fn launched(session: Option<&str>, exited: Option<i64>) -> Launched {
    let json = serde_json::json!({ "schema": 1, "launch": "l", "agent": "pi", "at": at(0) });
    let launched: Launched = serde_json::from_value(json).expect("a receipt");
    Launched { session: session.map(Into::into), exit: exited.map(exit), ..launched }
}

/// For how many seconds it is kept: to the second, and however far a clock was set back.
fn kept(is_stale: impl Fn(i64) -> bool) -> i64 {
    assert_eq!([-400 * DAY, -1, 0].map(&is_stale), [false; 3]); // a clock was set back
    let last = [DAY, 7 * DAY, 8 * DAY].into_iter().find(|second| is_stale(second + 1));
    let last = last.expect("everything goes");
    assert!(!is_stale(last));
    last
}

#[test]
fn a_receipt_goes_by_itself() {
    let of = |receipt: Launched| kept(move |now| receipt.is_stale(at(now), false));
    assert_eq!(of(launched(Some("s"), None)), 7 * DAY);
    assert_eq!(of(launched(None, None)), DAY);
    assert_eq!(of(launched(Some("s"), Some(-5))), 7 * DAY, "a clock that was set back");
    let late = launched(Some("s"), Some(DAY));
    assert!(!late.is_stale(at(8 * DAY), false) && late.is_stale(at(8 * DAY + 1), false));
    let process = ProcKey { pid: 7, start: 1, boot: "boot".into() };
    let (agent, session) = ("pi".to_owned(), "s".to_owned());
    let stopped = Stopped { schema: 1, agent, session, process, at: at(0) };
    assert_eq!(kept(|now| stopped.is_stale(at(now))), 7 * DAY);
}

#[test]
fn it_says_how_the_agent_was_started_and_ended() {
    let shown = |code, signal| Exit { code, signal, ..exit(0) }.shown();
    assert_eq!(shown(Some(3), None), Some(3));
    assert_eq!(shown(None, Some(9)), Some(137));
    assert_eq!(shown(None, None), None);
    let plain = launched(None, None);
    assert_eq!(plain.role(), Role::Headless);
    assert_eq!(Launched { input: Some("/fifo".into()), ..plain }.role(), Role::Piped);
}

proptest! {
    #![proptest_config(some::plain(256))]

    #[test]
    fn one_of_a_process_that_lives_never_goes(now in any::<i32>(), exited in any::<Option<i32>>()) {
        let receipt = launched(None, exited.map(i64::from));
        prop_assert!(!receipt.is_stale(at(now.into()), true));
    }

    /// Tokens are added part by part, and no number that an agent writes down is too great.
    #[test]
    fn tokens_are_added_part_by_part(one in any::<[u64; 4]>(), other in any::<[u64; 4]>()) {
        let tokens = |[input, output, cache_read, cache_write]: [u64; 4]| Tokens {
            input,
            output,
            cache_read,
            cache_write,
        };
        let sum = std::array::from_fn(|at| one[at].saturating_add(other[at]));
        prop_assert_eq!(tokens(one).plus(tokens(other)), tokens(sum));
    }
}
