//! Gemini CLI: one file a session, below a folder a directory; no trail to its process but its arguments.
//!
//! Facts and their sources: `docs/agents/gemini.md`.

mod adapter;
mod chat;
mod known;
mod launch;
mod messages;
mod store;
mod usage;

pub(super) use adapter::Gemini;
