//! OpenAI Chat Completions, as the many compatible servers speak it.

use serde_json::{Value, json};

use super::event::{FAILURE, unnamed};
use crate::model::answer::{Answer, Beat, Block, Cue, Ending, ToolCall, Usage, whole as all_words};
use crate::model::conversation::{Conversation, Tool, Turn, items, string, texts_of};

pub(super) fn read(body: &Value) -> Conversation {
    let turn = |message: &Value| match message["role"].as_str() {
        Some("user") => Some(Turn::User(texts_of(&message["content"]))),
        Some("assistant") => Some(Turn::Model),
        Some("tool" | "function") => Some(Turn::Result),
        _ => None,
    };
    let tool = |tool: &Value| {
        let function = &tool["function"];
        Tool { name: string(&function["name"]), schema: function["parameters"].clone() }
    };
    Conversation {
        model: string(&body["model"]),
        stream: body["stream"] == true,
        turns: items(&body["messages"]).iter().filter_map(turn).collect(),
        tools: items(&body["tools"]).iter().map(tool).collect(),
    }
}

pub(super) fn stream(answer: &Answer) -> Vec<Cue> {
    let send = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        unnamed(&envelope(answer, "chat.completion.chunk", &[choice]))
    };
    let delta = |delta: Value| send(delta, Value::Null);
    let mut cues = vec![delta(json!({"role": "assistant", "content": ""}))];
    let mut calls = 0;
    for block in &answer.blocks {
        match block {
            Block::Think(thought) => cues.push(delta(json!({"reasoning_content": thought}))),
            Block::Text(beats) => cues.extend(beats.iter().map(|beat| match beat {
                Beat::Words(words) => delta(json!({"content": words})),
                Beat::Wait(wait) => Cue::Wait(wait.clone()),
            })),
            Block::Call(call) => {
                let mut call = tool_call(call);
                call["index"] = json!(calls);
                calls += 1;
                cues.push(delta(json!({"tool_calls": [call]})));
            }
        }
    }
    if answer.ending == Ending::Failed {
        cues.push(unnamed(&error(500, FAILURE)));
        return cues;
    }
    cues.push(send(json!({}), json!(finish_reason(answer))));
    let mut last = envelope(answer, "chat.completion.chunk", &[]);
    last["usage"] = usage(&answer.usage);
    cues.push(unnamed(&last));
    cues.push(Cue::Send("data: [DONE]\n\n".into()));
    cues
}

pub(super) fn whole(answer: &Answer) -> (u16, Value) {
    if answer.ending == Ending::Failed {
        return (500, error(500, FAILURE));
    }
    let mut message = json!({"role": "assistant", "content": null});
    let mut calls = Vec::new();
    for block in &answer.blocks {
        match block {
            Block::Think(thought) => message["reasoning_content"] = json!(thought),
            Block::Text(beats) => message["content"] = json!(all_words(beats)),
            Block::Call(call) => calls.push(tool_call(call)),
        }
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": finish_reason(answer)});
    let mut body = envelope(answer, "chat.completion", &[choice]);
    body["usage"] = usage(&answer.usage);
    (200, body)
}

/// Also the error body of the Responses dialect.
pub(super) fn error(status: u16, message: &str) -> Value {
    let (kind, code) = match status {
        401 => ("invalid_request_error", "invalid_api_key"),
        402 => ("insufficient_quota", "insufficient_quota"),
        403 => ("permission_error", "permission_denied"),
        404 => ("invalid_request_error", "model_not_found"),
        429 => ("rate_limit_error", "rate_limit_exceeded"),
        400..500 => ("invalid_request_error", "invalid_request"),
        _ => ("server_error", "server_error"),
    };
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

fn envelope(answer: &Answer, object: &str, choices: &[Value]) -> Value {
    json!({
        "id": format!("chatcmpl-{}", answer.id), "object": object, "created": 1_750_000_000,
        "model": answer.model, "choices": choices,
    })
}

fn tool_call(call: &ToolCall) -> Value {
    json!({
        "id": format!("call_{}", call.id), "type": "function",
        "function": {"name": call.name, "arguments": call.arguments.to_string()},
    })
}

fn usage(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input, "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens": usage.output,
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.total(),
    })
}

fn finish_reason(answer: &Answer) -> &'static str {
    if answer.has_calls() { "tool_calls" } else { "stop" }
}
