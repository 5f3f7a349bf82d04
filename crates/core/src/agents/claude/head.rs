//! What the beginning of a transcript tells.

use super::transcript::{first_text, is_interruption, is_noise};
use crate::{agents::json::Part, lines, text};
use jiff::Timestamp;
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
    pub(super) fn newer(&mut self, value: &Part<'_>, size: u64) {
        self.started = self.started.or_else(|| value.time("timestamp"));
        self.cwd = self.cwd.take().or_else(|| value.path("cwd"));
        self.version = self.version.take().or_else(|| value.string("version"));
        let prompt = match value.text("type") {
            Some("user") if !value.flag("isMeta") => {
                first_text(value.get("message").get("content"))
            }
            Some("queue-operation") => value.text("content"),
            _ => None,
        };
        let prompt = prompt.filter(|text| !is_noise(text) && !is_interruption(text));
        let prompt = prompt.and_then(text::excerpt).or_else(|| {
            let long = value.text("type") == Some("user") && size > lines::LIMIT as u64;
            long.then(|| format!("(a prompt of {size} bytes)"))
        });
        self.prompt = self.prompt.take().or(prompt);
    }
}
