//! Which dialect a request is in, and the way to its module.

use serde::Serialize;
use serde_json::Value;

use super::{anthropic, chat, gemini, responses};
use crate::model::answer::{Answer, Cue};
use crate::model::conversation::Conversation;

/// A model API, by the shape of its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// `POST …/messages` (Claude Code).
    Anthropic,
    /// `POST …/responses` (Codex).
    Responses,
    /// `POST …/chat/completions` (OpenCode, Pi, OpenClaw, Copilot).
    Chat,
    /// `POST …/models/NAME:generateContent` and `:streamGenerateContent` (Gemini CLI).
    Gemini,
}

impl Dialect {
    /// The dialect of a call to `path`; `None` when that path does not ask for an answer.
    pub(crate) fn of(path: &str) -> Option<Dialect> {
        let ends = |tail| path.ends_with(tail);
        if ends("/messages") {
            Some(Dialect::Anthropic)
        } else if ends("/responses") {
            Some(Dialect::Responses)
        } else if ends("/chat/completions") {
            Some(Dialect::Chat)
        } else if ends(":generateContent") || ends(":streamGenerateContent") {
            Some(Dialect::Gemini)
        } else {
            None
        }
    }

    /// What the body of a call to `path` says.
    pub(crate) fn read(self, path: &str, body: &Value) -> Conversation {
        match self {
            Dialect::Anthropic => anthropic::read(body),
            Dialect::Responses => responses::read(body),
            Dialect::Chat => chat::read(body),
            Dialect::Gemini => gemini::read(path, body),
        }
    }

    /// The answer as a stream of server-sent events.
    pub(crate) fn stream(self, answer: &Answer) -> Vec<Cue> {
        match self {
            Dialect::Anthropic => anthropic::stream(answer),
            Dialect::Responses => responses::stream(answer),
            Dialect::Chat => chat::stream(answer),
            Dialect::Gemini => gemini::stream(answer),
        }
    }

    /// The answer in one piece, with its HTTP status.
    pub(crate) fn whole(self, answer: &Answer) -> (u16, Value) {
        match self {
            Dialect::Anthropic => anthropic::whole(answer),
            Dialect::Responses => responses::whole(answer),
            Dialect::Chat => chat::whole(answer),
            Dialect::Gemini => gemini::whole(answer),
        }
    }

    /// The body of an HTTP error.
    pub(crate) fn error(self, status: u16, message: &str) -> Value {
        match self {
            Dialect::Anthropic => anthropic::error(status, message),
            Dialect::Responses | Dialect::Chat => chat::error(status, message),
            Dialect::Gemini => gemini::error(status, message),
        }
    }
}
