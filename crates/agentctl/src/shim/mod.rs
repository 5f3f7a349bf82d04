//! The agent's parent: it outlives everyone, waits for the agent, and writes down how it ended.

mod hooks;
mod orders;
mod run;
mod stops;

pub(crate) use hooks::Errand;
pub(crate) use orders::{Orders, Report};
pub(crate) use run::{Stage, beginning, run, told};
pub(crate) use stops::stopped;
