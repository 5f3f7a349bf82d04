//! Events as people read them.

use crate::{
    agent::{Message, Speaker},
    agents::json,
};
use serde_json::Value;

/// What one event says. Sub-agents speak in their own name, and are left out.
pub(super) fn of(event: &Value) -> Option<Message> {
    let data = event.get("data").filter(|_| event.get("agentId").is_none())?;
    let text = |key| json::string(data, key);
    let (speaker, text) = match json::text(event, "type")? {
        "user.message" => (Speaker::User, text("content")?),
        "assistant.message" => (Speaker::Assistant, text("content")?),
        "tool.execution_start" => (Speaker::Call, call(&data["arguments"])),
        "tool.execution_complete" => (Speaker::Result, result(data)),
        "abort" => (Speaker::System, "interrupted".to_owned()),
        "session.error" | "session.warning" => (Speaker::System, text("message")?),
        _ => return None,
    };
    Some(Message {
        at: json::time(event, "timestamp"),
        speaker,
        tool: json::string(data, "toolName"),
        failed: data["success"] == false || json::text(event, "type") == Some("session.error"),
        text,
    })
}

/// The argument that says most, else all of them.
fn call(arguments: &Value) -> String {
    let telling = ["command", "path", "message", "prompt", "pattern", "url"];
    let found = telling.iter().find_map(|key| json::string(arguments, key));
    found.unwrap_or_else(|| arguments.to_string())
}

fn result(data: &Value) -> String {
    let text = json::string(&data["result"], "content");
    let text = text.or_else(|| json::string(&data["error"], "message"));
    text.unwrap_or_else(|| "(no text)".to_owned()).trim().to_owned()
}
