//! What a check gives back.

use std::fmt;

/// One thing to mend, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    what: String,
}

impl Finding {
    /// A finding at a line (counted from 1) of a file (named from the repository's root).
    pub(crate) fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// How a check ended.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// What it found, which may be nothing.
    Found(Vec<Finding>),
    /// A tool found something and has said itself where.
    Told,
}
