//! Tokens: every model message once, over the transcript and those of its sub-agents.
//!
//! A message stands on as many lines as it has blocks, each with the usage so far; the last one counts.

use crate::{
    agent::Stub,
    evidence::Tokens,
    host::Host,
    lines::{self, Body, Flow},
};
use serde::Deserialize;
use std::{collections::HashMap, io, path::Path};

#[derive(Deserialize)]
struct Line {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    id: String,
    #[serde(default)]
    model: String,
    usage: Usage,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Usage {
    input_tokens: u64,
    output_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
}

/// Tokens of a session, its sub-agents' included.
pub(super) fn tokens(host: &dyn Host, stub: &Stub) -> io::Result<Tokens> {
    let mut messages = HashMap::new();
    scan(host, &stub.path, &mut messages)?;
    let helpers = stub.path.with_extension("").join("subagents");
    for entry in host.entries(&helpers).unwrap_or_default() {
        if entry.name.ends_with(".jsonl") {
            scan(host, &helpers.join(&entry.name), &mut messages)?;
        }
    }
    Ok(messages.values().fold(Tokens::default(), |sum, usage| Tokens {
        input: sum.input.saturating_add(usage.input_tokens),
        output: sum.output.saturating_add(usage.output_tokens),
        cache_read: sum.cache_read.saturating_add(usage.cache_read_input_tokens),
        cache_write: sum.cache_write.saturating_add(usage.cache_creation_input_tokens),
    }))
}

fn scan(host: &dyn Host, path: &Path, messages: &mut HashMap<String, Usage>) -> io::Result<()> {
    let file = host.open(path)?;
    let usage = memchr::memmem::Finder::new(b"\"usage\"");
    lines::forward(&*file, 0, &mut |line| {
        let counted: Option<Line> = match line.body {
            Body::Whole(bytes) if usage.find(bytes).is_some() => serde_json::from_slice(bytes).ok(),
            Body::Whole(_) => None,
            Body::Huge(size) => {
                let stream = io::BufReader::new(lines::Span::new(&*file, line.at, size));
                serde_json::from_reader(stream).ok()
            }
        };
        if let Some(Line { message }) = counted
            && message.model != "<synthetic>"
        {
            messages.insert(message.id, message.usage);
        }
        Flow::Continue(())
    })?;
    Ok(())
}
