//! Where sessions are: `<time>_<id>.jsonl`, in one folder a directory, or flat in a folder of the user's.

use crate::{
    agent::{Lately, Listing, Stub, Trouble},
    agents::json,
    host::{Bytes, Env, Host, Inside, Kind, Stat},
    lines::{self, Body, Flow},
};
use jiff::Timestamp;
use serde_json::Value;
use std::{
    cmp::Reverse,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

/// The folder of all sessions, given this environment.
pub(super) fn root(env: &Env, home: &str) -> Option<PathBuf> {
    let set = |name: &str| env.get(name).filter(|dir| !dir.is_empty());
    let whole = |dir: &OsString| match (Path::new(dir).strip_prefix("~"), env.get("HOME")) {
        (Ok(rest), Some(home)) => Path::new(home).join(rest),
        _ => PathBuf::from(dir),
    };
    if let Some(flat) = set("PI_CODING_AGENT_SESSION_DIR") {
        return Some(whole(flat));
    }
    let usual = || env.get("HOME").map(|dir| Path::new(dir).join(home));
    let agent = set("PI_CODING_AGENT_DIR").map(whole).or_else(usual);
    agent.map(|agent| agent.join("sessions"))
}

/// The sessions of a store that are in wanted folders, or in none, and were written lately.
pub(super) fn list(
    host: &dyn Host,
    store: &Path,
    folders: &dyn Fn(&str) -> bool,
    lately: Lately,
) -> io::Result<Listing> {
    wanted(host, store, &|_| true, folders, lately)
}

/// Those in files and folders of wanted names.
fn wanted(
    host: &dyn Host,
    store: &Path,
    is: &dyn Fn(&str) -> bool,
    folders: &dyn Fn(&str) -> bool,
    Lately { since, recalls }: Lately,
) -> io::Result<Listing> {
    let mut listing = Listing::default();
    let may_be = |name: &str| name.ends_with(".jsonl") && is(name);
    for Inside { entry, stat } in host.inside(store, &|entry| may_be(&entry.name))? {
        let may_be_dir = matches!(entry.kind, Kind::Dir | Kind::Link);
        if may_be_dir && !folders(&entry.name) {
            continue;
        }
        let path = store.join(&entry.name);
        let inside = || match recalls {
            true => host.inside_recalled(&path, &may_be, since),
            false => host.inside_since(&path, &may_be, since),
        };
        match may_be_dir.then(inside) {
            Some(Ok(names)) => add(host, &path, names, &mut listing),
            Some(Err(why)) if entry.kind == Kind::Dir => {
                listing.problems.push(Trouble { path, why: why.to_string() });
            }
            Some(Err(_)) | None => {
                let stat = stat.filter(|stat| !stat.as_ref().is_ok_and(|it| it.is_older(since)));
                add(host, store, vec![Inside { entry, stat }], &mut listing);
            }
        }
    }
    Ok(listing)
}

fn add(host: &dyn Host, dir: &Path, names: Vec<Inside>, listing: &mut Listing) {
    for Inside { entry, stat } in names {
        let Some(stat) = stat else { continue };
        let path = dir.join(&entry.name);
        match stat.and_then(|stat| stub(host, &path, &entry.name, stat)) {
            Ok(Some(stub)) => listing.stubs.push(stub),
            Ok(None) => {} // no session: a flat folder may hold anything
            Err(why) => listing.problems.push(Trouble { path, why: why.to_string() }),
        }
    }
}

/// A file that `--session` named says its id only inside.
fn stub(host: &dyn Host, path: &Path, name: &str, stat: Stat) -> io::Result<Option<Stub>> {
    if stat.kind != Kind::File {
        return Err(io::Error::other("not a regular file"));
    }
    let id = match id(name) {
        Some(id) => Some(id.to_owned()),
        None => json::string(&header(&*host.open(path)?).unwrap_or_default(), "id"),
    };
    let (updated, touched) = (stat.modified, stat.touched);
    Ok(id.map(|id| Stub { touched, stat: Some(stat), ..Stub::new(id, path, updated) }))
}

/// The session of this id that works in a directory; else all of it, the one written last first.
pub(super) fn find(host: &dyn Host, store: &Path, id: &str, cwd: Option<&Path>) -> Vec<Stub> {
    let works_there = |stub: &Stub| {
        let header = host.open(&stub.path).and_then(|file| header(&*file)).unwrap_or_default();
        json::path(&header, "cwd").as_deref() == cwd
    };
    let mut usual = Listing::default();
    if let Some(dir) = cwd.map(|cwd| store.join(folder(cwd))) {
        let is = |name: &str| name.ends_with(".jsonl") && self::id(name) == Some(id);
        let names = host.inside_since(&dir, &is, Timestamp::MIN).unwrap_or_default();
        add(host, &dir, names, &mut usual);
    }
    if let Some(stub) = usual.stubs.into_iter().find(works_there) {
        return vec![stub];
    }
    let mut stubs = called(host, store, id, &|_| true);
    stubs.sort_by_key(|stub| Reverse(stub.updated));
    match stubs.iter().position(|stub| cwd.is_some() && works_there(stub)) {
        Some(at) => vec![stubs.swap_remove(at)],
        None => stubs,
    }
}

/// Those of this id that a process which works there can have made.
pub(super) fn find_at(host: &dyn Host, store: &Path, id: &str, cwd: &Path) -> Vec<Stub> {
    called(host, store, id, &may_be_of(cwd))
}

/// Those of this id in wanted folders. A name that tells no id is looked into.
fn called(host: &dyn Host, store: &Path, id: &str, folders: &dyn Fn(&str) -> bool) -> Vec<Stub> {
    let may_be = |name: &str| self::id(name).is_none_or(|own| own == id);
    let found = wanted(host, store, &may_be, folders, Lately::EVER);
    let mut stubs = found.unwrap_or_default().stubs;
    stubs.retain(|stub| stub.id == id);
    stubs
}

/// The folder of a directory. Lossy: other directories may share it.
fn folder(cwd: &Path) -> String {
    let path = cwd.to_string_lossy();
    let path = path.strip_prefix('/').unwrap_or(&path);
    format!("--{}--", path.replace(['/', '\\', ':'], "-"))
}

/// Whether a session of this file is one of that directory, as its folder tells.
pub(super) fn goes_on_here(path: &Path, cwd: &Path) -> Option<bool> {
    is_of(path.parent()?.file_name()?.to_str()?, &folder(cwd))
}

/// A folder of one directory's sessions is that of every directory whose name is written so; a flat one is of all.
fn is_of(name: &str, own: &str) -> Option<bool> {
    let named = name.starts_with("--") && name.ends_with("--");
    named.then(|| name == own)
}

/// Folders that may have sessions of this directory.
pub(super) fn may_be_of(cwd: &Path) -> impl Fn(&str) -> bool {
    let own = folder(cwd);
    move |name| is_of(name, &own) != Some(false)
}

/// The first line of a session; null before it is written, for the file is made a moment earlier.
pub(super) fn header(file: &dyn Bytes) -> io::Result<Value> {
    let mut first = None;
    lines::forward(file, 0, &mut |line| {
        first = Some(match line.body {
            Body::Whole(bytes) => json::object(bytes),
            Body::Huge(_) => Value::Null,
        });
        Flow::Break(())
    })?;
    match first {
        None => Ok(Value::Null),
        Some(first) if json::text(&first, "type") == Some("session") => Ok(first),
        Some(_) => Err(io::Error::other("it does not begin as a session of Pi")),
    }
}

/// The id in a file's name, behind the time at which it was made.
pub(super) fn id(name: &str) -> Option<&str> {
    let (time, id) = name.strip_suffix(".jsonl")?.split_once('_')?;
    let is_time = time.len() == 24
        && time.ends_with('Z')
        && time.bytes().all(|byte| byte.is_ascii_digit() || b"TZ-".contains(&byte));
    Some(id).filter(|id| is_time && !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_id() {
        assert_eq!(id("2026-11-15T18-46-44-509Z_done-0001.jsonl"), Some("done-0001"));
        assert_eq!(id("2026-11-15T18-46-44-509Z_a_b.jsonl"), Some("a_b"));
        assert_eq!(id("my_session.jsonl"), None);
        assert_eq!(id("2026-11-15T18-46-44-509Z_x.txt"), None);
    }

    #[test]
    fn folders_are_those_of_the_real_program() {
        assert_eq!(folder(Path::new("/home/dev/a b/x.y:z")), "--home-dev-a b-x.y-z--");
    }

    #[test]
    fn the_most_particular_variable_says_where() {
        let mut env = Env::from([("HOME".to_owned(), "/h".into())]);
        let mut place = |name: &str, value: &str| {
            env.insert(name.to_owned(), value.into());
            root(&env, ".pi/agent").unwrap_or_default()
        };
        assert_eq!(place("OTHER", ""), Path::new("/h/.pi/agent/sessions"));
        assert_eq!(place("PI_CODING_AGENT_DIR", "~/pi"), Path::new("/h/pi/sessions"));
        assert_eq!(place("PI_CODING_AGENT_SESSION_DIR", "/flat"), Path::new("/flat"));
    }
}
