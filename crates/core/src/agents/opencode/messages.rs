//! Parts of messages as people read them.

use crate::{
    agent::{Message, Speaker},
    agents::json,
};
use jiff::Timestamp;
use serde_json::Value;

/// A part of a message, or the error it ended in, and when it was written.
pub(super) struct Piece {
    by_user: bool,
    body: Value,
    created: u64,
    updated: u64,
}

impl Piece {
    /// A part, made and last written at these moments.
    pub(super) fn part(message: &Value, body: Value, (created, updated): (u64, u64)) -> Self {
        Self { by_user: json::text(message, "role") == Some("user"), body, created, updated }
    }

    /// The error that a message ended in.
    pub(super) fn error(message: &Value, at: u64) -> Option<Self> {
        let error = message.get("error").filter(|error| error.is_object())?;
        let body = serde_json::json!({ "type": "error", "error": error });
        Some(Self { by_user: false, body, created: at, updated: at })
    }

    /// What it says that was not said by then. A part is written anew whenever there is more of it:
    /// each of its sayings counts once, when it is whole.
    fn says(&self, by: Option<u64>) -> Vec<Message> {
        let new = |at: u64| by.is_none_or(|by| at > by);
        let text = || json::text(&self.body, "text").unwrap_or_default();
        let whole = self.body["time"].get("end").is_some();
        if !new(self.updated) {
            return Vec::new();
        }
        match json::text(&self.body, "type") {
            Some("text") if self.by_user => match new(self.created) {
                true if !json::flag(&self.body, "synthetic") => {
                    vec![self.message(Speaker::User, text())]
                }
                true | false => Vec::new(),
            },
            Some("text") if whole => vec![self.message(Speaker::Assistant, text())],
            Some("reasoning") if whole => vec![self.message(Speaker::Thinking, text())],
            Some("tool") => self.tool(new),
            Some("compaction") => vec![self.message(Speaker::System, "conversation compacted")],
            Some("error") => vec![self.fault()],
            _ => Vec::new(),
        }
    }

    fn tool(&self, new: impl Fn(u64) -> bool) -> Vec<Message> {
        let (state, time) = (&self.body["state"], &self.body["state"]["time"]);
        let tool = json::string(&self.body, "tool");
        let mut said = Vec::new();
        if new(json::count(time, "start")) && json::text(state, "status") != Some("pending") {
            let call = self.at(json::millis(time, "start"), Speaker::Call, &call(&state["input"]));
            said.push(Message { tool, ..call });
        }
        // Long after its end a result may be forgotten to save room: that is nothing new.
        let failed = json::text(state, "status") == Some("error");
        let result = json::text(state, if failed { "error" } else { "output" });
        if let (Some(result), None) = (result, time.get("compacted")) {
            let result = self.at(json::millis(time, "end"), Speaker::Result, result);
            said.push(Message { failed, ..result });
        }
        said
    }

    fn fault(&self) -> Message {
        let error = &self.body["error"];
        let name = json::text(error, "name").unwrap_or("error");
        match name {
            "MessageAbortedError" => self.message(Speaker::System, "interrupted"),
            _ => {
                let words = json::text(&error["data"], "message").unwrap_or(name);
                Message { failed: true, ..self.message(Speaker::System, words) }
            }
        }
    }

    fn message(&self, speaker: Speaker, text: &str) -> Message {
        let at = json::millis(&self.body["time"], "start");
        self.at(at, speaker, text)
    }

    fn at(&self, at: Option<Timestamp>, speaker: Speaker, text: &str) -> Message {
        let made = || Timestamp::from_millisecond(i64::try_from(self.created).ok()?).ok();
        Message { at: at.or_else(made), speaker, tool: None, failed: false, text: text.to_owned() }
    }
}

/// What these pieces say that was not said by then, and the moment up to which all was said.
pub(super) fn of(pieces: &[Piece], by: Option<u64>) -> (Vec<Message>, u64) {
    let said = pieces.iter().flat_map(|piece| piece.says(by)).collect();
    (said, pieces.iter().map(|piece| piece.updated).max().unwrap_or(0))
}

/// The command of a call, else its arguments as they are.
fn call(input: &Value) -> String {
    json::string(input, "command").unwrap_or_else(|| input.to_string())
}
