//! Tokens: every model message once, over the chat and those of its sub-agents.
//!
//! A message is written again when its tools have run; the last line of an id counts.

use crate::{
    agent::Stub,
    agents::{
        files::is_id,
        json::{self, Part, Pick, Word},
    },
    evidence::Tokens,
    host::{Bytes, Host},
    lines::Line,
    sheet::Sheet,
    tally::{Count, Family, Messages, Reader, Tally, Writer},
};
use std::io;

static COUNTED: &[Pick] = &[
    Pick::Field("id"),
    Pick::Within(
        "tokens",
        &[
            Pick::Field("input"),
            Pick::Field("output"),
            Pick::Field("cached"),
            Pick::Field("thoughts"),
        ],
    ),
];

/// Without it a line counts nothing.
static TOKENS: Word = Word::new("\"tokens\"");

/// Messages of a chat.
#[derive(Default)]
struct Counted(Messages);

impl Count for Counted {
    fn roomy() -> Self {
        Self(Messages::roomy())
    }

    fn take(&mut self, file: &dyn Bytes, line: &Line<'_>) -> bool {
        self.add(&json::parts(file, line, COUNTED))
    }

    fn sought(&self, lines: &[u8]) -> Option<usize> {
        TOKENS.place(lines)
    }

    fn settle(&mut self) {
        self.0.settle();
    }

    fn write(&self, to: &mut Writer) {
        self.0.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Messages::read(from).map(Self)
    }
}

impl Counted {
    /// Adds the message of a line.
    fn add(&mut self, line: &Part<'_>) -> bool {
        let tokens = line.get("tokens");
        match line.text("id").filter(|id| !id.is_empty() && tokens.is_object()) {
            Some(id) => self.0.add(id, counted(tokens)),
            None => true,
        }
    }
}

impl Family for Counted {
    fn messages(&self) -> &Messages {
        &self.0
    }
}

/// Tokens of a session, its sub-agents' included. Gemini's input counts what came from the cache,
/// ours does not (decision 0003); its output does not count what it thought, ours does.
pub(super) fn tokens(tally: &Tally<'_>, sheet: &Sheet<'_>, stub: &Stub) -> io::Result<Tokens> {
    let own: Counted = tally.count(sheet)?;
    let spawned = match is_id(&stub.id) {
        true => tally.spawned(&stub.path.with_file_name(&stub.id))?,
        false => Vec::new(), // what stands in a chat may name any path
    };
    tally.sum((&stub.path, &own), &spawned)
}

/// How often the model answered: one that only asks for leave says nothing, and is billed.
pub(super) fn turns(host: &dyn Host, stub: &Stub) -> io::Result<u64> {
    let Counted(messages) = Tally::anew(host).count(&Sheet::new(host, &stub.path, None))?;
    Ok(messages.len() as u64)
}

fn counted(usage: &Part<'_>) -> Tokens {
    let cached = usage.count("cached");
    Tokens {
        input: usage.count("input").saturating_sub(cached),
        output: usage.count("output").saturating_add(usage.count("thoughts")),
        cache_read: cached,
        cache_write: 0,
    }
}
