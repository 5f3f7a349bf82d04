//! Who stands in the way of a launch, whatever is locked.

use crate::some;
use agentctl_core::{
    policy::{Sharing, in_the_way},
    wire::{Lock, LockKind},
};
use jiff::Timestamp;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

/// Directories within each other, and such that only look so.
fn directory() -> impl Strategy<Value = PathBuf> {
    prop::sample::select(vec!["/", "/a", "/a/b", "/a/b/c", "/a/bc", "/ab", "/b"])
        .prop_map(PathBuf::from)
}

fn word() -> impl Strategy<Value = Option<String>> {
    prop::option::of("[ab]")
}

fn lock() -> impl Strategy<Value = Lock> {
    let kind = prop_oneof![Just(LockKind::Manual), Just(LockKind::Session)];
    let whose = (word(), word(), prop::option::of(0..2u32), word(), word());
    (directory(), kind, 0..3i64, whose).prop_map(|(directory, kind, since, whose)| {
        let (session_id, agent, pid, by, reason) = whose;
        let since = Timestamp::from_second(since).expect("a small number");
        Lock { directory, kind, session_id, agent, pid, by, reason, since }
    })
}

/// The rule in the words of the decision on locks, without any order: who may refuse at all.
fn refuses(lock: &Lock, dir: &Path, sharing: Sharing) -> bool {
    let below = dir.ancestors().any(|above| above == lock.directory);
    match (lock.kind, sharing) {
        (LockKind::Manual, Sharing::Alone | Sharing::WithSessions) => below,
        (LockKind::Session, Sharing::Alone) => dir == lock.directory,
        (LockKind::Session, Sharing::WithSessions) => false,
    }
}

fn sharing() -> impl Strategy<Value = Sharing> {
    prop_oneof![Just(Sharing::Alone), Just(Sharing::WithSessions)]
}

proptest! {
    #![proptest_config(some::plain(1000))]

    #[test]
    fn exactly_what_is_locked_is_refused(
        locks in prop::collection::vec(lock(), 0..6), dir in directory(), sharing in sharing(),
    ) {
        let named = in_the_way(&locks, &dir, sharing);
        prop_assert_eq!(named.is_some(), locks.iter().any(|lock| refuses(lock, &dir, sharing)));
        if let Some(named) = named {
            prop_assert!(refuses(named, &dir, sharing));
            // Nobody who weighs more is passed over.
            let manual = |lock: &&Lock| lock.kind == LockKind::Manual && refuses(lock, &dir, sharing);
            let a_person = locks.iter().any(|lock| manual(&lock));
            prop_assert_eq!(named.kind == LockKind::Manual, a_person);
            let same = locks.iter().filter(|lock| lock.kind == named.kind && refuses(lock, &dir, sharing));
            prop_assert_eq!(same.map(|lock| lock.since).min(), Some(named.since));
        }
    }

    #[test]
    fn the_order_of_locks_changes_nothing(
        (locks, other) in prop::collection::vec(lock(), 0..6)
            .prop_flat_map(|locks| (Just(locks.clone()), Just(locks).prop_shuffle())),
        dir in directory(),
        sharing in sharing(),
    ) {
        prop_assert_eq!(in_the_way(&locks, &dir, sharing), in_the_way(&other, &dir, sharing));
    }

    #[test]
    fn more_force_or_fewer_locks_never_refuse_more(
        locks in prop::collection::vec(lock(), 0..6), dir in directory(), kept in 0..6usize,
    ) {
        let way = |locks: &[Lock], sharing| in_the_way(locks, &dir, sharing).is_some();
        let fewer = &locks[..kept.min(locks.len())];
        prop_assert!(way(&locks, Sharing::Alone) || !way(&locks, Sharing::WithSessions));
        for sharing in [Sharing::Alone, Sharing::WithSessions] {
            prop_assert!(way(&locks, sharing) || !way(fewer, sharing));
        }
    }
}
