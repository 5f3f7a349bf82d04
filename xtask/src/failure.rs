//! Why a task ended without success, and the exit code for it.

use std::{fmt, io, path::Path};

/// What a task gives back.
pub(crate) type Outcome<T> = Result<T, Failure>;

/// A task that did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The words given make no task.
    Usage(String),
    /// The task ran, and the answer is no.
    Failed(String),
}

impl Failure {
    /// The words given make no task; `text` says which ones do.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::Usage(text.into())
    }

    /// The task could not be done; `text` says what was tried and why not.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self::Failed(text.into())
    }

    /// A file or directory refused what was tried with it.
    pub(crate) fn io(tried: &str, path: &Path, why: &io::Error) -> Self {
        Self::new(format!("cannot {tried} {}: {why}", path.display()))
    }

    /// 2 for usage, 1 for all else.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Failed(text) => f.write_str(text),
        }
    }
}
