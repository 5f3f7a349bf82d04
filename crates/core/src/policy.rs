//! What may be done, given what is there: decisions that every face and verb takes alike.

use crate::wire::{Lock, LockKind};
use std::path::Path;

/// How much a launch may override.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Nobody else may work in the directory.
    Alone,
    /// Sessions may work there too (`--force`). A person's lock still holds: who wants to override it
    /// unlocks it, so that the one who asked for it can see that it is gone.
    WithSessions,
}

/// Who stands in the way of a launch in this directory, the one that weighs most first: a person's lock
/// cannot be waited out, and then the session that has been there longest.
pub fn in_the_way<'a>(locks: &'a [Lock], directory: &Path, sharing: Sharing) -> Option<&'a Lock> {
    let weighs = |lock: &&Lock| match lock.kind {
        LockKind::Manual => true,
        LockKind::Session => sharing == Sharing::Alone,
    };
    let there = locks.iter().filter(|lock| covers(lock, directory)).filter(weighs);
    // Whatever tells two apart, so that the order in which they were found changes nothing.
    let told = |lock: &&'a Lock| (&lock.directory, &lock.agent, &lock.session_id, lock.pid);
    there.min_by(|a, b| {
        let heaviest = b.kind.cmp(&a.kind).then_with(|| a.since.cmp(&b.since));
        heaviest.then_with(|| told(a).cmp(&told(b)))
    })
}

/// A person locks a directory with all that is below it; a session has only the one it works in.
fn covers(lock: &Lock, directory: &Path) -> bool {
    match lock.kind {
        LockKind::Manual => directory.starts_with(&lock.directory),
        LockKind::Session => lock.directory == directory,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use proptest::prelude::*;

    fn lock(directory: &str, kind: LockKind, since: i64) -> Lock {
        let since = Timestamp::from_second(since).expect("a time");
        let (session_id, agent, pid, by, reason) = Default::default();
        Lock { directory: directory.into(), kind, session_id, agent, pid, by, reason, since }
    }

    #[test]
    fn force_shares_with_sessions_and_never_with_a_person() {
        let (session, manual) = (LockKind::Session, LockKind::Manual);
        let locks = [lock("/a", session, 1), lock("/a", manual, 5), lock("/b", session, 2)];
        let [of_session, of_person, _] = &locks;
        let way =
            |only: &[Lock], dir: &str, sharing| in_the_way(only, Path::new(dir), sharing).cloned();
        assert_eq!(way(&locks, "/a", Sharing::Alone).as_ref(), Some(of_person));
        assert_eq!(way(&locks, "/a", Sharing::WithSessions).as_ref(), Some(of_person));
        assert_eq!(way(&locks[..1], "/a", Sharing::Alone).as_ref(), Some(of_session));
        assert_eq!(way(&locks[..1], "/a", Sharing::WithSessions), None);
        assert_eq!(way(&locks, "/a/below", Sharing::WithSessions).as_ref(), Some(of_person));
        assert_eq!(way(&locks[..1], "/a/below", Sharing::Alone), None);
        assert_eq!(way(&locks, "/ab", Sharing::Alone), None);
        assert_eq!(way(&locks, "/", Sharing::Alone), None);
        assert_eq!(way(&[], "/a", Sharing::Alone), None);
        let whole = [lock("/", manual, 1)];
        assert_eq!(way(&whole, "/a/below", Sharing::Alone).as_ref(), whole.first());
    }

    fn some_locks() -> impl Strategy<Value = Vec<Lock>> {
        let one = (0..3u8, any::<bool>(), 0..100i64).prop_map(|(dir, manual, since)| {
            let kind = if manual { LockKind::Manual } else { LockKind::Session };
            lock(&format!("/{dir}"), kind, since)
        });
        prop::collection::vec(one, 0..8)
    }

    proptest! {
        /// Alone, exactly the locked directories are refused; with force, exactly those a person locked.
        #[test]
        fn refused_is_what_is_locked(locks in some_locks(), dir in 0..3u8) {
            let dir = format!("/{dir}");
            let dir = Path::new(&dir);
            let there = |lock: &&Lock| lock.directory == dir;
            let alone = in_the_way(&locks, dir, Sharing::Alone);
            prop_assert_eq!(alone.is_some(), locks.iter().any(|lock| there(&lock)));
            let forced = in_the_way(&locks, dir, Sharing::WithSessions);
            let person = |lock: &&Lock| there(lock) && lock.kind == LockKind::Manual;
            prop_assert_eq!(forced.is_some(), locks.iter().any(|lock| person(&lock)));
            prop_assert!(alone.iter().chain(&forced).all(there));
        }

        /// Who is named does not depend on the order of the rows, and more locks never allow more.
        #[test]
        fn order_does_not_matter(locks in some_locks(), more in some_locks()) {
            let dir = Path::new("/1");
            let told = |locks: &[Lock], sharing| {
                in_the_way(locks, dir, sharing).map(|lock| (lock.kind, lock.since))
            };
            let mut turned = locks.clone();
            turned.reverse();
            let all = [locks.clone(), more].concat();
            for sharing in [Sharing::Alone, Sharing::WithSessions] {
                prop_assert_eq!(told(&locks, sharing), told(&turned, sharing));
                prop_assert!(told(&locks, sharing).is_none() || told(&all, sharing).is_some());
            }
        }
    }
}
