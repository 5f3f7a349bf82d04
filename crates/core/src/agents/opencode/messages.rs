//! Parts of messages as people read them.

use super::cursor::{self, Saying};
use crate::{
    agent::{Message, Speaker},
    agents::json,
};
use jiff::Timestamp;
use serde_json::Value;

/// A part of a message, or the error it ended in.
pub(super) struct Piece {
    /// Whose it is, for good.
    id: String,
    by_user: bool,
    body: Value,
    /// When it was made, in milliseconds since 1970.
    created: u64,
    /// When it was last written.
    written: u64,
}

impl Piece {
    /// A part of a message, made and last written at these moments.
    pub(super) fn part(
        message: &Value,
        id: &str,
        body: Value,
        (created, written): (u64, u64),
    ) -> Self {
        let by_user = json::text(message, "role") == Some("user");
        Self { id: id.to_owned(), by_user, body, created, written }
    }

    /// The error that a message of this name ended in, if it was last written at this moment.
    pub(super) fn error(message: &Value, id: &str, written: u64) -> Option<Self> {
        let error = message.get("error").filter(|error| error.is_object())?;
        let body = serde_json::json!({ "type": "error", "error": error });
        let created = message["time"].get("completed").and_then(Value::as_u64).unwrap_or(written);
        Some(Self { id: id.to_owned(), by_user: false, body, created, written })
    }

    /// What it says. A part is written anew whenever there is more of it: each of its sayings counts
    /// when it is whole.
    fn says(&self) -> Vec<Saying> {
        let text = || json::text(&self.body, "text").unwrap_or_default();
        let end = self.body["time"].get("end").map(|end| end.as_u64().unwrap_or(self.written));
        let one = |at, speaker, text: &str| vec![self.saying(at, 0, self.message(speaker, text))];
        match (json::text(&self.body, "type"), end) {
            (Some("text"), _) if self.by_user => match json::flag(&self.body, "synthetic") {
                true => Vec::new(),
                false => one(self.created, Speaker::User, text()),
            },
            (Some("text"), Some(end)) => one(end, Speaker::Assistant, text()),
            (Some("reasoning"), Some(end)) => one(end, Speaker::Thinking, text()),
            (Some("tool"), _) => self.tool(),
            (Some("compaction"), _) => one(self.created, Speaker::System, "conversation compacted"),
            (Some("error"), _) => vec![self.saying(self.created, 0, self.fault())],
            _ => Vec::new(),
        }
    }

    fn tool(&self) -> Vec<Saying> {
        let (state, time) = (&self.body["state"], &self.body["state"]["time"]);
        let tool = json::string(&self.body, "tool");
        let moment = |key: &str| time.get(key).and_then(Value::as_u64).unwrap_or(self.written);
        let mut said = Vec::new();
        if json::text(state, "status") != Some("pending") {
            let call = self.at(json::millis(time, "start"), Speaker::Call, &call(&state["input"]));
            said.push(self.saying(moment("start"), 0, Message { tool, ..call }));
        }
        // Long after its end a result may be forgotten to save room: that is nothing new.
        let failed = json::text(state, "status") == Some("error");
        let result = json::text(state, if failed { "error" } else { "output" });
        if let (Some(result), None) = (result, time.get("compacted")) {
            let result = self.at(json::millis(time, "end"), Speaker::Result, result);
            said.push(self.saying(moment("end"), 1, Message { failed, ..result }));
        }
        said
    }

    fn saying(&self, at: u64, which: u8, message: Message) -> Saying {
        Saying { at, key: cursor::key(&self.id, which), message }
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

/// What these pieces say.
pub(super) fn of(pieces: &[Piece]) -> Vec<Saying> {
    pieces.iter().flat_map(Piece::says).collect()
}

/// The command of a call, else its arguments as they are.
fn call(input: &Value) -> String {
    json::string(input, "command").unwrap_or_else(|| input.to_string())
}
