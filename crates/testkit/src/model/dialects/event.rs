//! Server-sent events, as all dialects send them.

use serde_json::Value;

use crate::model::answer::Cue;

/// What an answer that fails on purpose says.
pub(super) const FAILURE: &str = "scripted failure";

/// A server-sent event without a name.
pub(super) fn unnamed(data: &Value) -> Cue {
    Cue::Send(format!("data: {data}\n\n"))
}

/// A server-sent event whose name is also its `type`.
pub(super) fn named(data: &Value) -> Cue {
    let name = data["type"].as_str().unwrap_or_default();
    Cue::Send(format!("event: {name}\ndata: {data}\n\n"))
}
