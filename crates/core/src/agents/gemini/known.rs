//! Lines and their fields seen in chats of Gemini CLI 0.61.0; anything else is drift.

/// Line types and their fields; those of a `$set` are what it sets.
pub(super) static KNOWN: &[(&str, &[&str])] = &[
    ("$set", &["lastUpdated", "memoryScratchpad", "messages", "sessionId", "summary"]),
    ("error", &["content", "id", "timestamp", "type"]),
    ("gemini", &["content", "id", "model", "thoughts", "timestamp", "tokens", "toolCalls", "type"]),
    ("header", &["kind", "lastUpdated", "projectHash", "sessionId", "startTime"]),
    ("info", &["content", "id", "timestamp", "type"]),
    ("user", &["content", "id", "timestamp", "type"]),
];
