//! Tokens: every model message once, over the transcript and those of its sub-agents.
//!
//! A message stands on as many lines as it has blocks, each with the usage so far; the last one counts.

use crate::{
    agent::Stub,
    agents::json::{self, Pick},
    evidence::Tokens,
    host::Host,
    lines::{self, Body, Flow},
};
use serde_json::Value;
use std::{collections::HashMap, io, path::Path};

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

/// Tokens of a session, its sub-agents' included.
pub(super) fn tokens(host: &dyn Host, stub: &Stub) -> io::Result<Tokens> {
    let mut messages = HashMap::new();
    scan(host, &stub.path, &mut messages)?;
    let spawned = stub.path.with_extension("").join("subagents");
    let entries = match host.entries(&spawned) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Vec::new(),
        entries => entries.map_err(|why| named(&spawned, why))?,
    };
    for entry in entries.iter().filter(|entry| entry.name.ends_with(".jsonl")) {
        scan(host, &spawned.join(&entry.name), &mut messages)?;
    }
    Ok(messages.values().copied().fold(Tokens::default(), Tokens::plus))
}

fn named(path: &Path, why: io::Error) -> io::Error {
    io::Error::new(why.kind(), format!("{}: {why}", path.display()))
}

fn scan(host: &dyn Host, path: &Path, messages: &mut HashMap<String, Tokens>) -> io::Result<()> {
    let file = host.open(path).map_err(|why| named(path, why))?;
    let usage = memchr::memmem::Finder::new(b"\"usage\"");
    lines::forward(&*file, 0, &mut |line| {
        let counted = match line.body {
            Body::Whole(bytes) if usage.find(bytes).is_none() => return Flow::Continue(()),
            Body::Whole(bytes) => json::picked(bytes, COUNTED),
            Body::Huge(size) => json::picked(lines::Span::new(&*file, line.at, size), COUNTED),
        };
        let message = &counted["message"];
        let made_up = json::text(message, "model") == Some("<synthetic>");
        if let Some(id) = json::string(message, "id").filter(|_| !made_up) {
            messages.insert(id, used(&message["usage"]));
        }
        Flow::Continue(())
    })?;
    Ok(())
}

fn used(usage: &Value) -> Tokens {
    Tokens {
        input: json::count(usage, "input_tokens"),
        output: json::count(usage, "output_tokens"),
        cache_read: json::count(usage, "cache_read_input_tokens"),
        cache_write: json::count(usage, "cache_creation_input_tokens"),
    }
}
