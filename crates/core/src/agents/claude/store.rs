//! Where transcripts are: `projects/<slug of the directory>/<session id>.jsonl`.

use crate::{
    agent::{Listing, Stub, Trouble},
    agents::files::{is_gone, is_id, stub, stub_of},
    host::{Host, Inside, Kind, is_absent},
};
use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
};

/// Every transcript of a store. Sub-agents have theirs one folder deeper and are not listed.
pub(super) fn list(host: &dyn Host, store: &Path) -> io::Result<Listing> {
    let mut listing = Listing::default();
    let mut linked = false;
    for (project, kind) in projects(host, store)? {
        linked |= kind == Kind::Link;
        if let Err(why) = folder(host, &project, &mut listing) {
            listing.problems.push(Trouble { path: project, why: why.to_string() });
        }
    }
    Ok(if linked { listing.without_aliases(host) } else { listing })
}

fn folder(host: &dyn Host, project: &Path, listing: &mut Listing) -> io::Result<()> {
    let inside = host.inside(project, &|entry| session(&entry.name).is_some())?;
    let folders = inside.iter().map(|one| one.entry.name.as_str()).filter(|name| is_id(name));
    let folders: HashSet<String> = folders.map(str::to_owned).collect();
    for Inside { entry, stat } in inside {
        let (Some(id), Some(stat)) = (session(&entry.name), stat) else { continue };
        let path = project.join(&entry.name);
        match stat.and_then(|stat| stub_of(id, &path, stat)) {
            Ok(stub) => listing.stubs.push(Stub { alone: !folders.contains(id), ..stub }),
            Err(why) if is_gone(&why, entry.kind) => {}
            Err(why) => listing.problems.push(Trouble { path, why: why.to_string() }),
        }
    }
    Ok(())
}

/// The session that a transcript is named after.
fn session(name: &str) -> Option<&str> {
    name.strip_suffix(".jsonl").filter(|id| is_id(id))
}

/// Other transcripts of the same directory.
pub(super) fn siblings(host: &dyn Host, stub: &Stub) -> Option<Vec<Stub>> {
    let mut listing = Listing::default();
    folder(host, stub.path.parent()?, &mut listing).ok()?;
    listing.stubs.retain(|other| other.id != stub.id);
    Some(listing.stubs)
}

/// The transcript of one session: in the folder of its directory, else wherever there is one.
pub(super) fn find(host: &dyn Host, store: &Path, id: &str, cwd: Option<&Path>) -> Vec<Stub> {
    if !is_id(id) {
        return Vec::new();
    }
    let name = format!("{id}.jsonl");
    let usual = cwd.map(|cwd| store.join("projects").join(slug(cwd)).join(&name));
    if let Some(Ok(stub)) = usual.map(|path| stub(host, id, &path)) {
        return vec![stub];
    }
    let elsewhere = projects(host, store).unwrap_or_default();
    let found = elsewhere.iter().filter_map(|(dir, _)| stub(host, id, &dir.join(&name)).ok());
    Listing { stubs: found.collect(), problems: Vec::new() }.without_aliases(host).stubs
}

/// The first folder in which its transcript may be and that cannot be looked at.
pub(super) fn missed(host: &dyn Host, store: &Path, id: &str) -> Option<Trouble> {
    if !is_id(id) {
        return None; // no file is called so
    }
    let trouble = |path: PathBuf, why: io::Error| {
        (!is_absent(&why)).then(|| Trouble { path, why: why.to_string() })
    };
    let folders = match projects(host, store) {
        Ok(folders) => folders,
        Err(why) => return trouble(store.join("projects"), why),
    };
    let name = format!("{id}.jsonl");
    folders
        .into_iter()
        .find_map(|(dir, _)| trouble(dir.clone(), host.stat(&dir.join(&name)).err()?))
}

fn projects(host: &dyn Host, store: &Path) -> io::Result<Vec<(PathBuf, Kind)>> {
    let dir = store.join("projects");
    let entries = match host.entries(&dir) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let folders = entries.into_iter().filter(|entry| matches!(entry.kind, Kind::Dir | Kind::Link));
    Ok(folders.map(|entry| (dir.join(entry.name), entry.kind)).collect())
}

/// The folder of a directory: everything but letters and digits is a dash (2.1.197).
///
/// Good enough to look there first; very long or decomposed names are found by looking everywhere.
fn slug(cwd: &Path) -> String {
    let path = cwd.to_string_lossy();
    path.encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
            _ => '-',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_those_of_the_real_program() {
        assert_eq!(slug(Path::new("/home/dev/work/api")), "-home-dev-work-api");
        assert_eq!(slug(Path::new("/a b/ü.𝄞")), "-a-b-----");
    }
}
