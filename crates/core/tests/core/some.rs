//! Any evidence: every shape of it, from few enough values that they meet.

use agentctl_core::{
    evidence::{
        Ending, Evidence, Ground, Holder, Need, Pending, Reading, Record, Role, Say, Suspect, Tool,
        Turn,
    },
    ident::ProcKey,
    proof::Source,
};
use jiff::Timestamp;
use proptest::{collection::vec, option, prelude::*, sample::select, test_runner::RngSeed};

/// The same cases each time, so that a run that passed passes again; nothing is written beside the
/// sources, since a failure prints its case.
pub(crate) fn plain(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(2026),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Mostly one of a few, a part of a second apart or some seconds; now and then as far away as there is.
fn moment() -> impl Strategy<Value = Timestamp> {
    let near = (0i64..6, select(vec![0, 1, 999_999_999]))
        .prop_map(|(second, nano)| Timestamp::new(second, nano).expect("a small number"));
    let ends = vec![Timestamp::MIN, Timestamp::MAX, Timestamp::UNIX_EPOCH];
    let far = (-100_000_000_000i64..200_000_000_000)
        .prop_map(|second| Timestamp::from_second(second).expect("within the calendar"));
    prop_oneof![8 => near, 1 => select(ends), 1 => far]
}

/// The same pid and start may come again after a reboot.
fn key() -> impl Strategy<Value = ProcKey> {
    let start = prop_oneof![6 => 0u64..3, 1 => Just(u64::MAX)];
    let boot = prop_oneof![4 => Just("boot"), 1 => Just("other")];
    (1u32..5, start, boot).prop_map(|(pid, start, boot)| ProcKey { pid, start, boot: boot.into() })
}

fn source() -> impl Strategy<Value = Source> {
    prop_oneof![
        (0u64..9).prop_map(|offset| Source::Line {
            path: "/a".into(),
            offset,
            shows: "it's \"x\"".into(),
            without: vec!["z".into()],
        }),
        Just(Source::File { path: "/b".into(), shows: "y".into() }),
        key().prop_map(|process| Source::Alive { process }),
        key().prop_map(|process| Source::Gone { process }),
        key().prop_map(|process| Source::Halted { process }),
        (1u32..5).prop_map(|pid| Source::Lock { path: "/c".into(), pid }),
        Just(Source::NoLock { path: "/c".into() }),
        (1u32..5).prop_map(|pid| Source::OpenFile { path: "/d".into(), pid }),
        Just(Source::Absence { check: "true".into() }),
        (1u32..5).prop_map(|pid| Source::NoVariable { variable: "A=b".into(), pid }),
        (1u32..5).prop_map(|pid| Source::Variable { variable: "A=b".into(), pid }),
        key().prop_map(|process| Source::Inference { process }),
        (1u32..5).prop_map(|pid| Source::Launch { launch: "l-1".into(), pid }),
        (1u32..5).prop_map(|pid| Source::Arguments { shows: "--resume".into(), pid }),
        select(vec!["http://127.0.0.1:1/x", "ws://127.0.0.1:1/"])
            .prop_map(|url| Source::Answer { url: url.into(), shows: "busy".into() }),
        Just(Source::Row { path: "/f".into(), query: "select 'x'".into(), shows: "x".into() }),
        Just(Source::Unreadable { path: "/e".into() }),
        Just(Source::Blind),
    ]
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just("why".into()), Just("\u{1b}[31mÜ\n\"".into())]
}

fn need() -> impl Strategy<Value = Need> {
    prop_oneof![Just(Need::Approval), Just(Need::Answer)]
}

fn pending() -> impl Strategy<Value = Pending> {
    prop_oneof![
        Just(Pending::Nothing),
        Just(Pending::Answer),
        Just(Pending::Retry("503".into())),
        Just(Pending::Approval),
        Just(Pending::Unnamed),
        Just(Pending::ApprovalUnless {
            variable: "A".into(),
            values: vec!["b".into(), "c".into()]
        }),
    ]
}

fn turn() -> impl Strategy<Value = Turn> {
    let how = prop_oneof![
        Just(Ending::Completed),
        words().prop_map(Ending::Failed),
        Just(Ending::Interrupted)
    ];
    prop_oneof![
        Just(Turn::None),
        (moment(), pending(), source()).prop_map(|(alive, pending, line)| Turn::Open {
            alive,
            pending,
            line
        }),
        (moment(), how, source()).prop_map(|(at, how, line)| Turn::Ended { at, how, line }),
    ]
}

pub(crate) fn reading() -> impl Strategy<Value = Reading> {
    prop_oneof![
        4 => turn().prop_map(|turn| Reading::Read(Box::new(Record::of(turn)))),
        1 => Just(Reading::Absent),
        1 => (words(), source()).prop_map(|(why, source)| Reading::Failed { why, source }),
    ]
}

pub(crate) fn holder() -> impl Strategy<Value = Holder> {
    let role = prop_oneof![
        Just(Role::Headless),
        Just(Role::Piped),
        Just(Role::Interactive),
        Just(Role::Background),
        Just(Role::Server)
    ];
    let say = prop_oneof![Just(Say::Busy), need().prop_map(Say::Waiting), Just(Say::Idle)];
    let says = option::of((say, source()));
    (key(), moment(), option::of(role), any::<[bool; 2]>(), source(), says).prop_map(
        |(key, since, role, [shared, halted], trail, says)| Holder {
            key,
            since,
            role,
            shared,
            halted,
            trail,
            says,
        },
    )
}

pub(crate) fn suspect() -> impl Strategy<Value = Suspect> {
    let silent = option::weighted(0.3, words());
    let ground = select(vec![Ground::Wrote, Ground::Named, Ground::Resumed, Ground::Untold]);
    let all = (key(), moment(), silent, ground);
    all.prop_map(|(key, since, silent, ground)| Suspect { key, since, silent, ground })
}

fn tool() -> impl Strategy<Value = Tool> {
    prop_oneof![
        Just(Tool::NotAsked),
        source().prop_map(Tool::Runs),
        source().prop_map(Tool::Absent),
        words().prop_map(Tool::CannotTell),
    ]
}

fn few<T: std::fmt::Debug>(one: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
    option::weighted(0.4, vec(one, 1..4)).prop_map(Option::unwrap_or_default)
}

/// A process holds a session once, whichever trails lead to it.
fn of_one_key_each(mut holders: Vec<Holder>) -> Vec<Holder> {
    holders.sort_by(|one, other| one.key.cmp(&other.key));
    holders.dedup_by(|one, other| one.key == other.key);
    holders
}

/// Any evidence.
pub(crate) fn evidence() -> impl Strategy<Value = Evidence> {
    let id = prop_oneof![1 => Just(None), 4 => Just(Some("id".to_owned()))];
    // Nothing at all is what most evidence has of most things, and where the rules at the end apply.
    let seen = (few(holder()).prop_map(of_one_key_each), few(source()), few(suspect()));
    let stop = option::weighted(0.3, (moment(), source()));
    let prompted = option::weighted(0.3, (key(), source()));
    let ours = (stop, prompted, option::weighted(0.2, source()));
    let rest = (option::of(source()), option::weighted(0.2, words()), tool());
    (id, reading(), seen, rest, ours).prop_map(
        |(id, record, (holders, lost, suspects), (absence, blind, tool), ours)| {
            let (stop, prompted, answered) = ours;
            Evidence {
                agent: "agent".into(),
                id,
                record,
                holders,
                lost,
                suspects,
                absence,
                blind,
                tool,
                stop,
                prompted,
                answered,
            }
        },
    )
}

/// Any evidence, and the same in another order.
pub(crate) fn shuffled() -> impl Strategy<Value = (Evidence, Evidence)> {
    evidence().prop_flat_map(|seen| {
        let holders = Just(seen.holders.clone()).prop_shuffle();
        let suspects = Just(seen.suspects.clone()).prop_shuffle();
        let lost = Just(seen.lost.clone()).prop_shuffle();
        (Just(seen), holders, suspects, lost).prop_map(|(seen, holders, suspects, lost)| {
            let other = Evidence { holders, suspects, lost, ..seen.clone() };
            (seen, other)
        })
    })
}
