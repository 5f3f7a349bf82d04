//! Tokens: every model message once, over the transcript and those of its sub-agents.
//!
//! A message stands on as many lines as it has blocks, each with the usage so far; the last one counts.

use super::fork::{Copied, Copying};
use crate::{
    agents::json::{self, Part, Pick, Word},
    evidence::Tokens,
    host::Bytes,
    lines::Line,
    sheet::Sheet,
    tally::{self, Count, Family, Messages, Reader, Tally, Writer},
};
use std::io;

static COUNTED: &[Pick] = &[Pick::Within(
    "message",
    &[
        Pick::Field("id"),
        Pick::Field("model"),
        Pick::Within(
            "usage",
            &[
                Pick::Field("input_tokens"),
                Pick::Field("output_tokens"),
                Pick::Field("cache_creation_input_tokens"),
                Pick::Field("cache_read_input_tokens"),
            ],
        ),
    ],
)];

/// Without it a line counts nothing.
static USAGE: Word = Word::new("\"usage\"");

/// What is counted of a transcript.
#[derive(Default)]
struct Counted {
    messages: Messages,
    copying: Copying,
}

impl Count for Counted {
    fn roomy() -> Self {
        Self { messages: Messages::roomy(), ..Self::default() }
    }

    fn take(&mut self, file: &dyn Bytes, line: &Line<'_>) -> bool {
        let is_sought = self.copying.is_over();
        self.copying.take(line);
        match is_sought || USAGE.may_be_in(file, line) {
            true => self.add(&json::parts(file, line, COUNTED)),
            false => true,
        }
    }

    fn sought(&self, lines: &[u8]) -> Option<usize> {
        if self.copying.is_over() { USAGE.place(lines) } else { Some(0) }
    }

    fn settle(&mut self) {
        self.messages.settle();
    }

    fn write(&self, to: &mut Writer) {
        self.messages.write(to);
        self.copying.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self { messages: Messages::read(from)?, copying: Copying::read(from)? })
    }
}

impl Counted {
    /// Adds the message of a line, and what it has used so far.
    fn add(&mut self, line: &Part<'_>) -> bool {
        let message = line.get("message");
        let made_up = message.text("model") == Some("<synthetic>");
        match message.text("id").filter(|id| !id.is_empty() && !made_up) {
            Some(id) => self.messages.add(id, used(message.get("usage"))),
            None => true,
        }
    }
}

impl Family for Counted {
    fn messages(&self) -> &Messages {
        &self.messages
    }
}

/// Tokens of a session, its sub-agents' included, and what its transcript copied from another.
pub(super) fn counted(
    tally: &Tally<'_>,
    sheet: &Sheet<'_>,
    alone: bool,
) -> (io::Result<Tokens>, Option<Copied>) {
    let own = match tally.count::<Counted>(sheet) {
        Ok(own) => own,
        Err(why) => return (Err(tally::named(sheet.path, &why)), None),
    };
    let spawned = match alone {
        true => Ok(Vec::new()),
        false => tally.spawned(&sheet.path.with_extension("").join("subagents")),
    };
    let tokens = spawned.and_then(|spawned| tally.sum((sheet.path, &own), &spawned));
    (tokens, own.copying.copied())
}

fn used(usage: &Part<'_>) -> Tokens {
    Tokens {
        input: usage.count("input_tokens"),
        output: usage.count("output_tokens"),
        cache_read: usage.count("cache_read_input_tokens"),
        cache_write: usage.count("cache_creation_input_tokens"),
    }
}
