//! OpenClaw: agents that run inside a gateway. While it lives it alone knows what runs; its stores
//! tell the rest, and what became of it once it is gone.
//!
//! Facts are of 2026.9.6 (SQLite) and 2026.6.11 (files).

mod adapter;
mod config;
mod control;
mod counted;
mod database;
mod entry;
mod files;
mod gateway;
mod known;
mod launch;
mod lock;
mod store;
mod transcript;

pub(super) use adapter::OpenClaw;
