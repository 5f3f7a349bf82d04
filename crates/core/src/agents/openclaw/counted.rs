//! A transcript of which every entry is seen: most are passed over, and only what is wanted is taken apart.

use super::transcript::{GLANCED, SAID, Transcript};
use crate::{
    agents::{
        json::{self, Part, Pick, Words},
        pi::entries::{self, USAGE},
    },
    proof::Source,
    text,
};
use serde_json::Value;

/// How many bytes of answers are held before the last of them is read.
const HELD: usize = 256 << 10;

/// An entry without any of these tells nothing but that a turn goes on.
static TELLING: Words<5> =
    Words::any(["\"usage\"", "\"assistant\"", "\"user\"", "\"session\"", "\"model_change\""]);

/// What the entries seen so far tell.
pub(super) struct Counted<'s> {
    said: Transcript,
    /// What shows the newest turn, where the transcript alone tells it.
    turn: Option<&'s Source>,
    unread: Unread,
}

impl<'s> Counted<'s> {
    /// Nothing yet.
    pub(super) fn new(turn: Option<&'s Source>) -> Self {
        Self { said: Transcript::counted(), turn, unread: Unread::default() }
    }

    /// Takes in the next newer entry.
    pub(super) fn newer(&mut self, entry: &[u8]) {
        if let Some(shown) = self.turn {
            return self.said.newer(&taken_apart(entry), shown.clone());
        }
        if TELLING.place(entry).is_none() {
            return;
        }
        let Some(parts) = json::sound_parts(entry, COUNTED) else {
            self.settle();
            return self.said.newer(&taken_apart(entry), Source::Blind);
        };
        let message = parts.get("message");
        match parts.text("type") {
            Some("session" | "model_change") => {
                self.said.newer(&json::some_of(entry, GLANCED), Source::Blind);
            }
            Some("message") if may_speak(message) => match message.text("role") {
                Some("user") if self.said.prompt.is_none() => self.said.prompt = spoken(entry),
                Some("assistant") => self.answer(entry),
                _ => {}
            },
            _ => {}
        }
        self.said.spend(entries::billed(&parts));
    }

    /// Takes in an answer, which is the last unless another follows.
    fn answer(&mut self, entry: &[u8]) {
        self.unread.push(entry);
        if self.unread.bytes.len() > HELD {
            self.settle();
        }
    }

    fn settle(&mut self) {
        self.said.last = self.unread.last().or(self.said.last.take());
        self.unread = Unread::default();
    }

    /// All that was told.
    pub(super) fn told(mut self) -> Transcript {
        self.settle();
        self.said
    }
}

/// Entries that may be the last to say something.
#[derive(Default)]
struct Unread {
    bytes: Vec<u8>,
    /// Where each begins.
    starts: Vec<usize>,
}

impl Unread {
    fn push(&mut self, entry: &[u8]) {
        self.starts.push(self.bytes.len());
        self.bytes.extend_from_slice(entry);
    }

    /// The last thing that is said.
    fn last(&self) -> Option<String> {
        let ends = self.starts.iter().skip(1).copied().chain([self.bytes.len()]);
        let mut entries = self.starts.iter().zip(ends.collect::<Vec<_>>()).rev();
        entries.find_map(|(start, end)| spoken(&self.bytes[*start..end]))
    }
}

/// A message has a text, which may be empty.
fn may_speak(message: &Part<'_>) -> bool {
    match message.get("content") {
        Part::List(parts) => parts.iter().any(|part| part.text("type") == Some("text")),
        Part::Other(value) => value.is_string(),
        Part::Text(_) => true,
        Part::Count(_) | Part::Object(_) => false,
    }
}

/// What a sound entry says.
fn spoken(entry: &[u8]) -> Option<String> {
    static SPOKEN: &[Pick] = &[Pick::Within("message", &[Pick::Each("content", SAID)])];
    let said = entries::said(&json::some_of(entry, SPOKEN)["message"]);
    said.as_deref().and_then(text::excerpt)
}

/// An entry as far as it is counted: what a tool answered is most of a transcript, and not asked for.
fn taken_apart(entry: &[u8]) -> Value {
    let light = json::light(entry, RESULT);
    let role = json::text(&light["message"], "role");
    match json::text(&light, "type") == Some("message") && role == Some("toolResult") {
        true => light,
        false => json::some_of(entry, ALL),
    }
}

/// What is looked at of an entry whose turn is told elsewhere; what it says is read only where that is wanted.
static COUNTED: &[Pick] = &[
    Pick::Field("type"),
    Pick::Within("usage", USAGE),
    Pick::Within(
        "message",
        &[
            Pick::Field("role"),
            Pick::Each("content", &[Pick::Field("type")]),
            Pick::Within("usage", USAGE),
        ],
    ),
];

/// What is looked at of what a tool answered.
static RESULT: &[Pick] = &[
    Pick::Field("type"),
    Pick::Field("timestamp"),
    Pick::Within(
        "message",
        &[
            Pick::Field("role"),
            Pick::Within("openclawAbort", &[Pick::Field("aborted")]),
            Pick::Within("usage", USAGE),
        ],
    ),
];

/// All that is looked at of an entry.
static ALL: &[Pick] = &[
    Pick::Field("type"),
    Pick::Field("timestamp"),
    Pick::Field("cwd"),
    Pick::Field("modelId"),
    Pick::Within("usage", USAGE),
    Pick::Within(
        "message",
        &[
            Pick::Field("role"),
            Pick::Field("stopReason"),
            Pick::Field("errorMessage"),
            Pick::Field("durationMs"),
            Pick::Within("openclawAbort", &[Pick::Field("aborted")]),
            Pick::Each("content", SAID),
            Pick::Within("usage", USAGE),
        ],
    ),
];

#[cfg(test)]
mod tests;
