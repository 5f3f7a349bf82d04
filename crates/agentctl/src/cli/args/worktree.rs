//! Words of worktrees, and of what sessions changed in them.

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use std::path::PathBuf;

/// The worktree that a launch is given.
#[derive(Debug, Args)]
pub(in crate::cli) struct InTree {
    /// Work in a new git worktree of this repository; --cwd then names a directory of it
    #[arg(long, value_name = "REPO")]
    pub(in crate::cli) worktree: Option<PathBuf>,
    /// Branch of the worktree, new or checked out nowhere; without it, try/NAME-xxxxxx
    #[arg(long, requires = "worktree", value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) branch: Option<String>,
    /// What a new branch starts from: a branch (a remote's too), a tag or a commit; without it, what is
    /// checked out
    #[arg(long, value_name = "BASE", value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) base_branch: Option<String>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Worktree {
    #[command(subcommand)]
    pub(in crate::cli) what: Trees,
}

impl Worktree {
    pub(in crate::cli) fn wants_json(&self) -> bool {
        match &self.what {
            Trees::List(args) => args.json,
            Trees::Clean(args) => args.json,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Trees {
    /// List worktrees, the sessions in them, and the work that lies there
    #[command(visible_alias = "ls")]
    List(ListTrees),
    /// Remove worktrees that can be proved safe, and show each proof
    ///
    /// Nothing is removed that a process uses, and nothing that is only there: changes, untracked files,
    /// ignored files that no tool makes again, commits that nothing else leads to.
    Clean(Clean),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ListTrees {
    /// A directory of the repository; without it, where you are
    #[arg(value_name = "REPO")]
    pub(in crate::cli) repo: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Clean {
    /// Worktrees by their paths, by their sessions, or by groups of those
    #[arg(value_name = "PATH|ID|GROUP", required = true)]
    pub(in crate::cli) targets: Vec<String>,
    /// Only worktrees of this repository
    #[arg(long, value_name = "REPO")]
    pub(in crate::cli) repo: Option<PathBuf>,
    /// Delete the branch too, if its commits are kept elsewhere
    #[arg(long)]
    pub(in crate::cli) delete_branch: bool,
    /// Show the proofs and what would be removed, and remove nothing
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
    /// Also where work is lost: says what, and asks; never under a live process
    #[arg(long)]
    pub(in crate::cli) force: bool,
    /// With --force: do not ask
    #[arg(short, long, requires = "force")]
    pub(in crate::cli) yes: bool,
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Diff {
    /// Id or a prefix of it, or ID@DIR
    #[arg(value_name = "ID")]
    pub(in crate::cli) id: String,
    /// Only how much of each file
    #[arg(long)]
    pub(in crate::cli) stat: bool,
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Compare {
    /// Which group
    #[arg(value_name = "GROUP", value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) group: String,
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}
