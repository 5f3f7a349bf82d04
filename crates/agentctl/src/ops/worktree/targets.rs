//! Which worktrees are meant: by a path, by a session, or by a group.

use super::Here;
use crate::{
    error::{Error, Kind},
    ops::{compare, dirs::root, observe::absolute, status::status},
};
use agentctl_core::{agent::Depth, text::one_line, wire::Session};
use std::path::{Path, PathBuf};

/// The worktrees of a word: a path where there is one, else a group, else a session.
pub(super) fn meant(here: &Here, word: &str) -> Result<Vec<PathBuf>, Error> {
    let path = absolute(here, Path::new(word));
    if word.contains('/') || path.is_dir() {
        return match path.is_dir() {
            true => Ok(vec![path]),
            false => Err(Error::new(Kind::Usage, format!("{} is not there", one_line(word)))
                .hint("`git worktree prune` forgets worktrees whose directories are gone")),
        };
    }
    let ids = compare::ids(here, word);
    if !ids.is_empty() {
        let found = ids.iter().filter_map(|id| status(here, id, Depth::Glance).ok());
        let mut places: Vec<PathBuf> = found.filter_map(|one| place(&one.session)).collect();
        places.sort();
        places.dedup();
        return Ok(places);
    }
    let session = status(here, word, Depth::Glance)?.session;
    place(&session).map(|path| vec![path]).ok_or_else(|| {
        Error::new(
            Kind::Refused,
            format!("session {} does not say where it worked", one_line(word)),
        )
    })
}

fn place(session: &Session) -> Option<PathBuf> {
    let cwd = session.cwd.as_deref()?;
    // Of what is gone, the path is told as it was: whatever lies above is not meant.
    Some(if cwd.is_dir() { root(cwd) } else { cwd.to_owned() })
}
