//! Pi: one JSONL tree a session, and a process that erases its arguments and keeps no file open.
//!
//! Facts are of 0.73.1 (`@mariozechner/pi-coding-agent`) and 1.5.0 (`@earendil-works/pi-coding-agent`).

mod adapter;
pub(in crate::agents) mod entries;
mod known;
mod launch;
pub(in crate::agents) mod messages;
mod store;
mod transcript;

pub(super) use adapter::Pi;
