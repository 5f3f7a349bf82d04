//! The command line: words in, a call of `ops`, the answer to `view`.

mod args;
mod attach;
mod completions;
mod decide;
mod doctor;
mod events;
mod explain;
mod launch;
mod list;
mod locks;
mod logs;
mod man;
mod prune;
mod run;
mod send;
mod status;
mod stop;
mod wait;

pub(crate) use run::main;
