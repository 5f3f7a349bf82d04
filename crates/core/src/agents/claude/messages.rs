//! Transcript lines as people read them.

use super::transcript::{is_interruption, is_noise, said};
use crate::{
    agent::{Message, Speaker},
    agents::json,
};
use serde_json::Value;

/// What one line says.
pub(super) fn of(line: &Value) -> Vec<Message> {
    if json::flag(line, "isMeta") {
        return Vec::new();
    }
    let content = &line["message"]["content"];
    let mut said = match json::text(line, "type") {
        Some("user") => user(content),
        Some("assistant") => assistant(line, content),
        Some("attachment") => attachment(&line["attachment"]),
        Some("system") => system(line),
        _ => Vec::new(),
    };
    let at = json::time(line, "timestamp");
    for message in &mut said {
        message.at = at;
    }
    said
}

/// This message has come. 2.1.197 writes it down twice: as it joins the queue, and as its turn begins;
/// one that works takes what it finds in the queue between two steps, as an attachment.
pub(super) fn has_come(line: &Value, text: &str) -> bool {
    let is_it = |found: Option<&str>| found.is_some_and(|found| found.trim() == text.trim());
    match json::text(line, "type") {
        Some("user") => is_it(said(&line["message"]["content"])),
        Some("queue-operation") => is_it(json::text(line, "content")),
        Some("attachment") => is_it(said(&line["attachment"]["prompt"])),
        _ => false,
    }
}

fn message(speaker: Speaker, text: &str) -> Message {
    Message { at: None, speaker, tool: None, failed: false, text: text.to_owned() }
}

fn user(content: &Value) -> Vec<Message> {
    if let Some(text) = said(content) {
        let speaker = match text {
            text if is_interruption(text) => Speaker::System,
            text if is_noise(text) => return Vec::new(),
            _ => Speaker::User,
        };
        return vec![message(speaker, text)];
    }
    let blocks = content.as_array().into_iter().flatten();
    let results = blocks.filter(|block| json::text(block, "type") == Some("tool_result"));
    results
        .map(|block| Message {
            failed: json::flag(block, "is_error"),
            ..message(Speaker::Result, said(&block["content"]).unwrap_or("(no text)"))
        })
        .collect()
}

fn assistant(line: &Value, content: &Value) -> Vec<Message> {
    if json::flag(line, "isApiErrorMessage") {
        let text = said(content).unwrap_or("API error");
        return vec![Message { failed: true, ..message(Speaker::System, text) }];
    }
    let blocks = content.as_array().into_iter().flatten();
    blocks.filter_map(block).collect()
}

fn block(block: &Value) -> Option<Message> {
    match json::text(block, "type")? {
        "text" => Some(message(Speaker::Assistant, json::text(block, "text")?)),
        "thinking" => {
            let text = json::text(block, "thinking").filter(|text| !text.is_empty())?;
            Some(message(Speaker::Thinking, text))
        }
        "tool_use" => Some(Message {
            tool: json::string(block, "name"),
            ..message(Speaker::Call, &input(&block["input"]))
        }),
        _ => None,
    }
}

/// The argument that says most, else all of them.
fn input(input: &Value) -> String {
    let telling = ["command", "file_path", "path", "pattern", "url", "prompt", "query"];
    let found = telling.iter().find_map(|key| json::string(input, key));
    found.unwrap_or_else(|| input.to_string())
}

fn attachment(attachment: &Value) -> Vec<Message> {
    match json::text(attachment, "type") {
        Some("max_turns_reached") => {
            vec![Message { failed: true, ..message(Speaker::System, "turn limit reached") }]
        }
        _ => Vec::new(),
    }
}

fn system(line: &Value) -> Vec<Message> {
    match json::text(line, "subtype") {
        Some("compact_boundary") => vec![message(Speaker::System, "conversation compacted")],
        _ => Vec::new(),
    }
}
