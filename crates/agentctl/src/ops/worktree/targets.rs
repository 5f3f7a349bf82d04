//! Which worktrees are meant: by a path, by a session, or by a group.

use super::Here;
use crate::{
    error::{Error, Kind},
    git::{Listed, Repo},
    ops::{compare, dirs::root, observe::absolute, status::status},
};
use agentctl_core::{agent::Depth, text::one_line, wire::Session};
use std::path::{Path, PathBuf};

/// What a word means.
pub(super) struct Meant {
    pub(super) places: Vec<PathBuf>,
    /// Sessions of a group whose places cannot be told.
    pub(super) unknown: Vec<Error>,
}

/// The worktrees of a word: a path where it is one, else a group, else a session.
pub(super) fn meant(here: &Here, word: &str, only: Option<&Repo>) -> Result<Meant, Error> {
    let path = absolute(here, Path::new(word));
    if is_path(word) || path.is_dir() {
        return Ok(Meant { places: vec![path], unknown: Vec::new() });
    }
    let ids = compare::ids(here, word);
    let mut places = of_group(here, word, only);
    if ids.is_empty() && places.is_empty() {
        let session = status(here, word, Depth::Glance)?.session;
        return Ok(Meant { places: vec![place(&session, word)?], unknown: Vec::new() });
    }
    let mut unknown = Vec::new();
    for one in &ids {
        let found = compare::member(here, one, Depth::Glance);
        match found.and_then(|found| place(&found.session, &one.1)) {
            Ok(path) => places.push(path),
            Err(why) => unknown.push(why),
        }
    }
    if places.is_empty() && unknown.iter().all(|why| why.kind == Kind::NoSession) {
        let what = format!("no session of group {} has left anything", one_line(word));
        return Err(Error::new(Kind::NoSession, what)
            .hint("`agentctl worktree list REPO` shows worktrees by their paths"));
    }
    places.sort();
    places.dedup();
    Ok(Meant { places, unknown })
}

/// Worktrees that were made for a group: of a launch that was killed there may be no session.
fn of_group(here: &Here, group: &str, only: Option<&Repo>) -> Vec<PathBuf> {
    if !group.starts_with("g-") {
        return Vec::new();
    }
    let begin = format!("try/{group}/");
    let is_of =
        |tree: &Listed| tree.branch.as_deref().is_some_and(|branch| branch.starts_with(&begin));
    let trees = repos(here, only).into_iter().filter_map(|repo| repo.trees().ok()).flatten();
    trees.filter(is_of).map(|tree| tree.path).collect()
}

/// Repositories in which worktrees may lie: the one that was named; else those that launches tell of,
/// and the one that we are in.
pub(super) fn repos(here: &Here, only: Option<&Repo>) -> Vec<Repo> {
    if let Some(only) = only {
        return vec![only.clone()];
    }
    let launches = here.host().launches().iter();
    let mut told: Vec<&Path> = launches.filter_map(|one| one.repo.as_deref()).collect();
    told.push(Path::new("."));
    told.sort();
    told.dedup();
    told.into_iter().filter_map(|dir| Repo::without_files(dir).ok()).collect()
}

/// Anything else with a slash may be a session of a directory, `ID@DIR`.
fn is_path(word: &str) -> bool {
    let begins = ["/", "./", "../", "~"].iter().any(|begin| word.starts_with(begin));
    begins || matches!(word, "." | "..") || word.contains('/') && !word.contains('@')
}

fn place(session: &Session, name: &str) -> Result<PathBuf, Error> {
    let cwd = session.cwd.as_deref().ok_or_else(|| {
        let what = format!("session {} does not say where it worked", one_line(name));
        Error::new(Kind::Refused, what)
    })?;
    // Of what is gone, the path is told as it was: whatever lies above is not meant.
    Ok(if cwd.is_dir() { root(cwd) } else { cwd.to_owned() })
}
