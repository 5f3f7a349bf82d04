//! Lines of transcripts. SYNTHETIC: shaped after captures of Claude Code 2.1.197 and Codex 0.166.0.

use serde_json::{Value, json};

/// The moment made-up sessions begin at.
pub(crate) const BEGAN: &str = "2026-11-01T10:00:00Z";
/// The moment of their last line.
pub(crate) const ENDED: &str = "2026-11-01T10:00:05Z";

/// An id for a made-up session: no two numbers have the same first eight characters.
pub(crate) fn id(number: u32) -> String {
    format!("{number:08x}-0000-4000-8000-000000000000")
}

/// What a person asks of Claude Code.
pub(crate) fn prompt(text: &str) -> Value {
    json!({
        "parentUuid": null, "isSidechain": false, "type": "user",
        "message": {"role": "user", "content": text},
        "uuid": "11111111-0000-4000-8000-000000000000", "timestamp": BEGAN,
        "cwd": "/home/dev/good", "version": "2.1.197", "gitBranch": "main",
    })
}

/// What Claude Code answers at the end of a turn.
pub(crate) fn reply(text: &str) -> Value {
    said(json!([{"type": "text", "text": text}]), "end_turn")
}

/// Claude Code asks for a tool.
pub(crate) fn call(name: &str, input: Value) -> Value {
    said(json!([{"type": "tool_use", "id": "tool-1", "name": name, "input": input}]), "tool_use")
}

/// What the tool answered.
pub(crate) fn result(text: &str) -> Value {
    let mut line = prompt("");
    line["uuid"] = "33333333-0000-4000-8000-000000000000".into();
    line["message"]["content"] =
        json!([{"type": "tool_result", "tool_use_id": "tool-1", "content": text}]);
    line
}

/// A turn of Claude Code that ended in an error of the model's service.
pub(crate) fn api_error(kind: &str, text: &str) -> Value {
    let mut line = reply(text);
    line["message"]["model"] = "<synthetic>".into();
    line["isApiErrorMessage"] = true.into();
    line["error"] = kind.into();
    line
}

fn said(content: Value, stop: &str) -> Value {
    json!({
        "parentUuid": "11111111-0000-4000-8000-000000000000", "isSidechain": false,
        "type": "assistant",
        "message": {
            "id": "msg-1", "role": "assistant", "model": "claude-opus-4-8", "content": content,
            "stop_reason": stop,
            "usage": {"input_tokens": 10, "output_tokens": 20,
                "cache_read_input_tokens": 30, "cache_creation_input_tokens": 40},
        },
        "uuid": "22222222-0000-4000-8000-000000000000", "timestamp": ENDED,
        "cwd": "/home/dev/good", "version": "2.1.197", "gitBranch": "main",
    })
}

/// The first lines of a rollout of Codex: a prompt, and an open turn.
pub(crate) fn codex_open(id: &str, text: &str) -> Vec<Value> {
    let item = json!({"type": "UserMessage", "content": [{"type": "text", "text": text}]});
    vec![
        json!({"timestamp": BEGAN, "ordinal": 0, "type": "session_meta", "payload": {
            "id": id, "timestamp": BEGAN, "cwd": "/home/dev/good", "originator": "codex_exec",
            "cli_version": "0.166.0", "source": "exec", "git": {"branch": "main"}}}),
        event(BEGAN, json!({"type": "task_started", "turn_id": "turn-1"})),
        json!({"timestamp": BEGAN, "type": "turn_context", "payload": {"turn_id": "turn-1",
            "cwd": "/home/dev/good", "approval_policy": "never", "model": "mock-model"}}),
        event(BEGAN, json!({"type": "item_completed", "item": item})),
    ]
}

/// The line that ends a turn of Codex.
pub(crate) fn codex_end(text: &str) -> Value {
    event(ENDED, json!({"type": "task_complete", "turn_id": "turn-1", "last_agent_message": text}))
}

fn event(at: &str, payload: Value) -> Value {
    json!({"timestamp": at, "type": "event_msg", "payload": payload})
}
