//! What the events say of their session, backwards from their end and from their first lines.
//!
//! What Copilot calls a turn is one call of the model: one that asked for tools is followed by
//! another. Ours ends with a call that asked for none, with an `abort`, or with an error.

use super::store::{self, Workspace};
use crate::{
    agent::Stub,
    agents::json::{self, Pick, Word},
    evidence::{Ending, Pending, Record, Tokens, Turn},
    host::Bytes,
    lines::{self, Line},
    proof::Source,
    sheet::Sheet,
    tally::{Count, Reader, Writer},
    text,
};
use jiff::Timestamp;
use serde_json::Value;
use std::{collections::HashSet, io};

/// How many lines the beginning is searched for the first prompt.
const HEAD: usize = 60;

/// Reads the newest turn and what else stands near both ends.
pub(super) fn read(sheet: &Sheet<'_>, stub: &Stub) -> io::Result<Record> {
    let file = sheet.file()?;
    let mut tail = Tail::default();
    let place = |line: &Line<'_>| Place { stub, offset: line.at };
    lines::recent(file, &mut |line| {
        tail.older(&json::read(file, &line, READ, DECISIVE), &place(&line));
        tail.begun.then(|| lines::until(tail.is_full()))
    })?;
    let told = store::workspace(sheet.host, stub.path.parent().unwrap_or(&stub.path));
    let elsewhere = told.is_err();
    let Workspace { cwd, name: title, branch } = told.unwrap_or_default();
    let mut record = Record { cwd, title, branch, elsewhere, ..tail.record() };
    lines::head(file, HEAD, &mut |line| {
        begin(&mut record, &json::read(file, line, READ, DECISIVE));
        record.prompt.is_some()
    })?;
    Ok(record)
}

/// All that is read of an event.
static READ: &[Pick] = &[
    Pick::Field("type"),
    Pick::Field("id"),
    Pick::Field("timestamp"),
    Pick::Field("agentId"),
    Pick::Within(
        "data",
        &[
            Pick::Field("model"),
            Pick::Field("content"),
            Pick::Field("message"),
            Pick::Field("requestId"),
            Pick::Field("toolCallId"),
            Pick::Field("toolName"),
            Pick::Field("startTime"),
            Pick::Field("copilotVersion"),
            Pick::Each("toolRequests", &[]),
            Pick::Within("context", &[Pick::Field("cwd")]),
        ],
    ),
];

/// What is read of an event that is too long to hold, such as a long text or result.
static DECISIVE: &[Pick] = &[
    Pick::Field("type"),
    Pick::Field("id"),
    Pick::Field("timestamp"),
    Pick::Field("agentId"),
    Pick::Within(
        "data",
        &[
            Pick::Field("model"),
            Pick::Field("requestId"),
            Pick::Field("toolCallId"),
            Pick::Field("toolName"),
        ],
    ),
];

/// What is read of an event that may be billed.
static BILLED: &[Pick] = &[
    Pick::Field("type"),
    Pick::Within(
        "data",
        &[Pick::Within(
            "usage",
            &[
                Pick::Field("inputTokens"),
                Pick::Field("outputTokens"),
                Pick::Field("cacheReadTokens"),
                Pick::Field("cacheWriteTokens"),
            ],
        )],
    ),
];

/// What an early line tells.
fn begin(record: &mut Record, event: &Value) {
    let data = &event["data"];
    match json::text(event, "type") {
        Some("session.start") => {
            record.started = json::time(data, "startTime");
            record.version = json::string(data, "copilotVersion");
            record.cwd = record.cwd.take().or_else(|| json::path(&data["context"], "cwd"));
        }
        Some("user.message") => {
            record.prompt = json::text(data, "content").and_then(text::excerpt);
        }
        _ => {}
    }
}

/// Without it a line counts nothing.
static RECORD: Word = Word::new("\"session.usage_record\"");

/// Every call of a model, sub-agents' too. Copilot's input counts what came from the cache, ours does
/// not (decision 0003).
#[derive(Default)]
pub(super) struct Billed(pub(super) Tokens);

impl Count for Billed {
    fn take(&mut self, file: &dyn Bytes, line: &Line<'_>) -> bool {
        let event = json::parts(file, line, BILLED);
        if event.text("type") == Some("session.usage_record") {
            let usage = event.get("data").get("usage");
            let cached = usage.count("cacheReadTokens");
            self.0 = self.0.plus(Tokens {
                input: usage.count("inputTokens").saturating_sub(cached),
                output: usage.count("outputTokens"),
                cache_read: cached,
                cache_write: usage.count("cacheWriteTokens"),
            });
        }
        true
    }

    fn sought(&self, lines: &[u8]) -> Option<usize> {
        RECORD.place(lines)
    }

    fn write(&self, to: &mut Writer) {
        to.tokens(self.0);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        from.tokens().map(Self)
    }
}

/// Where an event stands.
struct Place<'a> {
    stub: &'a Stub,
    offset: u64,
}

/// What a walk from the end has met so far.
#[derive(Default)]
struct Tail {
    newest: Option<Turn>,
    /// Nothing older belongs to the newest turn.
    begun: bool,
    /// The end of a call, until it is known whether another follows.
    end: Option<(Timestamp, Source)>,
    /// An orderly exit behind the newest turn.
    exit: Option<Source>,
    answered: HashSet<String>,
    pending: Option<Pending>,
    model: Option<String>,
    last: Option<String>,
    updated: Option<Timestamp>,
}

impl Tail {
    fn is_full(&self) -> bool {
        self.begun && self.model.is_some() && self.last.is_some()
    }

    fn record(self) -> Record {
        let pending = self.pending.unwrap_or(Pending::Nothing);
        let turn = match (self.newest.unwrap_or(Turn::None), self.exit) {
            (Turn::Open { alive: at, .. }, Some(line)) => {
                Turn::Ended { at, how: Ending::Interrupted, line }
            }
            (Turn::Open { alive, line, .. }, None) => Turn::Open { alive, pending, line },
            (turn, _) => turn,
        };
        let (model, last, updated) = (self.model, self.last, self.updated);
        Record { model, last, updated, ..Record::of(turn) }
    }

    /// Takes in the next older line.
    fn older(&mut self, event: &Value, place: &Place<'_>) {
        let (kind, data) = (json::text(event, "type").unwrap_or_default(), &event["data"]);
        let at = json::time(event, "timestamp").unwrap_or(place.stub.updated);
        self.updated.get_or_insert(at);
        if !self.begun {
            self.asks(kind, data);
        }
        if event.get("agentId").is_some() {
            return; // a sub-agent's, which is part of one of our calls
        }
        if kind == "assistant.message" {
            self.model = self.model.take().or_else(|| json::string(data, "model"));
            let said = || json::text(data, "content").and_then(text::excerpt);
            self.last = self.last.take().or_else(said);
        }
        if self.begun {
            return;
        }
        let shows = json::string(event, "id").unwrap_or_else(|| kind.to_owned());
        let (path, offset) = (place.stub.path.clone(), place.offset);
        self.turn(event, (at, Source::Line { path, offset, shows, without: Vec::new() }));
    }

    /// What the newest turn asks of a person, and what was answered.
    fn asks(&mut self, kind: &str, data: &Value) {
        let id = |key| json::string(data, key).unwrap_or_default();
        match kind {
            "permission.completed" => drop(self.answered.insert(id("requestId"))),
            "tool.execution_complete" => drop(self.answered.insert(id("toolCallId"))),
            "permission.requested" if !self.answered.contains(&id("requestId")) => {
                self.pending = Some(Pending::Approval);
            }
            "tool.execution_start" if json::text(data, "toolName") == Some("ask_user") => {
                let asks = !self.answered.contains(&id("toolCallId"));
                self.pending = self.pending.take().or(asks.then_some(Pending::Answer));
            }
            _ => {}
        }
    }

    /// The newest turn, if this line belongs to one.
    fn turn(&mut self, event: &Value, (at, line): (Timestamp, Source)) {
        let data = &event["data"];
        let open = |(alive, line)| Turn::Open { alive, pending: Pending::Nothing, line };
        let turn = match json::text(event, "type").unwrap_or_default() {
            "session.shutdown" => {
                self.exit = Some(line);
                return;
            }
            // An exit of a process that did nothing does not end what an earlier one left open.
            "session.resume" => {
                self.exit = None;
                return;
            }
            "assistant.turn_end" => {
                self.end.get_or_insert((at, line));
                return;
            }
            "abort" => Turn::Ended { at, how: Ending::Interrupted, line },
            "session.error" => {
                let why = json::text(data, "message").unwrap_or("error");
                Turn::Ended { at, how: Ending::Failed(text::one_line(why)), line }
            }
            "assistant.message" => match (self.end.take(), data["toolRequests"].get(0)) {
                (Some((at, line)), None) => Turn::Ended { at, how: Ending::Completed, line },
                (Some(end), Some(_)) => open(end),
                (None, _) => open((at, line)),
            },
            "tool.execution_start" => open(self.end.take().unwrap_or((at, line))),
            "assistant.turn_start" | "user.message" => {
                self.begun = true;
                open(self.end.take().unwrap_or((at, line)))
            }
            _ => return,
        };
        self.begun |= matches!(turn, Turn::Ended { .. });
        self.newest.get_or_insert(turn);
    }
}
