//! Where threads are: dated folders of rollouts, a flat archive, and one lock file a loaded thread.

use crate::{
    agent::{About, Claim, Claims, Listing, Stub, Trail, Trouble},
    agents::{
        files::{is_gone, is_id, stub, stub_of},
        json,
    },
    host::{self, Entry, Host, Inside, Kind, is_absent},
    proof::Source,
};
use jiff::{Timestamp, ToSpan, tz::TimeZone};
use memchr::memmem;
use std::{
    collections::{HashMap, HashSet},
    io,
    path::{Path, PathBuf},
};

const LIVE: &str = "sessions";
const ARCHIVE: &str = "archived_sessions";
const LOCKS: &str = "thread-writer-locks";
/// Names of threads are few and short; more than this is not read.
const NAMES: usize = 4 << 20;
const INDEX: &str = "session_index.jsonl";

/// Every rollout of a store.
pub(super) fn list(host: &dyn Host, store: &Path) -> io::Result<Listing> {
    let names = names(host, store);
    let mut listing = Listing::default();
    let mut linked = false;
    let mut todo = vec![(store.join(LIVE), 3), (store.join(ARCHIVE), 0)];
    while let Some((dir, depth)) = todo.pop() {
        let is_folder = |entry: &Entry| depth > 0 && matches!(entry.kind, Kind::Dir | Kind::Link);
        let is_asked = |entry: &Entry| !is_folder(entry) && thread(&entry.name).is_some();
        let entries = match host.inside(&dir, &is_asked) {
            Ok(entries) => entries,
            Err(why) if why.kind() == io::ErrorKind::NotFound => continue,
            Err(why) => {
                listing.problems.push(Trouble { path: dir, why: why.to_string() });
                continue;
            }
        };
        for Inside { entry, stat } in entries {
            let path = dir.join(&entry.name);
            linked |= entry.kind == Kind::Link;
            if is_folder(&entry) {
                todo.push((path, depth - 1));
            } else if let (Some(id), Some(stat)) = (thread(&entry.name), stat) {
                match stat.and_then(|stat| stub_of(id, &path, stat)) {
                    Ok(stub) => listing.stubs.push(Stub { title: names.get(id).cloned(), ..stub }),
                    Err(why) if is_gone(&why, entry.kind) => {}
                    Err(why) => listing.problems.push(Trouble { path, why: why.to_string() }),
                }
            }
        }
    }
    put_away_once(&mut listing.stubs, &store.join(ARCHIVE));
    Ok(if linked { listing.without_aliases(host) } else { listing })
}

/// A thread is put away by a move. What is in both places is one thread, and goes on in the first; those that were put away are
/// listed before the others.
fn put_away_once(stubs: &mut Vec<Stub>, archive: &Path) {
    let is_away = |stub: &Stub| stub.path.parent() == Some(archive);
    if stubs.first().is_some_and(is_away) {
        let others = stubs.iter().filter(|stub| !is_away(stub));
        let others: HashSet<String> = others.map(|stub| stub.id.clone()).collect();
        stubs.retain(|stub| !is_away(stub) || !others.contains(&stub.id));
    }
}

/// The rollout of one thread. Its id begins with its creation in milliseconds: look at that day first.
pub(super) fn find(host: &dyn Host, store: &Path, id: &str) -> Option<Stub> {
    let elsewhere = || {
        let found = anywhere(host, &store.join(LIVE), id)?;
        Some(Stub { title: name(host, store, id), ..found })
    };
    find_near(host, store, id).or_else(elsewhere)
}

/// The same without a walk over all days, unless it was put away.
pub(super) fn find_near(host: &dyn Host, store: &Path, id: &str) -> Option<Stub> {
    let (live, created) = (store.join(LIVE), created(id));
    let usual = |at| stub(host, id, &live.join(usual(id, at))).ok();
    let usual = created.filter(|_| is_id(id)).and_then(usual);
    let mut days = created.into_iter().flat_map(days);
    let found = usual.or_else(|| days.find_map(|day| within(host, &live.join(day), id)));
    // One that was put away and is elsewhere too goes on there, as in a list.
    let put_away = || {
        let archived = within(host, &store.join(ARCHIVE), id)?;
        Some(anywhere(host, &live, id).unwrap_or(archived))
    };
    let found = found.or_else(put_away)?;
    Some(Stub { title: name(host, store, id), ..found })
}

/// Wherever it was put: of all others only the names are looked at.
fn anywhere(host: &dyn Host, live: &Path, id: &str) -> Option<Stub> {
    let mut todo = vec![(live.to_owned(), 3)];
    while let Some((dir, depth)) = todo.pop() {
        for entry in host.entries(&dir).unwrap_or_default() {
            if thread(&entry.name) == Some(id)
                && let Ok(found) = stub(host, id, &dir.join(&entry.name))
            {
                return Some(found);
            }
            if depth > 0 && matches!(entry.kind, Kind::Dir | Kind::Link) {
                todo.push((dir.join(entry.name), depth - 1));
            }
        }
    }
    None
}

/// The first place that cannot be looked at and in which its rollout may be, or is by its name.
pub(super) fn missed(host: &dyn Host, store: &Path, id: &str) -> Option<Trouble> {
    let is_there = |(_, why): &(PathBuf, io::Error)| !is_absent(why);
    let mut todo = vec![(store.join(ARCHIVE), 0), (store.join(LIVE), 3)];
    while let Some((dir, depth)) = todo.pop() {
        let (entries, mut failed) = match host.entries(&dir) {
            Ok(entries) => (entries, None),
            Err(why) => (Vec::new(), Some((dir.clone(), why)).filter(is_there)),
        };
        for Entry { name, kind } in entries {
            let path = dir.join(&name);
            if thread(&name) == Some(id) {
                failed = failed.or(host.stat(&path).err().map(|why| (path, why)).filter(is_there));
            } else if depth > 0 && matches!(kind, Kind::Dir | Kind::Link) {
                todo.push((path, depth - 1));
            }
        }
        if let Some((path, why)) = failed {
            return Some(Trouble { path, why: why.to_string() });
        }
    }
    None
}

fn within(host: &dyn Host, dir: &Path, id: &str) -> Option<Stub> {
    let is_it = |name: &str| thread(name) == Some(id);
    let found = host.inside_since(dir, &is_it, Timestamp::MIN).ok()?;
    let Inside { entry, stat } = found.into_iter().next()?;
    stub_of(id, &dir.join(entry.name), stat?.ok()?).ok()
}

/// When a thread was made, which is what its id begins with.
fn created(id: &str) -> Option<Timestamp> {
    let hex: String = id.split('-').take(2).collect();
    let millis = i64::from_str_radix(hex.get(..12)?, 16).ok()?;
    Timestamp::from_millisecond(millis).ok()
}

/// The rollout of a thread that was made then, where local time is UTC: to ask for it is quicker than to look through its day.
fn usual(id: &str, created: Timestamp) -> String {
    let [day, time] = ["%Y/%m/%d", "%Y-%m-%dT%H-%M-%S"].map(|shape| created.strftime(shape));
    format!("{day}/rollout-{time}-{id}.jsonl")
}

/// Folders are named after the local day, which is the day in UTC or one beside it.
fn days(created: Timestamp) -> Vec<String> {
    let day = created.to_zoned(TimeZone::UTC).date();
    [0, 1, -1]
        .iter()
        .filter_map(|offset| day.checked_add(offset.days()).ok())
        .map(|day| day.strftime("%Y/%m/%d").to_string())
        .collect()
}

/// Names people gave to threads; the last line of a thread counts.
fn names(host: &dyn Host, store: &Path) -> HashMap<String, String> {
    let bytes = host::slurp(host, &store.join(INDEX), NAMES).unwrap_or_default();
    bytes.split(|&byte| byte == b'\n').filter_map(named).collect()
}

/// The name of one thread. All lines are looked through at once, from the end: to look from the beginning would ask the processor first
/// what it can, which takes longer than a list of live sessions has.
fn name(host: &dyn Host, store: &Path, id: &str) -> Option<String> {
    let bytes = host::slurp(host, &store.join(INDEX), NAMES).unwrap_or_default();
    let is_newline = |byte: &u8| *byte == b'\n';
    let mut end = bytes.len(); // what stands behind it was looked through
    while let Some(at) = memmem::rfind(&bytes[..end], id.as_bytes()) {
        let from = bytes[..at].iter().rposition(is_newline).map_or(0, |newline| newline + 1);
        let line = bytes[from..end].split(is_newline).next().and_then(named);
        match line.filter(|(thread, _)| thread == id) {
            Some((_, name)) => return Some(name),
            None => end = from,
        }
    }
    None
}

/// The thread that a line names, and its name.
fn named(line: &[u8]) -> Option<(String, String)> {
    let line = json::object(line);
    Some((json::string(&line, "id")?, json::string(&line, "thread_name")?))
}

/// Every lock file of a store. One that nobody holds is what a kill leaves behind.
pub(super) fn claims(host: &dyn Host, store: &Path) -> io::Result<Claims> {
    let dir = store.join(LOCKS);
    let entries = match host.entries(&dir) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Claims::default()),
        Err(why) => return Ok(Claims::unreadable(dir, &why)),
        Ok(entries) => entries,
    };
    let claim = |name: &str| {
        let session = name.strip_suffix(".lock").filter(|id| is_id(id))?.to_owned();
        let path = dir.join(name);
        let source = Source::NoLock { path: path.clone() };
        Some(Claim { session, trail: Trail::Flock(path), source, about: About::default() })
    };
    let claims = entries.iter().filter_map(|entry| claim(&entry.name)).collect();
    Ok(Claims { claims, ..Claims::default() })
}

/// The thread whose rollout or lock this open file is. Before 0.146 there are no locks.
///
/// The kernel shows where a file really is: the folders may be links, and are `resolve`d.
pub(super) fn held_by(
    resolve: &dyn Fn(&Path) -> PathBuf,
    store: &Path,
    open: &Path,
) -> Option<String> {
    let name = open.file_name()?.to_str()?;
    let below = |folder: &str| open.starts_with(resolve(&store.join(folder)));
    let id = match (thread(name), name.strip_suffix(".lock").filter(|id| is_id(id))) {
        (Some(id), _) => Some(id).filter(|_| below(LIVE) || below(ARCHIVE)),
        (None, Some(id)) => Some(id).filter(|_| below(LOCKS)),
        (None, None) => None,
    };
    id.map(str::to_owned)
}

/// The thread id at the end of a rollout's name.
pub(super) fn thread(name: &str) -> Option<&str> {
    let stem = name.strip_prefix("rollout-")?;
    let stem = stem.strip_suffix(".zst").unwrap_or(stem).strip_suffix(".jsonl")?;
    stem.get(stem.len().checked_sub(36)?..).filter(|id| is_id(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01a1e06a-95d8-7330-b101-5cffff88f4d8";

    #[test]
    fn names_tell_the_thread() {
        assert_eq!(thread(&format!("rollout-2026-11-15T18-14-03-{ID}.jsonl")), Some(ID));
        assert_eq!(thread(&format!("rollout-2026-11-15T18-14-03-{ID}.jsonl.zst")), Some(ID));
        assert_eq!(thread("rollout-é.jsonl"), None);
    }

    #[test]
    fn ids_tell_the_day_and_mostly_the_name() {
        let at = created(ID).expect("a time");
        assert_eq!(days(at)[0], "2026/11/15");
        let usual = usual(ID, at);
        assert_eq!(usual, format!("2026/11/15/rollout-2026-11-15T18-14-03-{ID}.jsonl"));
        assert_eq!(thread(usual.rsplit('/').next().unwrap_or_default()), Some(ID));
        assert_eq!(created("not an id"), None);
    }

    #[test]
    fn open_files_tell_the_thread() {
        let store = Path::new("/h/.codex");
        let open = |path: &str| held_by(&|path| path.to_owned(), store, Path::new(path));
        let rollout = format!("/h/.codex/sessions/2026/11/15/rollout-x-{ID}.jsonl");
        assert_eq!(open(&rollout).as_deref(), Some(ID));
        assert_eq!(open(&format!("/h/.codex/thread-writer-locks/{ID}.lock")).as_deref(), Some(ID));
        assert_eq!(open(&format!("/h/.codex/logs/rollout-x-{ID}.jsonl")), None);
        assert_eq!(open(&format!("/elsewhere/rollout-x-{ID}.jsonl")), None);
    }
}
