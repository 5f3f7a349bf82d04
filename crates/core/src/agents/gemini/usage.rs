//! Tokens: every model message once, over the chat and those of its sub-agents.
//!
//! A message is written again when its tools have run; the last line of an id counts.

use crate::{
    agent::Stub,
    agents::{files::is_id, json},
    evidence::Tokens,
    host::Host,
    lines::{self, Body, Flow},
};
use serde_json::Value;
use std::{collections::HashMap, io, path::Path};

/// Tokens of a session, its sub-agents' included. Gemini's input counts what came from the cache,
/// ours does not (decision 0003); its output does not count what it thought, ours does.
pub(super) fn tokens(host: &dyn Host, stub: &Stub) -> io::Result<Tokens> {
    let mut messages = HashMap::new();
    scan(host, &stub.path, &mut messages)?;
    let spawned = stub.path.with_file_name(&stub.id);
    let entries = match is_id(&stub.id) {
        true => host.entries(&spawned).unwrap_or_default(),
        false => Vec::new(), // what stands in a chat may name any path
    };
    for entry in entries.iter().filter(|entry| entry.name.ends_with(".jsonl")) {
        scan(host, &spawned.join(&entry.name), &mut messages)?;
    }
    Ok(messages.values().map(counted).fold(Tokens::default(), Tokens::plus))
}

/// How often the model answered: one that only asks for leave says nothing, and is billed.
pub(super) fn turns(host: &dyn Host, stub: &Stub) -> io::Result<u64> {
    let mut messages = HashMap::new();
    scan(host, &stub.path, &mut messages)?;
    Ok(messages.len() as u64)
}

fn counted(usage: &Value) -> Tokens {
    let (count, cached) = (|key| json::count(usage, key), json::count(usage, "cached"));
    Tokens {
        input: count("input").saturating_sub(cached),
        output: count("output").saturating_add(count("thoughts")),
        cache_read: cached,
        cache_write: 0,
    }
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
