//! Git repositories and their worktrees, through the `git` command: what is there, and new worktrees.
//!
//! The command is never run through a shell, never asks, and takes no lock for a mere look. Nothing
//! that a repository brings along is run: no hook, no file system monitor, no diff program. Only the
//! filters of the user's own configuration are, since files are not what they are without them.

mod add;
mod base;
mod command;
mod diff;
mod inside;
mod names;
mod remove;
mod repo;
#[cfg(test)]
mod tests;
mod trees;
mod work;

pub(crate) use add::{NewTree, Tree};
pub(crate) use diff::{Binary, Sides};
pub(crate) use inside::{
    Inside, inside, is_also_in, is_link, is_made_again, put_away_work, submodule_work,
};
pub(crate) use names::place;
pub(crate) use remove::Removal;
pub(crate) use repo::{Repo, head};
pub(crate) use trees::Listed;
pub(crate) use work::{
    Files, Keep, Look, Only, commits, files, has_remotes, operation, own_dir, own_dir_of, own_refs,
    reflog, staged, stashed,
};
