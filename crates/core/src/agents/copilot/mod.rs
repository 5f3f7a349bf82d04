//! GitHub Copilot CLI: one folder a session, with its events and one kernel lock a process that has it.
//!
//! The smallest adapter, and the one to copy: `docs/agents/ADDING.md`. Facts and their sources:
//! `docs/agents/copilot.md`.

mod adapter;
mod events;
mod known;
mod launch;
mod messages;
mod store;

pub(super) use adapter::Copilot;
