//! The agent's parent: it outlives everyone, waits for the agent, and writes down how it ended.

mod orders;
mod run;

pub(crate) use crate::write::{make_dir, whole};
pub(crate) use orders::{Orders, Report};
pub(crate) use run::{STAGES, run};
