//! Fuses that people set: a file each.

use super::store::{self, Found, Intent};
use agentctl_core::fuse::{Fuse, SCHEMA};
use jiff::Timestamp;
use std::{
    io,
    path::{Path, PathBuf},
};

pub(crate) use super::store::add;

impl Intent for Fuse {
    const WORD: &'static str = "fuse";
    const FOLDER: &'static str = "fuses";
    const SCHEMA: u32 = SCHEMA;

    fn named(&self) -> (u32, &str) {
        (self.schema, &self.id)
    }

    fn is_stale(&self, now: Timestamp) -> bool {
        Self::is_stale(self, now)
    }
}

/// A fuse that nobody else changes or fires meanwhile.
pub(crate) type Held = store::Held<Fuse>;

/// Where the files are.
pub(crate) fn folder(state: &Path) -> PathBuf {
    store::folder::<Fuse>(state)
}

/// All fuses, the next to fire first.
pub(crate) fn all(state: &Path) -> io::Result<Found<Fuse>> {
    let mut found = store::all::<Fuse>(state)?;
    found.all.sort_by_key(|fuse| fuse.deadline); // a stable sort: those of one time stay in their order
    Ok(found)
}

/// Files that nobody needs any more.
pub(crate) fn left(state: &Path, now: Timestamp) -> Vec<PathBuf> {
    store::left(state, now, |fuse: &Fuse| fuse.is_stale(now))
}

/// Removes one of those, unless it is in use or was changed since.
pub(crate) fn remove(state: &Path, path: &Path, now: Timestamp) -> io::Result<()> {
    store::remove::<Fuse>(state, path, now)
}
