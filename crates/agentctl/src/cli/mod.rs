//! The command line: words in, a call of `ops`, the answer to `view`.

mod args;
mod attach;
mod budget;
mod completions;
mod config;
mod daemon;
mod decide;
mod diff;
mod doctor;
mod events;
mod explain;
mod fuse;
mod hook;
mod launch;
mod list;
mod locks;
mod logs;
mod man;
mod metrics;
mod prune;
mod quick;
mod run;
mod send;
mod status;
mod stop;
mod wait;
mod webhook;
mod worktree;

pub(crate) use run::main;
