//! What a session changed since it began.

use super::{Here, status::status};
pub(crate) use crate::git::Binary;
use crate::{
    error::{Error, Kind},
    git::{Repo, Sides},
};
use agentctl_core::{
    agent::Depth,
    host::Host,
    receipt::Launched,
    text::one_line,
    wire::{Changes, Session, Since},
};
use std::path::PathBuf;

/// How much is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// How much of each file.
    Counts,
    /// The patch too.
    Patch(Binary),
}

/// What a session changed.
pub(crate) struct Changed {
    pub(crate) id: String,
    pub(crate) changes: Changes,
    /// As git prints it, if it was asked for.
    pub(crate) patch: Option<Vec<u8>>,
}

/// What the session of this name changed.
pub(crate) fn diff(here: &Here, name: &str, extent: Extent) -> Result<Changed, Error> {
    let session = status(here, name, Depth::Glance)?.session;
    let (changes, patch) = of(here.host(), &session, extent)?;
    let id = session.id.unwrap_or_else(|| name.to_owned());
    Ok(Changed { id, changes, patch })
}

/// What a session changed: in its worktree, or on its branch where that is gone.
pub(super) fn of(
    host: &dyn Host,
    session: &Session,
    extent: Extent,
) -> Result<(Changes, Option<Vec<u8>>), Error> {
    let launch = first_launch(host, session);
    let told = launch.and_then(|launch| launch.base.clone());
    let place = place(session, launch)?;
    let of_launch = match told {
        Some(base) => place.repo.commit(&base)?,
        None => None,
    };
    let (base, since) = match (of_launch, &place.branch) {
        (Some(base), _) => (base, Since::Launch),
        (None, None) => place.repo.fork_point()?,
        (None, Some(branch)) => return Err(lost(session, Some(branch))),
    };
    let sides = match &place.branch {
        None => Sides::of_files(&place.repo, &base)?,
        Some(branch) => Sides::of_branch(&place.repo, &base, branch),
    };
    let patch = match extent {
        Extent::Counts => None,
        Extent::Patch(binary) => Some(sides.patch(binary)?),
    };
    let files = sides.files()?;
    let sum = |pick: fn(&agentctl_core::wire::ChangedFile) -> Option<u64>| {
        files.iter().filter_map(pick).fold(0, u64::saturating_add)
    };
    let head = crate::git::head(&place.repo.root).and_then(|head| head.branch);
    let changes = Changes {
        commits: sides.commits()?,
        added: sum(|file| file.added),
        removed: sum(|file| file.removed),
        worktree: place.repo.root.clone(),
        branch_only: place.branch.is_some(),
        branch: place.branch.clone().or(head),
        since,
        base: base.clone(),
        notes: notes(&sides, launch.filter(|_| since == Since::Launch)),
        files: files.clone(),
    };
    Ok((changes, patch))
}

/// What the numbers do not tell.
fn notes(sides: &Sides<'_>, launch: Option<&Launched>) -> Vec<String> {
    let other = |dir: &PathBuf| {
        let dir = one_line(&dir.to_string_lossy());
        format!("{dir} is a repository of its own: what was done there is not counted")
    };
    let mut notes: Vec<String> = sides.others.iter().map(other).collect();
    // A worktree that was made for a launch begins with nothing uncommitted.
    if launch.is_some_and(|launch| launch.repo.is_none()) {
        let what = "what was uncommitted at the launch already is counted too: it had no worktree \
                    of its own";
        notes.push(what.to_owned());
    }
    notes
}

/// The launch that began a session: later ones went on with it.
fn first_launch<'a>(host: &'a dyn Host, session: &Session) -> Option<&'a Launched> {
    let same = |one: &&Launched| {
        one.agent == session.agent && one.session.is_some() && one.session == session.id
    };
    host.launches().iter().filter(same).min_by_key(|one| one.at)
}

/// Where the work of a session lies.
struct Place {
    repo: Repo,
    /// Only on this branch.
    branch: Option<String>,
}

fn place(session: &Session, launch: Option<&Launched>) -> Result<Place, Error> {
    let cwd = session.cwd.as_ref().filter(|cwd| cwd.is_dir());
    if let Some(cwd) = cwd {
        return Repo::find(cwd).map(|repo| Place { repo, branch: None });
    }
    let repo: Option<&PathBuf> = launch.and_then(|launch| launch.repo.as_ref());
    let branch = launch.and_then(|launch| launch.branch.clone()).or(session.branch.clone());
    let found = repo.and_then(|repo| Repo::without_files(repo).ok()).zip(branch.clone());
    let Some((repo, branch)) = found else { return Err(lost(session, branch.as_deref())) };
    match repo.commit(&format!("refs/heads/{branch}"))? {
        Some(_) => Ok(Place { repo, branch: Some(branch) }),
        None => Err(lost(session, Some(&branch))),
    }
}

fn lost(session: &Session, branch: Option<&str>) -> Error {
    let cwd = session.cwd.as_ref().map(|cwd| one_line(&cwd.to_string_lossy()));
    let cwd = cwd.unwrap_or_else(|| "its directory".to_owned());
    let what = match branch {
        Some(branch) => {
            format!("{cwd} is gone, and what was on {} cannot be told", one_line(branch))
        }
        None => format!("{cwd} is gone"),
    };
    Error::new(Kind::No, what).hint("`agentctl logs` still shows what the session did")
}
