//! Where sessions are: `session-state/<id>/`, with `inuse.<pid>.hold` locked by each process that has it.

use crate::{
    agent::{About, Claim, Claims, Listing, Stub, Trail, Trouble},
    agents::files::{self, is_id},
    host::{self, Entry, Host, Kind, is_absent},
    proof::Source,
    text,
};
use std::{
    io,
    path::{Path, PathBuf},
};

const SESSIONS: &str = "session-state";
const EVENTS: &str = "events.jsonl";

fn folder(store: &Path, id: &str) -> PathBuf {
    store.join(SESSIONS).join(id)
}

/// Every session that was ever prompted: only then has it events.
pub(super) fn list(host: &dyn Host, store: &Path) -> io::Result<Listing> {
    let mut listing = Listing::default();
    for entry in ids(host, store)? {
        match stub(host, store, &entry.name) {
            Ok(stub) => listing.stubs.push(stub),
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => {
                let path = folder(store, &entry.name);
                listing.problems.push(Trouble { path, why: why.to_string() });
            }
        }
    }
    Ok(listing)
}

/// The events of one session.
pub(super) fn stub(host: &dyn Host, store: &Path, id: &str) -> io::Result<Stub> {
    if !is_id(id) {
        return Err(io::ErrorKind::NotFound.into());
    }
    files::stub(host, id, &folder(store, id).join(EVENTS))
}

/// Its folder, if that cannot be looked at.
pub(super) fn missed(host: &dyn Host, store: &Path, id: &str) -> Option<Trouble> {
    let why = stub(host, store, id).err().filter(|why| !is_absent(why))?;
    Some(Trouble { path: folder(store, id), why: why.to_string() })
}

/// Nothing but what its processes have locked says who has a session ([`locked`]), unless sessions cannot be looked at at all:
/// to look into the folder of each costs as much as there is history.
pub(super) fn claims(host: &dyn Host, store: &Path) -> io::Result<Claims> {
    match host.stat(&store.join(SESSIONS).join(".")) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
        Ok(_) | Err(_) => Ok(Claims::default()),
    }
}

/// The lock file of this store which an open one may be, whatever that is called there: its folder may be a link, or be mounted
/// elsewhere.
pub(super) fn locked(host: &dyn Host, store: &Path, open: &Path) -> Option<Claim> {
    let dir = open.parent()?;
    let (called, name) = (dir.file_name()?.to_str()?, open.file_name()?.to_str()?);
    is_lock(name).then_some(())?;
    let is_here = is_id(called) && host.stat(&folder(store, called)).is_ok();
    let id = if is_here { called.to_owned() } else { linked(host, store, dir)? };
    let lock = folder(store, &id).join(name);
    Some(claim(host, id, lock))
}

/// The session whose folder is a link to this one, which is a session's by what is in it.
fn linked(host: &dyn Host, store: &Path, dir: &Path) -> Option<String> {
    host.stat(&workspace_file(dir)).ok()?;
    let leads = |entry: &Entry| {
        entry.kind == Kind::Link && host.resolve(&folder(store, &entry.name)) == dir
    };
    ids(host, store).ok()?.into_iter().find(leads).map(|entry| entry.name)
}

/// Every lock file of a session, or of all. One that nobody holds is what a kill leaves behind (1.0.102).
pub(super) fn locks(host: &dyn Host, store: &Path, id: Option<&str>) -> io::Result<Claims> {
    let ids = match id {
        Some(id) => Vec::from_iter(is_id(id).then(|| id.to_owned())),
        None => ids(host, store)?.into_iter().map(|entry| entry.name).collect(),
    };
    let mut claims = Claims::default();
    for id in ids {
        let dir = folder(store, &id);
        let entries = match host.entries(&dir) {
            Ok(entries) => entries,
            Err(why) if why.kind() == io::ErrorKind::NotFound => continue, // just removed
            Err(why) => {
                claims.problems.push(Trouble { path: dir, why: why.to_string() });
                continue;
            }
        };
        let locks = entries.iter().filter(|entry| is_lock(&entry.name));
        claims.claims.extend(locks.map(|lock| claim(host, id.clone(), dir.join(&lock.name))));
    }
    Ok(claims)
}

fn claim(host: &dyn Host, session: String, lock: PathBuf) -> Claim {
    let told = lock.parent().and_then(|dir| workspace(host, dir).ok()).unwrap_or_default();
    let about = About { cwd: told.cwd, title: told.name, ..About::default() };
    let source = Source::NoLock { path: lock.clone() };
    Claim { session, trail: Trail::Flock(lock), source, about }
}

/// The session whose lock this open file is.
pub(super) fn held_by(store: &Path, open: &Path) -> Option<String> {
    let below = open.strip_prefix(store.join(SESSIONS)).ok()?;
    let (dir, name) = (below.parent()?.to_str()?, below.file_name()?.to_str()?);
    (is_id(dir) && is_lock(name)).then(|| dir.to_owned())
}

/// What `workspace.yaml` tells of a session.
#[derive(Default)]
pub(super) struct Workspace {
    pub(super) cwd: Option<PathBuf>,
    pub(super) name: Option<String>,
    pub(super) branch: Option<String>,
}

/// Reads it; nothing, where there is none.
pub(super) fn workspace(host: &dyn Host, dir: &Path) -> io::Result<Workspace> {
    let bytes = match host::slurp(host, &workspace_file(dir), 64 << 10) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Vec::new(),
        bytes => bytes?,
    };
    let text = text::mended(&bytes);
    let value = |key: &str| value(&text, key);
    let cwd = value("cwd").map(PathBuf::from);
    Ok(Workspace { cwd, name: value("name"), branch: value("branch") })
}

/// Where these stand.
pub(super) fn workspace_file(dir: &Path) -> PathBuf {
    dir.join("workspace.yaml")
}

/// One value of the flat YAML that 1.0.102 writes, a key a line. A prompt of many lines that became
/// the name is a block, and no name: the prompt itself stands in the events.
fn value(yaml: &str, key: &str) -> Option<String> {
    let found = yaml.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))?.trim();
    match found.chars().next()? {
        '|' | '>' => None,
        '"' => serde_json::from_str(found).ok(),
        '\'' => Some(found.strip_prefix('\'')?.strip_suffix('\'')?.replace("''", "'")),
        _ => Some(found.to_owned()),
    }
}

fn ids(host: &dyn Host, store: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = match host.entries(&store.join(SESSIONS)) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    entries.retain(|entry| is_id(&entry.name) && matches!(entry.kind, Kind::Dir | Kind::Link));
    Ok(entries)
}

/// What a process that has the session locks.
pub(super) fn is_lock(name: &str) -> bool {
    let pid = name.strip_prefix("inuse.").and_then(|rest| rest.strip_suffix(".hold"));
    pid.is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_the_real_program_writes_them() {
        let yaml =
            "cwd: '/a b/it''s: x'\nbranch: topic\nname: |-\n  say: 'hi'\nsummary: \"a\\\"b\"\n";
        assert_eq!(value(yaml, "cwd").as_deref(), Some("/a b/it's: x"));
        assert_eq!(value(yaml, "branch").as_deref(), Some("topic"));
        assert_eq!(value(yaml, "name"), None);
        assert_eq!(value(yaml, "summary").as_deref(), Some("a\"b"));
        assert_eq!(value(yaml, "absent"), None);
    }

    #[test]
    fn an_open_lock_tells_the_session() {
        let id = "33333333-2222-4333-8444-555555555555";
        let open = |name: &str| {
            let path = format!("/h/.copilot/session-state/{id}/{name}");
            held_by(Path::new("/h/.copilot"), Path::new(&path))
        };
        assert_eq!(open("inuse.953.hold").as_deref(), Some(id));
        assert_eq!(open("inuse.953.lock"), None);
        assert_eq!(open("events.jsonl"), None);
    }
}
