//! Codex CLI: one rollout file a thread, one kernel lock a loaded thread.
//!
//! Facts and their sources: `docs/agents/codex.md`.

mod adapter;
mod control;
mod known;
mod launch;
mod messages;
mod rollout;
mod store;

pub(super) use adapter::Codex;
