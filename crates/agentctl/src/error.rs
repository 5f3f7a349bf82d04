//! The program's one error: a kind, which fixes the exit code and the JSON `kind`; a message; a hint.

use agentctl_core::wire::Failure;
use std::{fmt, io, path::Path};

/// What went wrong, as scripts tell it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The answer is no.
    No,
    /// The call's words are off.
    Usage,
    /// No such session.
    NoSession,
    /// Several sessions fit.
    Ambiguous,
    /// It is not done: a directory is taken, a session is alive, a process is not the one that was meant.
    Refused,
    /// The agent did not start.
    NotStarted,
    /// The time was up.
    TimedOut,
    /// Done, but something could not be read.
    Problems,
    /// A session is there, and what it said cannot be read.
    Unreadable,
    /// The machine said no: a file, a terminal, a disk.
    Io,
}

impl Kind {
    /// The exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::No | Self::Io => 1,
            Self::Usage => 2,
            Self::NoSession => 3,
            Self::Ambiguous => 4,
            Self::Refused => 5,
            Self::NotStarted => 6,
            Self::TimedOut => 7,
            Self::Problems | Self::Unreadable => 8,
        }
    }
}

impl Kind {
    /// As programs read it.
    fn name(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Usage => "usage",
            Self::NoSession => "no_session",
            Self::Ambiguous => "ambiguous",
            Self::Refused => "refused",
            Self::NotStarted => "not_started",
            Self::TimedOut => "timed_out",
            Self::Problems => "problems",
            Self::Unreadable => "unreadable",
            Self::Io => "io",
        }
    }
}

/// What is told to the person.
#[derive(Debug)]
pub(crate) struct Error {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// Nobody reads our output any more: end quietly.
    pub(crate) silent: bool,
}

impl Error {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, silent: false }
    }

    /// A transcript that could not be read.
    pub(crate) fn unread(path: &Path, why: impl fmt::Display) -> Self {
        Self::new(Kind::Unreadable, format!("cannot read {}: {why}", path.display()))
            .hint("run `agentctl doctor` to see what else cannot be read")
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        let (kind, hint) = (error.kind.name().to_owned(), error.hint.clone());
        Self { kind, message: error.message.clone(), hint }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Only printing fails without a place of its own; whoever reads a file says which.
impl From<io::Error> for Error {
    fn from(why: io::Error) -> Self {
        let silent = why.kind() == io::ErrorKind::BrokenPipe;
        Self { silent, ..Self::new(Kind::Io, format!("cannot write the answer: {why}")) }
    }
}
