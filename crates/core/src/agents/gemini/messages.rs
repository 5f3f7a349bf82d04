//! Lines of a chat as people read them.

use super::chat::{CANCELLED, is_context, said};
use crate::{
    agent::{Message, Speaker},
    agents::json,
};
use serde_json::Value;

/// What one line says.
pub(super) fn of(line: &Value) -> Vec<Message> {
    let content = &line["content"];
    let text = said(content).unwrap_or_default();
    let mut said = match json::text(line, "type") {
        Some("user") if is_context(content) => Vec::new(), // history written again
        Some("user") => vec![message(Speaker::User, &text)],
        Some("gemini") => gemini(line, &text),
        Some("error") => vec![Message { failed: true, ..message(Speaker::System, &text) }],
        Some("info") if text == CANCELLED => vec![message(Speaker::System, "interrupted")],
        Some("info" | "warning") => vec![message(Speaker::System, &text)],
        _ => Vec::new(),
    };
    said.retain(|message| !message.text.is_empty() || message.speaker == Speaker::Call);
    let at = json::time(line, "timestamp");
    for message in &mut said {
        message.at = at;
    }
    said
}

fn message(speaker: Speaker, text: &str) -> Message {
    Message { at: None, speaker, tool: None, failed: false, text: text.to_owned() }
}

/// A line without its model is history written again; one with tools repeats what was said before.
fn gemini(line: &Value, text: &str) -> Vec<Message> {
    if line.get("model").is_none() {
        return Vec::new();
    }
    if let Some(calls) = line["toolCalls"].as_array() {
        return calls.iter().flat_map(tool).collect();
    }
    let thoughts = line["thoughts"].as_array().into_iter().flatten();
    let thoughts = thoughts.filter_map(|thought| json::text(thought, "description"));
    let mut all: Vec<Message> = thoughts.map(|text| message(Speaker::Thinking, text)).collect();
    all.push(message(Speaker::Assistant, text));
    all
}

/// A call and what came of it.
fn tool(call: &Value) -> [Message; 2] {
    let telling = ["command", "file_path", "path", "pattern", "query", "prompt"];
    let argument = telling.iter().find_map(|key| json::string(&call["args"], key));
    let argument = argument.unwrap_or_else(|| call["args"].to_string());
    let response = &call["result"][0]["functionResponse"]["response"];
    let result = json::text(response, "output").or_else(|| json::text(response, "error"));
    let name = json::string(call, "name");
    let failed = json::text(call, "status").is_some_and(|status| status != "success");
    [
        Message { tool: name, ..message(Speaker::Call, &argument) },
        Message { failed, ..message(Speaker::Result, result.unwrap_or("(no text)")) },
    ]
}
