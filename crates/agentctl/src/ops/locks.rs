//! Which directories are locked, and by whom: sessions that work in them, and people.

use super::{
    Here,
    dirs::{Claim, Claimed, root, unwritable},
    list,
};
use crate::{
    error::{Error, Kind},
    intents::locks::{self, Given},
    places,
};
use agentctl_core::{
    observe::History,
    policy::{self, Sharing},
    proof::{Rule, shell_word},
    text::one_line,
    wire::{Lock, LockKind, Locks, Problem, SCHEMA, Session},
};
use jiff::Timestamp;
use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// All that is locked.
pub(crate) fn locks(here: &Here) -> Result<Locks, Error> {
    all(here, &places::known_state()?, None)
}

/// Locks a directory for a person.
pub(crate) fn lock(
    here: &Here,
    dir: &Path,
    by: Option<String>,
    reason: Option<String>,
) -> Result<Lock, Error> {
    let state = places::known_state()?;
    let who = format!("`agentctl lock`, pid {}", std::process::id());
    // Between a look and a lock somebody may launch: while this is held, nobody does.
    let claim = Claim { state: &state, dir, sharing: Sharing::Alone, who: &who };
    let claimed = Claimed::take(here, &claim)?;
    let added = locks::add(&state, &root(dir), by, reason);
    drop(claimed);
    let given = added.map_err(|why| match why.kind() {
        io::ErrorKind::AlreadyExists => {
            Error::new(Kind::Refused, format!("{} was locked meanwhile", dir.display()))
        }
        _ => unwritable(&state, &why),
    })?;
    Ok(manual(&given, root(dir)))
}

/// Opens what a person locked, whatever is in the file that says so.
pub(crate) fn unlock(here: &Here, dir: &Path) -> Result<Vec<Lock>, Error> {
    let state = places::known_state()?;
    let root = root(dir);
    let given = given(&state)?.into_iter().filter(|one| covers(one, &root)).collect::<Vec<_>>();
    for one in &given {
        locks::take_away(one).map_err(|why| {
            Error::new(Kind::Io, format!("cannot remove {}: {why}", one.path.display()))
        })?;
    }
    if given.is_empty() {
        let found = all(here, &state, Some(&root))?;
        return Err(match in_the_way(&found.locks, &root, Sharing::Alone) {
            Some(lock) if lock.directory != root => {
                let Error { message, hint, .. } = refusal(&lock);
                let what = format!("{} is not locked by itself: {message}", root.display());
                Error { hint, ..Error::new(Kind::No, what) }
            }
            Some(lock) => refusal(&lock),
            None => Error::new(Kind::No, format!("{} is not locked", root.display()))
                .hint("`agentctl locks` shows what is"),
        });
    }
    Ok(given.iter().map(|one| manual(one, root.clone())).collect())
}

/// All locks; of a launch, `asked` is where. What cannot be read at all is an error: it may lock anything.
pub(super) fn all(here: &Here, state: &Path, asked: Option<&Path>) -> Result<Locks, Error> {
    let (mut locks, mut problems) = of_sessions(here);
    let (manual, broken) = of_people(state, asked)?;
    locks.extend(manual);
    problems.extend(broken);
    let key = |lock: &Lock| (lock.directory.clone(), std::cmp::Reverse(lock.kind), lock.since);
    locks.sort_by_key(key);
    Ok(Locks { schema: SCHEMA, locks, problems })
}

/// What people locked.
pub(super) fn of_people(
    state: &Path,
    asked: Option<&Path>,
) -> Result<(Vec<Lock>, Vec<Problem>), Error> {
    let (mut locks, mut problems) = (Vec::new(), Vec::new());
    for one in given(state)? {
        let known = one.directory.as_deref().map(root);
        let above = || asked?.ancestors().find(|dir| covers(&one, dir)).map(Path::to_owned);
        let directory = known.or_else(above);
        problems.extend(one.problem.as_ref().map(|why| broken(&one, directory.as_deref(), why)));
        locks.extend(directory.map(|directory| manual(&one, directory)));
    }
    Ok((locks, problems))
}

/// The lock of a person that covers a directory, or something below it.
pub(super) fn by_a_person(state: &Path, root: &Path) -> Result<Option<Lock>, Error> {
    let touches = |dir: &Path| is_within(root, dir) || is_within(dir, root);
    let found = given(state)?.into_iter().find_map(|one| {
        let known = one.directory.as_deref().map(self::root);
        let above = || root.ancestors().find(|dir| covers(&one, dir)).map(Path::to_owned);
        known.or_else(above).filter(|dir| touches(dir)).map(|dir| manual(&one, dir))
    });
    Ok(found)
}

/// It is that directory, or below it, whatever both are called.
fn is_within(below: &Path, dir: &Path) -> bool {
    let same = |above: &Path| identity(above).is_some_and(|own| identity(dir) == Some(own));
    below.starts_with(dir) || below.ancestors().any(same)
}

/// What the kernel knows a directory by, under all of its names.
fn identity(dir: &Path) -> Option<(u64, u64)> {
    fs::metadata(dir).ok().map(|stat| (stat.dev(), stat.ino()))
}

/// Who stands in the way of work in this directory, whatever it is called: one that is mounted in two places has two
/// names, and the kernel tells that both are the same.
pub(super) fn in_the_way(locks: &[Lock], root: &Path, sharing: Sharing) -> Option<Lock> {
    let above: Vec<_> = root.ancestors().filter_map(|dir| Some((dir, identity(dir)?))).collect();
    let other = |lock: &Lock| {
        let own = identity(&lock.directory)?;
        let (same, _) = above.iter().find(|(_, one)| *one == own)?;
        Some(lock.directory.join(root.strip_prefix(same).ok()?))
    };
    let names = [root.to_owned()].into_iter().chain(locks.iter().filter_map(other));
    names.into_iter().find_map(|name| policy::in_the_way(locks, &name, sharing).cloned())
}

/// Why nothing is started there.
pub(super) fn refusal(lock: &Lock) -> Error {
    let dir = lock.directory.display();
    match lock.kind {
        LockKind::Session => {
            let pid = lock.pid.map_or_else(|| "a process".to_owned(), |pid| format!("pid:{pid}"));
            let id = lock.session_id.clone().unwrap_or(pid);
            let agent = lock.agent.as_deref().unwrap_or("a");
            let what = format!("{dir} is taken: {agent} session {id} works there");
            Error::new(Kind::Refused, what).hint(format!(
                "wait for it (`agentctl wait {id}`), or stop it; only `launch` and `resume` can share the \
                 directory, with --force"
            ))
        }
        LockKind::Manual => {
            let told = |lead: &str, words: Option<&str>| {
                words.map_or(String::new(), |words| format!("{lead}{}", one_line(words)))
            };
            let by = told(" by ", lock.by.as_deref());
            let why = told(": ", lock.reason.as_deref());
            let since = lock.since.strftime("%Y-%m-%d %H:%M:%SZ");
            let what = format!("{dir} is locked{by} since {since}{why}");
            let word = shell_word(&lock.directory.to_string_lossy());
            Error::new(Kind::Refused, what).hint(format!(
                "`agentctl unlock {word}` opens it; nothing else overrides a person's lock"
            ))
        }
    }
}

fn given(state: &Path) -> Result<Vec<Given>, Error> {
    locks::all(state).map_err(|why| {
        let place = locks::folder(state);
        Error::new(Kind::Io, format!("cannot tell what is locked: {}: {why}", place.display()))
            .hint("make it readable for you; until then nothing is launched")
    })
}

/// The name of a lock file says so, or what is in it.
fn covers(given: &Given, root: &Path) -> bool {
    let known = given.directory.as_deref();
    let by_name = || given.path.file_stem().is_some_and(|stem| *stem == *places::name_of(root));
    known.map_or_else(by_name, |dir| dir == root || self::root(dir) == root)
}

fn manual(given: &Given, directory: PathBuf) -> Lock {
    let reason = match &given.problem {
        Some(why) => Some(format!("nobody can read who asked for it: {why}")),
        None => given.reason.clone(),
    };
    Lock {
        directory,
        kind: LockKind::Manual,
        session_id: None,
        agent: None,
        pid: None,
        by: given.by.clone(),
        reason,
        since: given.since,
    }
}

fn broken(given: &Given, directory: Option<&Path>, why: &str) -> Problem {
    let way_out = match directory {
        Some(dir) => {
            let word = shell_word(&dir.to_string_lossy());
            format!("it still locks {word}; `agentctl unlock {word}` removes it")
        }
        None => "which directory it locks is not known; remove the file if nobody needs it".into(),
    };
    Problem {
        agent: "agentctl".to_owned(),
        path: Some(given.path.clone()),
        message: format!("lock file cannot be read: {why}; {way_out}"),
    }
}

fn of_sessions(here: &Here) -> (Vec<Lock>, Vec<Problem>) {
    let found = list::list(&here.again(), &list::Ask::every(History::Held));
    let now = here.now();
    let locks = found.sessions.iter().filter_map(|session| of_session(session, now));
    (locks.collect(), found.problems)
}

/// The lock of a session on the directory that it works in.
pub(super) fn of_session(session: &Session, now: Timestamp) -> Option<Lock> {
    let directory = root(session.cwd.as_deref().filter(|_| may_work(session))?);
    Some(Lock {
        directory,
        kind: LockKind::Session,
        pid: session.pid,
        session_id: session.id.clone(),
        agent: Some(session.agent.clone()),
        by: None,
        reason: None,
        since: session.started_at.unwrap_or(now),
    })
}

/// A process that may have it loaded is there, and works somewhere: two agents at once do more harm
/// than one refusal.
fn may_work(session: &Session) -> bool {
    session.live || session.because.iter().any(|because| because.rule == Rule::MayBeHeld)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// As under a mount: the same directory by another name.
    #[test]
    fn a_person_s_lock_holds_under_every_name() {
        let home = tempfile::tempdir().expect("a folder");
        let home = home.path().canonicalize().expect("a folder");
        fs::create_dir_all(home.join("real/tree/sub")).expect("a folder");
        fs::create_dir_all(home.join("real/other")).expect("a folder");
        symlink("real", home.join("alias")).expect("a link");
        let by = |lock: &str, asked: &str| {
            let state = home.join(format!("state/{lock}"));
            let _ = locks::add(&state, &home.join(lock), None, None); // or it is there
            by_a_person(&state, &home.join(asked)).expect("a disk").map(|lock| lock.directory)
        };
        for lock in ["real", "real/tree", "real/tree/sub"] {
            for asked in ["real/tree", "alias/tree"] {
                assert_eq!(by(lock, asked), Some(home.join(lock)), "{asked}");
            }
        }
        assert_eq!(by("real/other", "alias/tree"), None);
    }
}
