//! `cargo xtask bench`: what agentctl's reads cost, as multiples of yardsticks taken in the same run.
//!
//! A home of many sessions is generated (the same for the same parameters), a few live ones with
//! real processes are added, and the release binary is run over it, interleaved with a hello-world
//! process, a walk over `/proc` and `find`. Then a watcher is timed from a fact to its line. It reports;
//! no figure makes it fail.

mod ask;
mod chance;
mod claude;
mod codex;
mod events;
mod home;
mod live;
mod measure;
mod plan;
mod programs;
mod prose;
mod report;
mod rounds;
mod run;
mod sink;
mod time;

pub(crate) use run::run;
