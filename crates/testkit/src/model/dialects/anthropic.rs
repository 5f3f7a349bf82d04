//! Anthropic Messages.

use serde_json::{Value, json};

use super::event::{FAILURE, named};
use crate::model::answer::{Answer, Beat, Block, Cue, Ending, ToolCall, Usage, whole as all_words};
use crate::model::conversation::{Conversation, Tool, Turn, items, string, texts_of};

/// What a thinking block is signed with; clients pass it on without looking.
const SIGNATURE: &str = "c2NyaXB0ZWQ=";

pub(super) fn read(body: &Value) -> Conversation {
    let tool =
        |tool: &Value| Tool { name: string(&tool["name"]), schema: tool["input_schema"].clone() };
    Conversation {
        model: string(&body["model"]),
        stream: body["stream"] == true,
        turns: items(&body["messages"]).iter().flat_map(turns).collect(),
        tools: items(&body["tools"]).iter().map(tool).collect(),
    }
}

/// A user message may hold results and text: the results answer what was before, so they go first.
fn turns(message: &Value) -> Vec<Turn> {
    match message["role"].as_str() {
        Some("assistant") => return vec![Turn::Model],
        Some("user") => {}
        // Claude Code 2.1.197 sends reminders as messages of the role `system`.
        _ => return Vec::new(),
    }
    let content = &message["content"];
    let is_result = |block: &&Value| block["type"] == "tool_result";
    let mut turns: Vec<Turn> =
        items(content).iter().filter(is_result).map(|_| Turn::Result).collect();
    let texts = texts_of(content);
    if !texts.is_empty() {
        turns.push(Turn::User(texts));
    }
    turns
}

pub(super) fn stream(answer: &Answer) -> Vec<Cue> {
    let message = message(answer, &[], 1);
    let mut cues = vec![named(&json!({"type": "message_start", "message": message}))];
    cues.push(named(&json!({"type": "ping"})));
    for (index, block) in answer.blocks.iter().enumerate() {
        stream_block(&mut cues, index, block);
    }
    if answer.ending == Ending::Failed {
        cues.push(named(&error(500, FAILURE)));
        return cues;
    }
    cues.push(named(&json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason(answer), "stop_sequence": null},
        "usage": {"output_tokens": answer.usage.output},
    })));
    cues.push(named(&json!({"type": "message_stop"})));
    cues
}

fn stream_block(cues: &mut Vec<Cue>, index: usize, block: &Block) {
    let start = match block {
        Block::Think(_) => json!({"type": "thinking", "thinking": "", "signature": ""}),
        Block::Text(_) => json!({"type": "text", "text": ""}),
        Block::Call(call) => tool_use(call, json!({})),
    };
    let mut event = |event: Value| cues.push(named(&event));
    event(json!({"type": "content_block_start", "index": index, "content_block": start}));
    let delta =
        |delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    match block {
        Block::Think(thought) => {
            event(delta(json!({"type": "thinking_delta", "thinking": thought})));
            event(delta(json!({"type": "signature_delta", "signature": SIGNATURE})));
        }
        Block::Text(beats) => {
            for beat in beats {
                cues.push(match beat {
                    Beat::Words(words) => {
                        named(&delta(json!({"type": "text_delta", "text": words})))
                    }
                    Beat::Wait(wait) => Cue::Wait(wait.clone()),
                });
            }
        }
        Block::Call(call) => {
            let arguments = call.arguments.to_string();
            event(delta(json!({"type": "input_json_delta", "partial_json": arguments})));
        }
    }
    cues.push(named(&json!({"type": "content_block_stop", "index": index})));
}

pub(super) fn whole(answer: &Answer) -> (u16, Value) {
    if answer.ending == Ending::Failed {
        return (500, error(500, FAILURE));
    }
    let block = |block: &Block| match block {
        Block::Think(thought) => {
            json!({"type": "thinking", "thinking": thought, "signature": SIGNATURE})
        }
        Block::Text(beats) => json!({"type": "text", "text": all_words(beats)}),
        Block::Call(call) => tool_use(call, call.arguments.clone()),
    };
    let content: Vec<Value> = answer.blocks.iter().map(block).collect();
    let mut message = message(answer, &content, answer.usage.output);
    message["stop_reason"] = json!(stop_reason(answer));
    (200, message)
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        400..500 => "invalid_request_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"})
}

fn message(answer: &Answer, content: &[Value], output: u64) -> Value {
    json!({
        "id": format!("msg_{}", answer.id), "type": "message", "role": "assistant",
        "model": answer.model, "content": content,
        "stop_reason": null, "stop_sequence": null, "usage": usage(&answer.usage, output),
    })
}

fn usage(usage: &Usage, output: u64) -> Value {
    json!({
        "input_tokens": usage.input, "output_tokens": output,
        "cache_read_input_tokens": usage.cached, "cache_creation_input_tokens": usage.written,
        "service_tier": "standard",
    })
}

fn tool_use(call: &ToolCall, input: Value) -> Value {
    json!({"type": "tool_use", "id": format!("toolu_{}", call.id), "name": call.name, "input": input})
}

fn stop_reason(answer: &Answer) -> &'static str {
    if answer.has_calls() { "tool_use" } else { "end_turn" }
}
