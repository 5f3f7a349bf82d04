//! How answers look: tables and pages for people, JSON for programs. The only room that prints.

pub(crate) mod budgets;
mod columns;
pub(crate) mod compare;
pub(crate) mod config;
pub(crate) mod control;
pub(crate) mod daemon;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod fuses;
pub(crate) mod hooks;
mod json;
pub(crate) mod launch;
pub(crate) mod locks;
pub(crate) mod logs;
mod notes;
mod paint;
pub(crate) mod prune;
pub(crate) mod status;
pub(crate) mod table;
pub(crate) mod webhooks;
mod words;
pub(crate) mod worktree;

pub(crate) use json::{json, raw, version};
pub(crate) use notes::{
    note, nothing_alive, nothing_matches, orphans, problems, refusal, report, report_bug, warning,
};
