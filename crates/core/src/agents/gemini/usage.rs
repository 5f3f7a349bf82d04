//! Tokens: every model message once, over the chat and those of its sub-agents.
//!
//! A message is written again when its tools have run; the last line of an id counts.

use crate::{
    agent::Stub,
    agents::json,
    evidence::Tokens,
    host::Host,
    lines::{self, Body, Flow},
};
use serde_json::Value;
use std::{collections::HashMap, io, path::Path};

/// Tokens of a session, its sub-agents' included. Input counts what came from the cache (decision
/// 0003); thinking is not part of the output, and is output.
pub(super) fn tokens(host: &dyn Host, stub: &Stub) -> io::Result<Tokens> {
    let mut messages = HashMap::new();
    scan(host, &stub.path, &mut messages)?;
    let helpers = stub.path.with_file_name(&stub.id);
    for entry in host.entries(&helpers).unwrap_or_default() {
        if entry.name.ends_with(".jsonl") {
            scan(host, &helpers.join(&entry.name), &mut messages)?;
        }
    }
    Ok(messages.values().fold(Tokens::default(), |sum, usage| {
        let (count, cached) = (|key| json::count(usage, key), json::count(usage, "cached"));
        Tokens {
            input: sum.input + count("input").saturating_sub(cached),
            output: sum.output + count("output") + count("thoughts"),
            cache_read: sum.cache_read + cached,
            cache_write: 0,
        }
    }))
}

fn scan(host: &dyn Host, path: &Path, messages: &mut HashMap<String, Value>) -> io::Result<()> {
    let file = host.open(path)?;
    lines::forward(&*file, 0, &mut |line| {
        if let Body::Whole(bytes) = line.body {
            let line = json::object(bytes);
            if let (Some(id), true) = (json::string(&line, "id"), line["tokens"].is_object()) {
                messages.insert(id, line["tokens"].clone());
            }
        }
        Flow::Continue(())
    })?;
    Ok(())
}
