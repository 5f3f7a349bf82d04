//! Git repositories and their worktrees, through the `git` command: what is there, and new worktrees.
//!
//! The command is never run through a shell, never asks, fetches nothing, ends within a time, and takes no
//! lock for a mere look. Of what a repository brings along no hook, no file system monitor, no diff
//! program and no check of signatures is run. Only filters are, of the user's or the repository's
//! configuration (`.git/config`, which no clone brings along): files are not what they are without them.

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
    Inside, inside, is_also_in, is_link, is_made_again, put_away_work, submodule_work, weight,
};
pub(crate) use names::place;
pub(crate) use remove::Removal;
pub(crate) use repo::{Repo, head};
pub(crate) use trees::Listed;
pub(crate) use work::{
    Files, Keep, Look, Only, commits, files, has_remotes, operation, own_dir, own_dir_of, own_refs,
    reflog, staged, stashed,
};
