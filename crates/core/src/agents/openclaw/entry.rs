//! What a store says of one session, whichever kind of store it is.

use super::{lock::Lock, store::SILENT, transcript::Transcript};
use crate::{
    agent::{About, Claim, Stub, Trail},
    evidence::{Ending, Pending, Record, Role, Turn},
    proof::Source,
    text,
};
use jiff::Timestamp;
use std::{
    io,
    path::{Path, PathBuf},
};

/// A session, by the id of its transcript. Its key is what people call it, and outlives the id.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) key: Option<String>,
    pub(super) label: Option<String>,
    /// How its last run ended, or `running`; what is stored is not who lives.
    pub(super) status: Option<String>,
    /// A first run was let in, and nothing says yet that it runs or how it ended.
    pub(super) admitted: bool,
    pub(super) error: Option<String>,
    /// Its last run.
    pub(super) began: Option<Timestamp>,
    pub(super) ended: Option<Timestamp>,
    pub(super) created: Option<Timestamp>,
    pub(super) updated: Option<Timestamp>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) model: Option<String>,
    pub(super) version: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) forked_from: Option<String>,
    pub(super) archived: bool,
}

/// A session's name: its key, by which OpenClaw addresses it, after the label a person gave it.
pub(super) fn title(key: &str, label: Option<&str>) -> String {
    match label.filter(|label| !label.is_empty()) {
        Some(label) => format!("{label} ({key})"),
        None => key.to_owned(),
    }
}

impl Entry {
    /// It is in this file.
    pub(super) fn stub(&self, path: &Path) -> Stub {
        let updated = self.updated.unwrap_or_default();
        Stub { title: self.title(), ..Stub::new(&self.id, path, updated) }
    }

    fn title(&self) -> Option<String> {
        self.key.as_deref().map(|key| title(key, self.label.as_deref()))
    }

    /// It is stored as running.
    pub(super) fn runs(&self) -> bool {
        match &self.status {
            Some(status) => status == "running",
            None => self.admitted,
        }
    }

    /// The claim that it runs: a gateway alone can confirm it, or the command that holds the lock and
    /// runs it without one.
    pub(super) fn claim(&self, shown: Source, locks: &[Lock]) -> Claim {
        let began = self.began.or(self.updated);
        let owner = locks
            .iter()
            .find(|lock| lock.is_embedded() && began.is_some_and(|began| lock.created <= began));
        let (trail, role) = match owner {
            Some(lock) => (lock.trail(), Some(Role::Headless)),
            None => (Trail::Server { silent: SILENT }, None),
        };
        let about = About { role, ..About::default() };
        Claim { session: self.id.clone(), trail, source: shown, about }
    }

    /// Its newest run, as this place shows it.
    fn turn(&self, shown: Source) -> io::Result<Turn> {
        let at = self.ended.or(self.updated).unwrap_or_default();
        let ended = |how| Turn::Ended { at, how, line: shown.clone() };
        let failed = |why: &str| {
            let why = self.error.as_deref().map(text::one_line).unwrap_or_else(|| why.to_owned());
            ended(Ending::Failed(why))
        };
        Ok(match self.status.as_deref() {
            None if !self.admitted => Turn::None,
            Some("done") => ended(Ending::Completed),
            Some("failed") => failed("its last run failed"),
            Some("timeout") => failed("its last run timed out"),
            Some("killed") => ended(Ending::Interrupted),
            None | Some("running") => {
                let alive = self.began.or(self.updated).unwrap_or_default();
                Turn::Open { alive, pending: Pending::Nothing, line: shown }
            }
            Some(other) => {
                let why = format!("its status `{other}` is not understood");
                return Err(io::Error::other(why));
            }
        })
    }

    /// A transcript without a status of its own tells its newest turn itself.
    pub(super) fn is_told(&self) -> bool {
        self.status.is_none() && self.key.is_none()
    }

    /// All that is known of it.
    pub(super) fn record(self, shown: Source, mut said: Transcript) -> io::Result<Record> {
        let turn = match said.turn.take().filter(|_| self.is_told()) {
            Some(turn) => turn,
            None => self.turn(shown)?,
        };
        Ok(Record {
            title: self.title(),
            cwd: self.cwd.or(said.cwd),
            model: self.model.or(said.model),
            prompt: said.prompt,
            last: said.last,
            version: self.version,
            started: self.created.or(said.started),
            updated: self.updated,
            tokens: said.tokens,
            cost_usd: said.cost_usd,
            parent: self.parent,
            forked_from: self.forked_from,
            archived: self.archived,
            ..Record::of(turn)
        })
    }
}
