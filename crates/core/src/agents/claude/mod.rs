//! Claude Code: one transcript a session, one registry file a running process.
//!
//! Facts and their sources: `docs/agents/claude-code.md`.

mod adapter;
mod fork;
mod head;
mod known;
mod launch;
mod messages;
mod picks;
mod registry;
mod signs;
mod store;
mod transcript;
mod usage;

pub(super) use adapter::Claude;
