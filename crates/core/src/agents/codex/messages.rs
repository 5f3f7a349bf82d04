//! Rollout lines as people read them.

use super::rollout::item_text;
use crate::{
    agent::{Message, Speaker},
    agents::json,
};
use serde_json::Value;

/// What one line says.
pub(super) fn of(line: &Value) -> Vec<Message> {
    let payload = &line["payload"];
    let kind = json::text(payload, "type").unwrap_or_default();
    let said = match json::text(line, "type") {
        Some("event_msg") => event(kind, payload),
        Some("response_item") => item(kind, payload),
        Some("compacted") => Some(message(Speaker::System, "conversation compacted")),
        _ => None,
    };
    let at = json::time(line, "timestamp");
    said.map(|message| Message { at, ..message }).into_iter().collect()
}

fn message(speaker: Speaker, text: &str) -> Message {
    Message { at: None, speaker, tool: None, failed: false, text: text.to_owned() }
}

fn event(kind: &str, payload: &Value) -> Option<Message> {
    let failed = |text: &str| Message { failed: true, ..message(Speaker::System, text) };
    match kind {
        "user_message" => Some(message(Speaker::User, json::text(payload, "message")?)),
        "agent_message" => Some(message(Speaker::Assistant, json::text(payload, "message")?)),
        "agent_reasoning" => Some(message(Speaker::Thinking, json::text(payload, "text")?)),
        "turn_aborted" => Some(message(Speaker::System, "interrupted")),
        "task_complete" => json::text(payload.get("error")?, "message").map(failed),
        "item_completed" => {
            let item = &payload["item"];
            match json::text(item, "type")? {
                "UserMessage" => Some(message(Speaker::User, &item_text(item)?)),
                "AgentMessage" => Some(message(Speaker::Assistant, &item_text(item)?)),
                "ContextCompaction" => Some(message(Speaker::System, "conversation compacted")),
                _ => None, // commands stand in the calls and their outputs as well
            }
        }
        _ => None,
    }
}

fn item(kind: &str, payload: &Value) -> Option<Message> {
    match kind {
        "function_call" | "custom_tool_call" | "local_shell_call" => Some(Message {
            tool: json::string(payload, "name"),
            ..message(Speaker::Call, &call(payload))
        }),
        "function_call_output" | "custom_tool_call_output" => {
            Some(message(Speaker::Result, &output(&payload["output"])))
        }
        "reasoning" => {
            let summary = payload["summary"].as_array()?.iter();
            let text: Vec<&str> = summary.filter_map(|part| json::text(part, "text")).collect();
            (!text.is_empty()).then(|| message(Speaker::Thinking, &text.join("\n")))
        }
        _ => None,
    }
}

/// The command of a call, else its arguments as they are.
fn call(payload: &Value) -> String {
    let raw = json::text(payload, "arguments").or_else(|| json::text(payload, "input"));
    let raw = raw.unwrap_or_default();
    let arguments = json::object(raw.as_bytes());
    let plain = json::string(&arguments, "cmd").or_else(|| json::string(&arguments, "command"));
    let words = || {
        let words = arguments["command"].as_array()?.iter().filter_map(Value::as_str);
        Some(words.collect::<Vec<_>>().join(" "))
    };
    plain.or_else(words).unwrap_or_else(|| raw.to_owned())
}

fn output(output: &Value) -> String {
    let parts = || {
        let parts = output.as_array()?.iter().filter_map(|part| json::text(part, "text"));
        Some(parts.collect::<Vec<_>>().join("\n"))
    };
    let text = output.as_str().map(str::to_owned).or_else(parts);
    text.or_else(|| json::string(output, "content")).unwrap_or_else(|| output.to_string())
}
