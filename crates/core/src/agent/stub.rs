//! A session before its record is read.

use crate::host::Stat;
use jiff::Timestamp;
use std::path::PathBuf;

/// A session that exists, known from its name and size alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stub {
    /// Native session id.
    pub id: String,
    /// The file that holds it.
    pub path: PathBuf,
    /// Last change of that file.
    pub updated: Timestamp,
    /// Nothing was written to it later, even if its file was given an older date.
    pub touched: Timestamp,
    /// The name a person gave it, where the agent keeps names apart from sessions.
    pub title: Option<String>,
    /// No folder of its own stood beside that file when it was listed; false where nobody knows. What has one since is seen by
    /// the next listing.
    pub alone: bool,
    /// What the file system said of the file, where it was asked and the session has it for itself.
    pub stat: Option<Stat>,
}

impl Stub {
    /// With nothing known of it but where it is, and when that changed.
    pub fn new(id: impl Into<String>, path: impl Into<PathBuf>, updated: Timestamp) -> Self {
        let (id, path, touched) = (id.into(), path.into(), updated);
        Self { id, path, updated, touched, title: None, alone: false, stat: None }
    }
}
