//! A transcript, entry by entry: what was asked, said and spent.

use crate::{
    agents::{
        json::{self, Pick},
        pi::entries::{self, Step},
    },
    evidence::{Ending, Pending, Tokens, Turn},
    proof::Source,
    text,
};
use jiff::Timestamp;
use serde_json::Value;
use std::path::PathBuf;

/// What the entries seen so far tell.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    pub(super) cwd: Option<PathBuf>,
    pub(super) model: Option<String>,
    pub(super) started: Option<Timestamp>,
    pub(super) prompt: Option<String>,
    pub(super) last: Option<String>,
    pub(super) turn: Option<Turn>,
    /// Counted only where every entry is seen.
    pub(super) tokens: Option<Tokens>,
    pub(super) cost_usd: Option<f64>,
}

impl Transcript {
    /// One that will see every entry, and counts.
    pub(super) fn counted() -> Self {
        let (tokens, cost_usd) = (Some(Tokens::default()), Some(0.0));
        Self { tokens, cost_usd, ..Self::default() }
    }

    /// Takes in the next newer entry, which stands there.
    pub(super) fn newer(&mut self, entry: &Value, place: Source) {
        match json::text(entry, "type") {
            Some("session") => {
                self.cwd = json::path(entry, "cwd");
                self.started = json::time(entry, "timestamp");
            }
            Some("model_change") => self.model = json::string(entry, "modelId"),
            Some("message") => self.message(entry, place),
            _ => {}
        }
        self.spend(entries::spent(entry));
    }

    /// Adds what an entry was billed.
    pub(super) fn spend(&mut self, bill: Option<(Tokens, f64)>) {
        if let (Some(sum), Some((tokens, cost))) = (&mut self.tokens, bill) {
            sum.input = sum.input.saturating_add(tokens.input);
            sum.output = sum.output.saturating_add(tokens.output);
            sum.cache_read = sum.cache_read.saturating_add(tokens.cache_read);
            sum.cache_write = sum.cache_write.saturating_add(tokens.cache_write);
            self.cost_usd = self.cost_usd.map(|sum| sum + cost);
        }
    }

    fn message(&mut self, entry: &Value, line: Source) {
        let Some(message) = entries::message(entry) else { return };
        let said = || entries::said(message).as_deref().and_then(text::excerpt);
        match json::text(message, "role") {
            Some("user") if self.prompt.is_none() => self.prompt = said(),
            Some("assistant") => self.last = said().or(self.last.take()),
            _ => {}
        }
        let at = json::time(entry, "timestamp").unwrap_or_default();
        let aborted = json::flag(&message["openclawAbort"], "aborted");
        let ended = |how| Turn::Ended { at, how, line: line.clone() };
        let turn = match entries::step(entry) {
            Some(_) if aborted => ended(Ending::Interrupted),
            Some(Step::Ended(how)) => ended(how),
            Some(Step::Failed(why)) => ended(Ending::Failed(why)),
            Some(Step::Open) => Turn::Open { alive: at, pending: Pending::Nothing, line },
            None => return,
        };
        self.turn = Some(turn);
    }
}

/// All that is looked at of an entry, but what it was billed.
pub(super) static GLANCED: &[Pick] = &[
    Pick::Field("type"),
    Pick::Field("timestamp"),
    Pick::Field("cwd"),
    Pick::Field("modelId"),
    Pick::Within(
        "message",
        &[
            Pick::Field("role"),
            Pick::Field("stopReason"),
            Pick::Field("errorMessage"),
            Pick::Field("durationMs"),
            Pick::Within("openclawAbort", &[Pick::Field("aborted")]),
            Pick::Each("content", SAID),
        ],
    ),
];

/// What is looked at of each part of what was said.
pub(super) static SAID: &[Pick] = &[Pick::Field("type"), Pick::Field("text")];
