//! What a transcript says of its session, from its first lines and backwards from its end.
//!
//! The entries are a tree, and its newest leaf is the last line, whichever branch that is on.

use super::{
    entries::{self, Step, USAGE},
    store,
};
use crate::{
    agent::Stub,
    agents::json::{self, Pick, Word},
    evidence::{Ending, Pending, Record, Tokens, Turn},
    host::{Bytes, Host},
    lines::{self, Line},
    proof::Source,
    sheet::Sheet,
    tally::{Count, Reader, Writer},
    text,
};
use jiff::Timestamp;
use serde_json::Value;
use std::{collections::HashMap, io, path::Path};

/// How far back the end is searched for what is only nice to know.
const TAIL: u64 = 256 << 10;
/// How many lines the beginning is searched for the first prompt.
const HEAD: usize = 60;
/// A first try and three more, unless the user's settings say otherwise.
const TRIES: usize = 4;

/// Reads the newest turn and what else stands near both ends.
pub(super) fn read(sheet: &Sheet<'_>, stub: &Stub) -> io::Result<Record> {
    let file = sheet.file()?;
    let header = store::header(file)?;
    let mut tail = Tail::new(&stub.path, stub.updated);
    let size = file.size();
    lines::recent(file, &mut |line| {
        let far = size - line.at > TAIL;
        if !tail.is_dull(file, &line) {
            tail.older(&json::read(file, &line, READ, DECISIVE), line.at);
        }
        tail.settled.then(|| lines::until(far || tail.is_full()))
    })?;
    let (prompt, title) = beginning(file)?;
    let parent = json::path(&header, "parentSession");
    Ok(Record {
        cwd: json::path(&header, "cwd"),
        model: tail.model,
        title: tail.title.unwrap_or(title),
        prompt,
        last: tail.last,
        started: json::time(&header, "timestamp"),
        updated: tail.updated,
        elsewhere: parent.as_deref().is_some_and(|path| named(path).is_none()),
        forked_from: parent.and_then(|path| origin(sheet.host, &path)),
        ..Record::of(tail.newest.unwrap_or(Turn::None))
    })
}

/// The first prompt, and the name given before it.
fn beginning(file: &dyn Bytes) -> io::Result<(Option<String>, Option<String>)> {
    let (mut prompt, mut title) = (None, None);
    lines::head(file, HEAD, &mut |line| {
        let entry = json::read(file, line, READ, DECISIVE);
        let asked = entries::message(&entry).filter(|m| json::text(m, "role") == Some("user"));
        prompt = asked.and_then(|message| text::excerpt(&entries::said(message)?));
        if json::text(&entry, "type") == Some("session_info") {
            title = json::string(&entry, "name");
        }
        prompt.is_some()
    })?;
    Ok((prompt, title))
}

/// The session a fork was made of: its file may be gone, and then its name tells.
fn origin(host: &dyn Host, path: &Path) -> Option<String> {
    let inside = || json::string(&store::header(&*host.open(path).ok()?).ok()?, "id");
    named(path).map(str::to_owned).or_else(inside)
}

fn named(path: &Path) -> Option<&str> {
    store::id(path.file_name()?.to_str()?)
}

/// Without it a line counts nothing.
static BILL: Word = Word::new("\"usage\"");

/// All that was billed: every entry of every branch.
#[derive(Debug, Default)]
pub(super) struct Billed {
    pub(super) tokens: Tokens,
    pub(super) cost_usd: f64,
}

impl Count for Billed {
    fn take(&mut self, file: &dyn Bytes, line: &Line<'_>) -> bool {
        if let Some((tokens, dollars)) = entries::billed(&json::parts(file, line, BILLED)) {
            self.tokens = self.tokens.plus(tokens);
            self.cost_usd += dollars;
        }
        true
    }

    fn sought(&self, lines: &[u8]) -> Option<usize> {
        BILL.place(lines)
    }

    fn write(&self, to: &mut Writer) {
        to.tokens(self.tokens);
        to.number(self.cost_usd.to_bits());
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self { tokens: from.tokens()?, cost_usd: f64::from_bits(from.number()?) })
    }
}

/// What a walk from the end has met so far.
struct Tail<'a> {
    path: &'a Path,
    written: Timestamp,
    newest: Option<Turn>,
    /// How many tries failed one after the other, back from the newest.
    tries: usize,
    /// No older entry can change what the newest turn is.
    settled: bool,
    /// Answers that 1.x took out of its context to try again: when, and where it says so.
    retried: HashMap<String, (Option<Timestamp>, u64)>,
    model: Option<String>,
    /// The newest name; inside `None` where it was taken away.
    title: Option<Option<String>>,
    last: Option<String>,
    updated: Option<Timestamp>,
}

impl<'a> Tail<'a> {
    fn new(path: &'a Path, written: Timestamp) -> Self {
        Self {
            path,
            written,
            newest: None,
            tries: 0,
            settled: false,
            retried: HashMap::new(),
            model: None,
            title: None,
            last: None,
            updated: None,
        }
    }

    /// Once the turn is settled, and all else is known, only the session's name is worth parsing.
    fn is_dull(&self, file: &dyn Bytes, line: &Line<'_>) -> bool {
        static NAME: Word = Word::new("\"session_info\"");
        self.settled && self.knows() && !NAME.may_be_in(file, line)
    }

    fn is_full(&self) -> bool {
        self.knows() && self.title.is_some()
    }

    /// It has all but a name.
    fn knows(&self) -> bool {
        self.model.is_some() && self.last.is_some() && self.updated.is_some()
    }

    /// Takes in the next older entry.
    fn older(&mut self, entry: &Value, offset: u64) {
        let at = json::time(entry, "timestamp");
        self.updated = self.updated.or(at);
        match json::text(entry, "type") {
            Some("message") => self.message(entry, offset),
            Some("model_change") => {
                self.model = self.model.take().or_else(|| json::string(entry, "modelId"));
            }
            Some("session_info") => {
                self.title.get_or_insert_with(|| json::string(entry, "name"));
            }
            Some("context_edit") if entry["replacement"].is_null() => {
                let target = json::string(entry, "targetId");
                self.retried.extend(target.map(|target| (target, (at, offset))));
            }
            _ => {}
        }
    }

    fn message(&mut self, entry: &Value, offset: u64) {
        if let (false, Some(step)) = (self.settled, entries::step(entry)) {
            self.step(step, entry, offset);
        }
        let Some(message) = entries::message(entry) else { return };
        if json::text(message, "role") == Some("assistant") {
            self.model = self.model.take().or_else(|| json::string(message, "model"));
            let said = || text::excerpt(&entries::said(message)?);
            self.last = self.last.take().or_else(said);
        }
    }

    /// The newest step is the turn; those before it only tell how often it was tried.
    fn step(&mut self, step: Step, entry: &Value, offset: u64) {
        self.settled = !matches!(step, Step::Failed(_));
        self.tries += usize::from(!self.settled);
        self.newest = Some(match self.newest.take() {
            None => self.turn(step, entry, offset),
            Some(Turn::Open { alive, pending: Pending::Retry(why), line })
                if self.tries == TRIES =>
            {
                self.settled = true;
                Turn::Ended { at: alive, how: Ending::Failed(why), line }
            }
            Some(newest) => newest,
        });
    }

    fn turn(&self, step: Step, entry: &Value, offset: u64) -> Turn {
        let at = json::time(entry, "timestamp").unwrap_or(self.written);
        let message = &entry["message"];
        let key = if message.get("stopReason").is_some() { "stopReason" } else { "role" };
        let shows = format!("\"{key}\":{}", message[key]);
        let line = Source::Line { path: self.path.to_owned(), offset, shows, without: Vec::new() };
        let again = json::text(entry, "id").and_then(|id| self.retried.get(id));
        match (step, again) {
            (Step::Open, _) => Turn::Open { alive: at, pending: Pending::Nothing, line },
            (Step::Failed(why), _) => Turn::Open { alive: at, pending: Pending::Retry(why), line },
            (Step::Ended(_), Some((edited, offset))) => {
                let shows = "\"type\":\"context_edit\"".to_owned();
                let line = Source::Line {
                    path: self.path.to_owned(),
                    offset: *offset,
                    shows,
                    without: Vec::new(),
                };
                Turn::Open { alive: edited.unwrap_or(at), pending: Pending::Nothing, line }
            }
            (Step::Ended(how), None) => Turn::Ended { at, how, line },
        }
    }
}

/// All that is read of an entry. What is shown or told from nothing is read as it is.
static READ: &[Pick] = &[
    Pick::Field("type"),
    Pick::Field("id"),
    Pick::Field("timestamp"),
    Pick::Field("modelId"),
    Pick::Field("name"),
    Pick::Field("targetId"),
    Pick::Whole("replacement"),
    Pick::Within(
        "message",
        &[
            Pick::Whole("role"),
            Pick::Field("model"),
            Pick::Whole("stopReason"),
            Pick::Field("errorMessage"),
            Pick::Field("durationMs"),
            Pick::Each("content", &[Pick::Field("type"), Pick::Field("text")]),
        ],
    ),
];

/// What is read of an entry that is too long to hold: the few fields that decide.
static DECISIVE: &[Pick] = &[
    Pick::Field("type"),
    Pick::Field("id"),
    Pick::Field("timestamp"),
    Pick::Within("usage", USAGE),
    Pick::Within(
        "message",
        &[
            Pick::Field("role"),
            Pick::Field("model"),
            Pick::Field("stopReason"),
            Pick::Field("errorMessage"),
            Pick::Field("durationMs"),
            Pick::Within("usage", USAGE),
        ],
    ),
];

/// What is read of an entry that may be billed.
static BILLED: &[Pick] = &[
    Pick::Field("type"),
    Pick::Within("usage", USAGE),
    Pick::Within("message", &[Pick::Within("usage", USAGE)]),
];
