//! What `worktree list` and `worktree clean` answer, and the worktree that a launch is given.

use super::{Problem, StateName};
use jiff::Timestamp;
use serde::Serialize;
use std::path::PathBuf;

/// A worktree that was made for a launch, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NewWorktree {
    /// Where.
    #[serde(serialize_with = "crate::text::path")]
    pub path: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The branch is new too.
    pub created_branch: bool,
    /// The commit that it starts from.
    pub base: String,
    /// The main worktree of its repository.
    #[serde(serialize_with = "crate::text::path")]
    pub repo: PathBuf,
    /// What the person should know of it.
    pub notes: Vec<String>,
}

/// What `worktree list` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Worktrees {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// The main worktree of the repository.
    #[serde(serialize_with = "crate::text::path")]
    pub repo: PathBuf,
    /// Every worktree, the main one first.
    pub worktrees: Vec<Worktree>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// One worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Worktree {
    /// Where.
    #[serde(serialize_with = "crate::text::path")]
    pub path: PathBuf,
    /// Its branch; absent where a commit is checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit that is checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// It is the main one, which holds the repository.
    pub main: bool,
    /// `git worktree lock` holds it, for that reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked: Option<String>,
    /// Git would forget it, for that reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prunable: Option<String>,
    /// What git is in the middle of, such as a rebase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// How many files that git knows were changed; absent where that cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<u64>,
    /// How many files git does not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untracked: Option<u64>,
    /// How many commits no remote has; absent where there is no remote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unpushed: Option<u64>,
    /// How many commits are on no other branch, on no remote and under no tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_here: Option<u64>,
    /// Sessions that work or worked in it.
    pub sessions: Vec<AtWork>,
}

/// A session that works or worked in a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AtWork {
    /// The agent's own id; absent while a live process has named none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Which agent.
    pub agent: String,
    /// What it is doing, or how it ended.
    pub state: StateName,
    /// A live process has it loaded.
    pub live: bool,
    /// That process, where one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// When it last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

/// What `worktree clean` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cleaning {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// Nothing was removed: this is what would be.
    pub dry_run: bool,
    /// Each worktree that was meant.
    pub worktrees: Vec<Cleaned>,
    /// What was asked for and is no worktree, or could not be looked at.
    pub refused: Vec<super::Unstopped>,
}

/// What became of one worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cleaned {
    /// Where it is, or was.
    #[serde(serialize_with = "crate::text::path")]
    pub path: PathBuf,
    /// Its branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// It is gone, or with `dry_run` would be.
    pub removed: bool,
    /// Its branch is gone, or with `dry_run` would be.
    pub branch_deleted: bool,
    /// It was removed although work is lost, as somebody insisted.
    pub forced: bool,
    /// What was looked at, line by line.
    pub proofs: Vec<CleanProof>,
    /// Why it is still there, where no proof says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// One thing that must hold before a worktree is removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CleanProof {
    /// What was looked at.
    pub check: Check,
    /// Whether it holds.
    pub verdict: Verdict,
    /// What was seen, in words.
    pub fact: String,
    /// What would be lost, or stands in the way, one by one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
}

/// Whether a worktree can go, as far as one check tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing is lost.
    Safe,
    /// Something would be lost, or nobody can tell; `--force` goes on.
    Lost,
    /// It is not done, whoever insists.
    Never,
}

/// What is looked at before a worktree is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// It is not the main worktree.
    Main,
    /// Nobody locked it.
    Locked,
    /// No process works in it.
    Processes,
    /// No session works in it.
    Sessions,
    /// Git is in the middle of nothing.
    Operation,
    /// Nothing is uncommitted.
    Changes,
    /// No file is there that git does not know.
    Untracked,
    /// No file is there that git ignores and nobody can make again.
    Ignored,
    /// No other repository or worktree is inside.
    Nested,
    /// Nothing is only in a submodule.
    Submodules,
    /// No commit becomes unreachable.
    Commits,
    /// Stashed changes stay.
    Stash,
}

impl Check {
    /// Its word on a screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Locked => "locked",
            Self::Processes => "processes",
            Self::Sessions => "sessions",
            Self::Operation => "operation",
            Self::Changes => "changes",
            Self::Untracked => "untracked",
            Self::Ignored => "ignored",
            Self::Nested => "nested",
            Self::Submodules => "submodules",
            Self::Commits => "commits",
            Self::Stash => "stash",
        }
    }
}
