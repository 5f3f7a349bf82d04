//! What the beginning of a transcript tells.

use super::transcript::{is_interruption, is_noise, said};
use crate::{agents::json, lines, text};
use jiff::Timestamp;
use serde_json::Value;
use std::path::PathBuf;

/// What its first lines have told so far.
#[derive(Default)]
pub(super) struct Head {
    pub(super) started: Option<Timestamp>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) prompt: Option<String>,
    pub(super) version: Option<String>,
}

impl Head {
    /// Nothing more is looked for.
    pub(super) fn is_full(&self) -> bool {
        self.started.is_some() && self.cwd.is_some() && self.prompt.is_some()
    }

    /// Takes in the next line.
    pub(super) fn newer(&mut self, value: &Value, size: u64) {
        self.started = self.started.or_else(|| json::time(value, "timestamp"));
        self.cwd = self.cwd.take().or_else(|| json::path(value, "cwd"));
        self.version = self.version.take().or_else(|| json::string(value, "version"));
        let prompt = match json::text(value, "type") {
            Some("user") if !json::flag(value, "isMeta") => said(&value["message"]["content"]),
            Some("queue-operation") => json::text(value, "content"),
            _ => None,
        };
        let prompt = prompt.filter(|text| !is_noise(text) && !is_interruption(text));
        let prompt = prompt.and_then(text::excerpt).or_else(|| {
            let long = json::text(value, "type") == Some("user") && size > lines::LIMIT as u64;
            long.then(|| format!("(a prompt of {size} bytes)"))
        });
        self.prompt = self.prompt.take().or(prompt);
    }
}
