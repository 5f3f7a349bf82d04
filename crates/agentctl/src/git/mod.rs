//! Git repositories and their worktrees, through the `git` command: what is there, and new worktrees.
//!
//! The command is never run through a shell, never asks, and takes no lock for a mere look. Nothing
//! that a repository brings along is run: no hook, no file system monitor, no diff program. Only the
//! filters of the user's own configuration are, since files are not what they are without them.

mod add;
mod base;
mod command;
mod names;
mod repo;
#[cfg(test)]
mod tests;
mod trees;

pub(crate) use add::{NewTree, Tree};
pub(crate) use repo::{Repo, head};
