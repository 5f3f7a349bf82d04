//! Claims: which process has which session, by the agent's own word.

use super::Trouble;
use crate::{
    evidence::{Role, Say},
    ident::ProcKey,
    proof::Source,
};
use jiff::Timestamp;
use std::{io, path::PathBuf};

/// How a claim leads to a process. The host follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trail {
    /// A kernel file lock on this path.
    Flock(PathBuf),
    /// A process the agent itself wrote down; a pid without its start is no trail.
    Process {
        /// Its pid.
        pid: u32,
        /// Its start time in clock ticks since boot.
        start: u64,
        /// When the agent wrote it down: before this boot, it speaks of another machine life.
        written: Timestamp,
    },
    /// This process, which is alive: its open files, arguments or tools name the session.
    Known(ProcKey),
    /// A server of the store, which alone can tell and says so itself when it is asked.
    Server {
        /// What is said of the session while no server answers.
        silent: &'static str,
    },
}

/// Something native that says "this session is loaded, there". True only if its trail leads somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Native session id.
    pub session: String,
    /// Where to look for the process.
    pub trail: Trail,
    /// Where the claim itself stands.
    pub source: Source,
    /// What else it tells.
    pub about: About,
}

/// What a running process tells of the session it has loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// What the agent says it is doing, and where it says so.
    pub says: Option<(Say, Source)>,
    /// What kind of process the agent says it is.
    pub role: Option<Role>,
    /// The id may be a throwaway until a record exists under it, or this moment has passed.
    pub settles: Option<Timestamp>,
    /// Where the session works.
    pub cwd: Option<PathBuf>,
    /// The name it goes by.
    pub title: Option<String>,
    /// When the process registered.
    pub started: Option<Timestamp>,
    /// Version of the agent that runs.
    pub version: Option<String>,
}

/// The claims of a store, and what could not be looked at.
#[derive(Debug, Default)]
pub struct Claims {
    /// What is claimed.
    pub claims: Vec<Claim>,
    /// What could not be read.
    pub problems: Vec<Trouble>,
    /// Claims that tell nothing.
    pub untold: Vec<Untold>,
    /// Not even who claims something could be read.
    pub closed: bool,
}

/// A claim of which nothing can be read: a problem if its process lives.
#[derive(Debug)]
pub struct Untold {
    /// The process that its file is named after.
    pub pid: u32,
    /// Nothing is in it yet, or any more.
    pub empty: bool,
    /// Where it is, and what is wrong.
    pub trouble: Trouble,
}

impl Claims {
    /// Nothing is claimed, because nothing can be read there.
    pub fn unreadable(path: PathBuf, why: &io::Error) -> Self {
        let problems = vec![Trouble { path, why: why.to_string() }];
        Self { problems, closed: true, ..Self::default() }
    }
}
