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
    let told = |lock: &&'a Lock| {
        let whose = (&lock.agent, &lock.session_id, lock.pid);
        (&lock.directory, whose, &lock.by, &lock.reason)
    };
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
}
