//! `cargo xtask bench`: what agentctl's reads cost, as multiples of yardsticks taken in the same run.
//!
//! A home of many sessions of all agents is generated (the same for the same parameters), a few live
//! ones with real processes are added, and the release binary is run over it, interleaved with a
//! hello-world process, a walk over `/proc`, `find` and `rg`. Then a watcher is timed from a fact to its
//! line. It reports; no figure makes it fail: `cargo xtask counts` is for that.

mod ask;
mod chance;
mod daemon;
mod events;
mod formats;
mod home;
mod live;
mod measure;
mod order;
mod paper;
mod plan;
mod programs;
mod prose;
mod questions;
mod report;
mod rounds;
mod run;
mod sink;
mod standin;
#[cfg(test)]
mod tests;
mod time;
mod totals;

pub(crate) use run::run;
