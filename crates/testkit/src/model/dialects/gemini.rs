//! Gemini `generateContent` and `streamGenerateContent`.

use serde_json::{Value, json};

use super::event::{FAILURE, unnamed};
use crate::model::answer::{Answer, Beat, Block, Cue, Ending, ToolCall, Usage, whole as all_words};
use crate::model::conversation::{Conversation, Tool, Turn, items, string, texts_of};

pub(super) fn read(path: &str, body: &Value) -> Conversation {
    let name = path.rsplit('/').next().unwrap_or_default();
    let (model, method) = name.rsplit_once(':').unwrap_or((name, ""));
    Conversation {
        model: model.to_owned(),
        stream: method == "streamGenerateContent",
        turns: items(&body["contents"]).iter().flat_map(turns).collect(),
        tools: items(&body["tools"]).iter().flat_map(tools).collect(),
    }
}

fn turns(content: &Value) -> Vec<Turn> {
    if content["role"] == "model" {
        return vec![Turn::Model];
    }
    let parts = &content["parts"];
    let is_result = |part: &&Value| part["functionResponse"].is_object();
    let mut turns: Vec<Turn> =
        items(parts).iter().filter(is_result).map(|_| Turn::Result).collect();
    let texts = texts_of(parts);
    if !texts.is_empty() {
        turns.push(Turn::User(texts));
    }
    turns
}

fn tools(group: &Value) -> Vec<Tool> {
    let tool = |function: &Value| {
        let schema = function.get("parametersJsonSchema").unwrap_or(&function["parameters"]);
        Tool { name: string(&function["name"]), schema: schema.clone() }
    };
    items(&group["functionDeclarations"]).iter().map(tool).collect()
}

pub(super) fn stream(answer: &Answer) -> Vec<Cue> {
    let send = |part: Value| unnamed(&response(answer, &[part], None));
    let mut cues = Vec::new();
    for block in &answer.blocks {
        match block {
            Block::Text(beats) => cues.extend(beats.iter().map(|beat| match beat {
                Beat::Words(words) => send(json!({"text": words})),
                Beat::Wait(wait) => Cue::Wait(wait.clone()),
            })),
            Block::Think(_) | Block::Call(_) => cues.push(send(part(block))),
        }
    }
    cues.push(match answer.ending {
        Ending::Complete => unnamed(&response(answer, &[json!({"text": ""})], Some("STOP"))),
        Ending::Failed => unnamed(&error(500, FAILURE)),
    });
    cues
}

pub(super) fn whole(answer: &Answer) -> (u16, Value) {
    match answer.ending {
        Ending::Failed => (500, error(500, FAILURE)),
        Ending::Complete => {
            let parts: Vec<Value> = answer.blocks.iter().map(part).collect();
            (200, response(answer, &parts, Some("STOP")))
        }
    }
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let name = match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        400..500 => "INVALID_ARGUMENT",
        _ => "INTERNAL",
    };
    json!({"error": {"code": status, "message": message, "status": name}})
}

fn part(block: &Block) -> Value {
    match block {
        Block::Think(thought) => json!({"text": thought, "thought": true}),
        Block::Text(beats) => json!({"text": all_words(beats)}),
        Block::Call(call) => function_call(call),
    }
}

fn function_call(call: &ToolCall) -> Value {
    let (id, name, arguments) = (&call.id, &call.name, &call.arguments);
    json!({"functionCall": {"id": format!("call_{id}"), "name": name, "args": arguments}})
}

fn response(answer: &Answer, parts: &[Value], finish: Option<&str>) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    json!({
        "responseId": answer.id, "modelVersion": answer.model, "candidates": [candidate],
        "usageMetadata": usage(&answer.usage),
    })
}

/// Here thinking is not part of the candidates' tokens, and the total counts both.
fn usage(usage: &Usage) -> Value {
    json!({
        "promptTokenCount": usage.input, "cachedContentTokenCount": usage.cached,
        "candidatesTokenCount": usage.output - usage.reasoning,
        "thoughtsTokenCount": usage.reasoning, "totalTokenCount": usage.total(),
    })
}
