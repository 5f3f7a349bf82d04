//! Figures for Prometheus: what was seen and what was counted, as text, and who may read it. Keeps nothing
//! but counts, which begin anew with each process, as Prometheus expects.

mod counters;
mod page;
mod serve;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use counters::Counters;
pub(crate) use page::page;
pub(crate) use serve::{bind, serve};
