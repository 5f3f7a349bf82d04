//! What was seen of one session: plain data, serialisable, so that an answer can be replayed.

use crate::{ident::ProcKey, proof::Source};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How a turn ended, as the agent itself recorded it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// The agent finished its answer.
    Completed,
    /// The turn ended in an error, in the agent's own words.
    Failed(String),
    /// Somebody stopped it.
    Interrupted,
}

/// What a waiting session waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Need {
    /// A person's leave to run something.
    Approval,
    /// An answer to a question.
    Answer,
}

/// What an open turn hangs on, as far as the store says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pending {
    /// Nothing that needs a person.
    Nothing,
    /// An answer from a person.
    Answer,
    /// A try failed, in the agent's own words; whether it is made again is not written down.
    Retry(String),
    /// A person's leave, which the agent wrote down that it asked for.
    Approval,
    /// Tool calls that the store does not name yet. Without a process of their own they run inside
    /// the agent, or wait for a person.
    Unnamed,
    /// Tool calls that ask for leave first, unless a process carries this variable: then one runs.
    ApprovalUnless {
        /// Name of the environment variable.
        variable: String,
        /// Its value, for each call.
        values: Vec<String>,
    },
}

/// The newest turn the native store knows of, with the line that shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Turn {
    /// Never prompted.
    None,
    /// Started and not ended, as far as the store says.
    Open {
        /// A moment at which the process that owns the turn was surely alive.
        alive: Timestamp,
        /// What it hangs on.
        pending: Pending,
        /// The line that shows it.
        line: Source,
    },
    /// Ended.
    Ended {
        /// When it ended.
        at: Timestamp,
        /// How it ended.
        how: Ending,
        /// The line that shows it.
        line: Source,
    },
}

/// Tokens a session has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tokens {
    /// Sent to the model, not counting what came from its cache.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
    /// Read from the model's cache.
    pub cache_read: u64,
    /// Written to the model's cache.
    pub cache_write: u64,
}

impl Tokens {
    /// Both together. What agents write down may be any number: the sum stops at the greatest.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self {
            input: self.input.saturating_add(more.input),
            output: self.output.saturating_add(more.output),
            cache_read: self.cache_read.saturating_add(more.cache_read),
            cache_write: self.cache_write.saturating_add(more.cache_write),
        }
    }
}

/// Everything one native session says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Newest turn.
    pub turn: Turn,
    /// Where it works.
    pub cwd: Option<PathBuf>,
    /// Git branch it was on last.
    pub branch: Option<String>,
    /// Model of the newest turn.
    pub model: Option<String>,
    /// The name it was given.
    pub title: Option<String>,
    /// First thing the user asked, cut to a readable length.
    pub prompt: Option<String>,
    /// Last thing the agent said, cut to a readable length.
    pub last: Option<String>,
    /// Version of the agent that wrote it.
    pub version: Option<String>,
    /// When it began.
    pub started: Option<Timestamp>,
    /// When its newest line was written.
    pub updated: Option<Timestamp>,
    /// Tokens so far, where they are known without reading everything, or everything was read.
    pub tokens: Option<Tokens>,
    /// What it cost, where the agent itself says so.
    pub cost_usd: Option<f64>,
    /// Session that spawned this one.
    pub parent: Option<String>,
    /// Session this one was copied from.
    pub forked_from: Option<String>,
    /// How the process was run that made it, where that can be told.
    pub made_by: Option<Role>,
    /// Put away by the user.
    pub archived: bool,
    /// What of it could not be read, though its turn could.
    pub gap: Option<String>,
    /// Some of it is told by another file than its agent said, or could not be told this time.
    #[serde(skip)]
    pub elsewhere: bool,
}

impl Record {
    /// A record that says nothing yet but its newest turn.
    pub fn of(turn: Turn) -> Self {
        Self {
            turn,
            cwd: None,
            branch: None,
            model: None,
            title: None,
            prompt: None,
            last: None,
            version: None,
            started: None,
            updated: None,
            tokens: None,
            cost_usd: None,
            parent: None,
            forked_from: None,
            made_by: None,
            archived: false,
            gap: None,
            elsewhere: false,
        }
    }
}

/// What became of reading a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reading {
    /// It was read.
    Read(Box<Record>),
    /// The store has none (yet).
    Absent,
    /// It is there, and could not be read or understood.
    Failed {
        /// Why.
        why: String,
        /// Where.
        source: Source,
    },
}

/// What a live agent says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Say {
    /// A turn runs.
    Busy,
    /// It waits for a person.
    Waiting(Need),
    /// No turn runs.
    Idle,
}

/// What kind of process holds sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Answers one prompt and exits.
    Headless,
    /// Reads prompts from a stream or a protocol until that ends.
    Piped,
    /// A person types into it.
    Interactive,
    /// Runs for the agent's own supervisor, which starts it again when it dies.
    Background,
    /// Serves many sessions, and others' too.
    Server,
}

/// The live process that has a session loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Which process.
    pub key: ProcKey,
    /// When it started, on the wall clock.
    pub since: Timestamp,
    /// What kind of process; `None` where neither it nor the agent's records say.
    pub role: Option<Role>,
    /// It serves other sessions too: never signal it.
    pub shared: bool,
    /// A signal halted it: it does nothing until it is told to go on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub halted: bool,
    /// The trail that led to it.
    pub trail: Source,
    /// What it says it is doing, and where.
    pub says: Option<(Say, Source)>,
}

/// A live process of the agent that left no trail and may hold the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspect {
    /// Which process.
    pub key: ProcKey,
    /// When it started.
    pub since: Timestamp,
    /// It was asked and did not answer, in these words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent: Option<String>,
    /// What speaks for it.
    pub ground: Ground,
}

/// Why a process may hold a session though no trail leads from one to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Ground {
    /// It may have written to it.
    Wrote,
    /// Its arguments named it once.
    Named,
    /// It may have gone on with what was the newest of its directory, and not have written since.
    Resumed,
    /// It has a claim of which nothing can be read.
    Untold,
}

/// Whether the tool of a pending call runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tool {
    /// Nobody needed to know.
    NotAsked,
    /// A process runs it, and carries its variable.
    Runs(Source),
    /// No descendant of the holder runs it.
    Absent(Source),
    /// The environment of some descendant could not be read.
    CannotTell(String),
}

/// Everything known of one session at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Which agent's it is.
    pub agent: String,
    /// Its native id; `None` while its process has named none.
    pub id: Option<String>,
    /// What the store says.
    pub record: Reading,
    /// Live processes that have it loaded.
    pub holders: Vec<Holder>,
    /// Claims whose process is gone.
    pub lost: Vec<Source>,
    /// Live processes that may hold it.
    pub suspects: Vec<Suspect>,
    /// How it was seen that nobody holds it.
    pub absence: Option<Source>,
    /// Why the agent's live processes could not all be read.
    pub blind: Option<String>,
    /// Whether the tool of a pending call runs.
    pub tool: Tool,
    /// When we stopped a process that had it loaded, and our receipt of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<(Timestamp, Source)>,
    /// The live process that we launched with a prompt for it and an open input, and what shows that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompted: Option<(ProcKey, Source)>,
    /// The last line that our launch of it printed says that its prompt was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Source>,
}

impl Evidence {
    /// Nothing is known of a session.
    pub fn none(agent: &str, id: Option<String>) -> Self {
        Self {
            agent: agent.to_owned(),
            id,
            record: Reading::Absent,
            holders: Vec::new(),
            lost: Vec::new(),
            suspects: Vec::new(),
            absence: None,
            blind: None,
            tool: Tool::NotAsked,
            stop: None,
            prompted: None,
            answered: None,
        }
    }
}
