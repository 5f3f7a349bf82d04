//! What a chat says of its session, backwards from its end and from its first lines.
//!
//! A line is a message, the head, or a `$set` that replaces parts of the head or all messages. Calls
//! of tools are written down only once they have run (0.61): an empty answer is one of them, and an
//! answer with text may be one.

use crate::{
    agent::Stub,
    agents::json::{self, Pick},
    evidence::{Ending, Pending, Record, Turn},
    host::Bytes,
    lines::{self, Line},
    proof::Source,
    sheet::Sheet,
    text,
};
use serde_json::Value;
use std::{collections::HashSet, io};

/// What the program writes when a person interrupts it on a terminal.
pub(super) const CANCELLED: &str = "Request cancelled.";
const CONTEXT: &str = "<session_context>";
/// How many lines the beginning is searched for the first prompt.
const HEAD: usize = 60;
/// How far back the end is searched for what is only nice to know.
const TAIL: u64 = 256 << 10;

/// Reads the newest turn and what else stands near both ends.
pub(super) fn read(sheet: &Sheet<'_>, stub: &Stub) -> io::Result<Record> {
    let file = sheet.file()?;
    let mut tail = Tail::default();
    let size = file.size();
    lines::recent(file, &mut |line| {
        let far = size - line.at > TAIL;
        tail.older(stub, file, &line);
        let is_full = tail.last.is_some() && tail.model.is_some();
        tail.newest.is_some().then(|| lines::until(far || is_full))
    })?;
    let mut record = Record {
        model: tail.model,
        title: tail.title,
        last: tail.last,
        updated: tail.updated,
        ..Record::of(tail.newest.unwrap_or(Turn::None))
    };
    lines::head(file, HEAD, &mut |line| {
        begin(&mut record, &json::read(file, line, READ, DECISIVE));
        record.prompt.is_some()
    })?;
    Ok(record)
}

/// All that is read of a line.
static READ: &[Pick] = &[
    Pick::Field("type"),
    Pick::Field("id"),
    Pick::Field("timestamp"),
    Pick::Field("startTime"),
    Pick::Field("model"),
    Pick::Field("toolCalls"),
    Pick::Field("$rewindTo"),
    Pick::Each("content", &[Pick::Field("text")]),
    Pick::Within(
        "$set",
        &[
            Pick::Field("sessionId"),
            Pick::Field("summary"),
            Pick::Each("messages", &[Pick::Field("id")]),
        ],
    ),
];

/// What is read of a line that is too long to hold: whose it is, and when.
static DECISIVE: &[Pick] = &[
    Pick::Field("type"),
    Pick::Field("id"),
    Pick::Field("timestamp"),
    Pick::Field("model"),
    Pick::Within("$set", &[Pick::Field("sessionId"), Pick::Field("summary")]),
];

/// What an early line tells.
fn begin(record: &mut Record, line: &Value) {
    record.started = record.started.or_else(|| json::time(line, "startTime"));
    if json::text(line, "type") == Some("user") {
        record.prompt = said(&line["content"]).as_deref().and_then(text::excerpt);
    }
}

/// The program's own first message, which tells the model where it is.
pub(super) fn is_context(content: &Value) -> bool {
    json::text(&content[0], "text").is_some_and(|text| text.starts_with(CONTEXT))
}

/// The text of a message, without what the program itself put before it.
pub(super) fn said(content: &Value) -> Option<String> {
    let parts = || {
        let parts = content.as_array()?.iter().filter_map(|part| json::text(part, "text"));
        let own = parts.filter(|text| !text.starts_with(CONTEXT));
        Some(own.collect::<Vec<_>>().join("\n"))
    };
    content.as_str().map(str::to_owned).or_else(parts).filter(|text| !text.is_empty())
}

/// What a walk from the end has met so far.
#[derive(Default)]
struct Tail {
    newest: Option<Turn>,
    /// Messages that the program kept when it wrote all of them anew.
    kept: Option<HashSet<String>>,
    model: Option<String>,
    title: Option<String>,
    last: Option<String>,
    updated: Option<jiff::Timestamp>,
}

impl Tail {
    /// Takes in the next older line.
    fn older(&mut self, stub: &Stub, file: &dyn Bytes, line: &Line<'_>) {
        let value = json::read(file, line, READ, DECISIVE);
        self.updated = self.updated.or_else(|| json::time(&value, "timestamp"));
        if let Some(set) = value.get("$set") {
            self.title = self.title.take().or_else(|| json::string(set, "summary"));
            return self.rewritten(set);
        }
        if json::text(&value, "type") == Some("gemini") {
            self.model = self.model.take().or_else(|| json::string(&value, "model"));
            let said = || said(&value["content"]).as_deref().and_then(text::excerpt);
            self.last = self.last.take().or_else(said);
        }
        if self.newest.is_none() {
            self.newest = self.turn(&value, stub, line.at);
        }
    }

    /// A session is loaded under its id, then all its messages: those are the old ones. Otherwise it
    /// takes back what failed or was cancelled.
    fn rewritten(&mut self, set: &Value) {
        if set.get("sessionId").is_some() {
            self.kept = None;
        } else if let (Some(messages), None) = (set["messages"].as_array(), &self.kept) {
            let ids = messages.iter().filter_map(|message| json::string(message, "id"));
            self.kept = Some(ids.collect());
        }
    }

    /// The newest turn, if this line belongs to one.
    fn turn(&self, value: &Value, stub: &Stub, offset: u64) -> Option<Turn> {
        let id = json::string(value, "id").or_else(|| json::string(value, "$rewindTo"))?;
        let at = json::time(value, "timestamp").unwrap_or(stub.updated);
        let kept = self.kept.as_ref().map(|kept| kept.contains(&id));
        let line = Source::Line { path: stub.path.clone(), offset, shows: id, without: Vec::new() };
        let ended = |how| Some(Turn::Ended { at, how, line: line.clone() });
        let open = |pending| Some(Turn::Open { alive: at, pending, line: line.clone() });
        let text = said(&value["content"]);
        match (json::text(value, "type").unwrap_or("$rewindTo"), kept) {
            ("$rewindTo", _) => ended(Ending::Interrupted),
            ("info", _) if text.as_deref() == Some(CANCELLED) => ended(Ending::Interrupted),
            ("error", _) => {
                let why = text.unwrap_or_else(|| "error".to_owned());
                ended(Ending::Failed(text::one_line(&why)))
            }
            ("user", None) => open(Pending::Nothing),
            // A headless run writes no error: it takes its prompt back, and goes.
            ("user", Some(false)) => ended(Ending::Failed("the model gave no answer".to_owned())),
            ("gemini", _) if value.get("model").is_none() => None, // history written again
            ("gemini", _) => match value.get("toolCalls").is_none() && text.is_some() {
                true => ended(Ending::Completed),
                false => open(Pending::Unnamed),
            },
            _ => None,
        }
    }
}
