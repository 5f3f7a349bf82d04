//! OpenAI Responses.

use serde_json::{Value, json};

use super::event::{FAILURE, named};
use crate::model::answer::{Answer, Beat, Block, Cue, Ending, ToolCall, Usage, whole as all_words};
use crate::model::conversation::{Conversation, Tool, Turn, items, string, texts_of};

pub(super) fn read(body: &Value) -> Conversation {
    let turns = match &body["input"] {
        Value::String(text) => vec![Turn::User(vec![text.clone()])],
        input => items(input).iter().filter_map(turn).collect(),
    };
    Conversation {
        model: string(&body["model"]),
        stream: body["stream"] == true,
        turns,
        tools: items(&body["tools"]).iter().filter_map(tool).collect(),
    }
}

fn turn(item: &Value) -> Option<Turn> {
    let kind = item["type"].as_str().unwrap_or("message");
    match (kind, item["role"].as_str()) {
        ("message", Some("user")) => Some(Turn::User(texts_of(&item["content"]))),
        ("message", Some("assistant")) => Some(Turn::Model),
        ("message", _) => None,
        (kind, _) if kind.ends_with("_output") => Some(Turn::Result),
        (kind, _) if kind.ends_with("_call") || kind == "reasoning" => Some(Turn::Model),
        _ => None,
    }
}

/// Hosted tools (`web_search` and the like) have a type and no name; the model cannot call them.
fn tool(tool: &Value) -> Option<Tool> {
    let name = tool["name"].as_str()?.to_owned();
    Some(Tool { name, schema: tool["parameters"].clone() })
}

/// The first part of an item, the only one any item here has.
#[derive(Clone, Copy)]
struct Part<'a> {
    item: &'a str,
    index: usize,
    /// The field that numbers such parts.
    counter: &'a str,
}

/// Writes events with their running number.
#[derive(Default)]
struct Events {
    cues: Vec<Cue>,
    count: usize,
}

impl Events {
    fn event(&mut self, mut event: Value) {
        event["sequence_number"] = json!(self.count);
        self.count += 1;
        self.cues.push(named(&event));
    }

    /// An event about a part of an item, with one more field.
    fn part(&mut self, kind: &str, at: Part<'_>, (key, value): (&str, Value)) {
        let mut event = json!({
            "type": format!("response.{kind}"), "item_id": at.item, "output_index": at.index,
        });
        event[at.counter] = json!(0);
        event[key] = value;
        self.event(event);
    }
}

pub(super) fn stream(answer: &Answer) -> Vec<Cue> {
    let mut events = Events::default();
    let response = |status, items: &[Value]| response(answer, status, items);
    let opening = response("in_progress", &[]);
    events.event(json!({"type": "response.created", "response": opening}));
    events.event(json!({"type": "response.in_progress", "response": opening}));
    if answer.ending == Ending::Failed {
        events.event(json!({"type": "response.failed", "response": response("failed", &[])}));
        return events.cues;
    }
    let mut done = Vec::new();
    for (index, block) in answer.blocks.iter().enumerate() {
        let item = item(answer, index, block);
        let mut started = blank(item.clone());
        started["status"] = json!("in_progress");
        events.event(json!({
            "type": "response.output_item.added", "output_index": index, "item": started,
        }));
        stream_block(&mut events, index, block, &string(&item["id"]));
        events.event(json!({
            "type": "response.output_item.done", "output_index": index, "item": item,
        }));
        done.push(item);
    }
    events.event(json!({"type": "response.completed", "response": response("completed", &done)}));
    events.cues
}

fn stream_block(events: &mut Events, index: usize, block: &Block, item: &str) {
    match block {
        Block::Think(thought) => {
            let at = Part { item, index, counter: "summary_index" };
            let part = json!({"type": "summary_text", "text": ""});
            events.part("reasoning_summary_part.added", at, ("part", part));
            events.part("reasoning_summary_text.delta", at, ("delta", json!(thought)));
            events.part("reasoning_summary_text.done", at, ("text", json!(thought)));
            let part = json!({"type": "summary_text", "text": thought});
            events.part("reasoning_summary_part.done", at, ("part", part));
        }
        Block::Text(beats) => {
            let at = Part { item, index, counter: "content_index" };
            events.part("content_part.added", at, ("part", output_text("")));
            for beat in beats {
                match beat {
                    Beat::Words(words) => {
                        events.part("output_text.delta", at, ("delta", json!(words)));
                    }
                    Beat::Wait(wait) => events.cues.push(Cue::Wait(wait.clone())),
                }
            }
            let text = all_words(beats);
            events.part("output_text.done", at, ("text", json!(text)));
            events.part("content_part.done", at, ("part", output_text(&text)));
        }
        Block::Call(call) => {
            let arguments = call.arguments.to_string();
            for (kind, key) in [("delta", "delta"), ("done", "arguments")] {
                let mut event = json!({
                    "type": format!("response.function_call_arguments.{kind}"),
                    "item_id": item, "output_index": index,
                });
                event[key] = json!(arguments);
                events.event(event);
            }
        }
    }
}

pub(super) fn whole(answer: &Answer) -> (u16, Value) {
    let (status, output) = match answer.ending {
        Ending::Failed => ("failed", Vec::new()),
        Ending::Complete => {
            let blocks = answer.blocks.iter().enumerate();
            ("completed", blocks.map(|(index, block)| item(answer, index, block)).collect())
        }
    };
    (200, response(answer, status, &output))
}

fn response(answer: &Answer, status: &str, output: &[Value]) -> Value {
    let usage = if status == "completed" { usage(&answer.usage) } else { Value::Null };
    // Codex 0.166 retries every other code of a failed response.
    let error = match status {
        "failed" => json!({"code": "invalid_prompt", "message": FAILURE}),
        _ => Value::Null,
    };
    json!({
        "id": format!("resp_{}", answer.id), "object": "response", "created_at": 1_750_000_000,
        "status": status, "model": answer.model, "output": output, "usage": usage, "error": error,
    })
}

/// The finished item of a block.
fn item(answer: &Answer, index: usize, block: &Block) -> Value {
    let id = format!("{}_{index}", answer.id);
    match block {
        Block::Think(thought) => json!({
            "type": "reasoning", "id": format!("rs_{id}"),
            "summary": [{"type": "summary_text", "text": thought}],
        }),
        Block::Text(beats) => json!({
            "type": "message", "id": format!("msg_{id}"), "role": "assistant",
            "status": "completed", "content": [output_text(&all_words(beats))],
        }),
        Block::Call(call) => function_call(call, &id),
    }
}

fn function_call(call: &ToolCall, id: &str) -> Value {
    let mut item = json!({
        "type": "function_call", "id": format!("fc_{id}"), "call_id": format!("call_{}", call.id),
        "name": call.name, "arguments": call.arguments.to_string(), "status": "completed",
    });
    if let Some(space) = &call.space {
        item["namespace"] = json!(space);
    }
    item
}

/// The item as it is announced, before anything of it was sent.
fn blank(mut item: Value) -> Value {
    for (key, empty) in [("summary", json!([])), ("content", json!([])), ("arguments", json!(""))] {
        if item.get(key).is_some() {
            item[key] = empty;
        }
    }
    item
}

fn output_text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}

fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input, "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.total(),
    })
}
