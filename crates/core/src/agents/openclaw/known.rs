//! Entries and their fields seen in transcripts of OpenClaw 2026.6.11 and 2026.9.6; anything else is
//! drift.

/// Entry types and their fields.
pub(super) static KNOWN: &[(&str, &[&str])] = &[
    ("custom", &["customType", "data", "id", "parentId", "timestamp", "type"]),
    ("message", &["id", "message", "parentId", "timestamp", "type"]),
    ("model_change", &["id", "modelId", "parentId", "provider", "timestamp", "type"]),
    ("session", &["cwd", "id", "timestamp", "type", "version"]),
    ("thinking_level_change", &["id", "parentId", "thinkingLevel", "timestamp", "type"]),
];
