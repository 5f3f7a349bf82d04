//! Tokens: every model message once, over the transcript and those of its sub-agents.
//!
//! A message stands on as many lines as it has blocks, each with the usage so far; the last one counts.

use super::fork::{Copied, Copying};
use crate::{
    agent::Stub,
    agents::json::{self, Pick, Word},
    evidence::Tokens,
    host::Bytes,
    lines::Line,
    tally::{self, Count, Family, Messages, Reader, Tally, Writer},
};
use serde_json::Value;
use std::{io, sync::LazyLock};

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

/// What is counted of a transcript.
#[derive(Default)]
struct Counted {
    messages: Messages,
    copying: Copying,
}

impl Count for Counted {
    fn take(&mut self, file: &dyn Bytes, line: &Line<'_>) -> bool {
        self.copying.take(line);
        match message(file, line) {
            Some((id, tokens)) => self.messages.add(id, tokens),
            None => true,
        }
    }

    fn write(&self, to: &mut Writer) {
        self.messages.write(to);
        self.copying.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self { messages: Messages::read(from)?, copying: Copying::read(from)? })
    }
}

impl Family for Counted {
    fn messages(&self) -> &Messages {
        &self.messages
    }
}

/// Tokens of a session, its sub-agents' included, and what its transcript copied from another.
pub(super) fn counted(tally: &Tally<'_>, stub: &Stub) -> (io::Result<Tokens>, Option<Copied>) {
    let own = match tally.count::<Counted>(&stub.path, stub.stat) {
        Ok(own) => own,
        Err(why) => return (Err(tally::named(&stub.path, &why)), None),
    };
    let spawned = tally.spawned(&stub.path.with_extension("").join("subagents"));
    let tokens = spawned.and_then(|spawned| tally.sum((&stub.path, &own), &spawned));
    (tokens, own.copying.copied())
}

/// The message of a line, and what it has used so far. Most lines have none, and are not parsed.
fn message(file: &dyn Bytes, line: &Line<'_>) -> Option<(String, Tokens)> {
    static USAGE: LazyLock<Word> = LazyLock::new(|| Word::new("\"usage\""));
    let counted = USAGE.may_be_in(file, line).then(|| json::parts(file, line, COUNTED))?;
    let message = &counted["message"];
    let made_up = json::text(message, "model") == Some("<synthetic>");
    let id = json::string(message, "id").filter(|_| !made_up)?;
    Some((id, used(&message["usage"])))
}

fn used(usage: &Value) -> Tokens {
    Tokens {
        input: json::count(usage, "input_tokens"),
        output: json::count(usage, "output_tokens"),
        cache_read: json::count(usage, "cache_read_input_tokens"),
        cache_write: json::count(usage, "cache_creation_input_tokens"),
    }
}
