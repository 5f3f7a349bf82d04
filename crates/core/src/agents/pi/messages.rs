//! Transcript entries as people read them.

use super::entries;
use crate::{
    agent::{Message, Speaker},
    agents::json,
};
use serde_json::Value;

/// What one entry says.
pub(in crate::agents) fn of(entry: &Value) -> Vec<Message> {
    let mut said = match json::text(entry, "type") {
        Some("message") => entries::message(entry).map(by_role).unwrap_or_default(),
        Some("compaction") => vec![message(Speaker::System, "conversation compacted")],
        Some("branch_summary") => vec![message(Speaker::System, "another branch was summarised")],
        _ => Vec::new(),
    };
    let at = json::time(entry, "timestamp");
    for message in &mut said {
        message.at = at;
    }
    said
}

fn message(speaker: Speaker, text: &str) -> Message {
    Message { at: None, speaker, tool: None, failed: false, text: text.to_owned() }
}

fn by_role(native: &Value) -> Vec<Message> {
    let text = || entries::said(native).unwrap_or_else(|| "(no text)".to_owned());
    match json::text(native, "role") {
        Some("user") => vec![message(Speaker::User, &text())],
        Some("assistant") => assistant(native),
        Some("toolResult") => vec![Message {
            tool: json::string(native, "toolName"),
            failed: json::flag(native, "isError"),
            ..message(Speaker::Result, &text())
        }],
        Some("bashExecution") => vec![
            message(Speaker::User, &format!("!{}", json::text(native, "command").unwrap_or("?"))),
            message(Speaker::Result, json::text(native, "output").unwrap_or("(no text)")),
        ],
        _ => Vec::new(),
    }
}

fn assistant(native: &Value) -> Vec<Message> {
    let parts = native["content"].as_array().into_iter().flatten();
    let mut said: Vec<Message> = parts.filter_map(part).collect();
    said.extend(ending(native));
    said
}

fn part(part: &Value) -> Option<Message> {
    let filled = |text: &&str| !text.is_empty();
    match json::text(part, "type")? {
        "text" => Some(message(Speaker::Assistant, json::text(part, "text").filter(filled)?)),
        "thinking" => {
            Some(message(Speaker::Thinking, json::text(part, "thinking").filter(filled)?))
        }
        "toolCall" => Some(Message {
            tool: json::string(part, "name"),
            ..message(Speaker::Call, &arguments(&part["arguments"]))
        }),
        _ => None,
    }
}

/// The argument that says most, else all of them.
fn arguments(arguments: &Value) -> String {
    let telling = ["command", "path", "pattern", "url", "query"];
    let found = telling.iter().find_map(|key| json::string(arguments, key));
    found.unwrap_or_else(|| arguments.to_string())
}

fn ending(native: &Value) -> Option<Message> {
    let why = json::text(native, "errorMessage");
    let system = |text: &str| message(Speaker::System, text);
    match json::text(native, "stopReason")? {
        "aborted" => Some(system("interrupted")),
        "error" => Some(Message { failed: true, ..system(why.unwrap_or("error")) }),
        "length" => Some(Message { failed: true, ..system("cut at the length limit") }),
        _ => None,
    }
}
