//! How an agent of each dialect reads an answer, streamed or whole, and that both say the same.

use agentctl_testkit::model::{Dialect, Model};
use serde_json::{Value, json};

use super::client::{ALL, Agent, Heard, Mode, Reply, words};

/// What `reply` says to an agent of that dialect.
pub(crate) fn hear(dialect: Dialect, mode: Mode, reply: &Reply) -> Heard {
    assert!(reply.status == 200 && reply.is_whole, "not a whole answer: {reply:?}");
    let mut heard = Heard::default();
    match (dialect, mode) {
        (Dialect::Anthropic, Mode::Stream) => hear_messages(&mut heard, &reply.events()),
        (Dialect::Anthropic, Mode::Whole) => {
            for block in list(&reply.json()["content"]) {
                heard.text += text(&block["text"]);
                heard.thought += text(&block["thinking"]);
                if block["type"] == "tool_use" {
                    heard.calls.push((text(&block["name"]).into(), block["input"].clone()));
                }
            }
        }
        (Dialect::Responses, Mode::Stream) => hear_responses(&mut heard, &reply.events()),
        (Dialect::Responses, Mode::Whole) => hear_items(&mut heard, &reply.json()["output"]),
        (Dialect::Chat, Mode::Stream) => {
            assert!(reply.body.ends_with("data: [DONE]\n\n"), "{reply:?}");
            for event in reply.events() {
                hear_choice(&mut heard, &event["choices"][0]["delta"]);
            }
        }
        (Dialect::Chat, Mode::Whole) => {
            hear_choice(&mut heard, &reply.json()["choices"][0]["message"]);
        }
        (Dialect::Gemini, Mode::Stream) => {
            reply.events().iter().for_each(|event| hear_candidate(&mut heard, event));
        }
        (Dialect::Gemini, Mode::Whole) => hear_candidate(&mut heard, &reply.json()),
    }
    heard
}

fn hear_messages(heard: &mut Heard, events: &[Value]) {
    for event in events {
        let delta = &event["delta"];
        heard.text += text(&delta["text"]);
        heard.thought += text(&delta["thinking"]);
        let block = &event["content_block"];
        if block["type"] == "tool_use" {
            heard.calls.push((text(&block["name"]).into(), Value::Null));
        }
        if delta["type"] == "input_json_delta" {
            let call = heard.calls.last_mut().expect("a started call");
            call.1 = parsed(&delta["partial_json"]);
        }
    }
    assert_eq!(events.last().expect("events")["type"], "message_stop");
}

/// Codex reads the finished items; the deltas must say the same.
fn hear_responses(heard: &mut Heard, events: &[Value]) {
    let of = |kind: &'static str| events.iter().filter(move |event| event["type"] == kind);
    let done: Vec<Value> =
        of("response.output_item.done").map(|event| event["item"].clone()).collect();
    hear_items(heard, &json!(done));
    let deltas: String = of("response.output_text.delta").map(|e| text(&e["delta"])).collect();
    assert_eq!(deltas, heard.text);
    let last = events.last().expect("events");
    assert_eq!(
        (&last["type"], &last["response"]["output"]),
        (&json!("response.completed"), &json!(done))
    );
    let numbers: Vec<u64> = events.iter().filter_map(|e| e["sequence_number"].as_u64()).collect();
    assert!(numbers.iter().copied().eq(0..events.len() as u64), "{numbers:?}");
}

fn hear_items(heard: &mut Heard, output: &Value) {
    for item in list(output) {
        heard.text += text(&item["content"][0]["text"]);
        heard.thought += text(&item["summary"][0]["text"]);
        if item["type"] == "function_call" {
            heard.calls.push((text(&item["name"]).into(), parsed(&item["arguments"])));
        }
    }
}

fn hear_choice(heard: &mut Heard, said: &Value) {
    heard.text += text(&said["content"]);
    heard.thought += text(&said["reasoning_content"]);
    for call in list(&said["tool_calls"]) {
        let function = &call["function"];
        heard.calls.push((text(&function["name"]).into(), parsed(&function["arguments"])));
    }
}

fn hear_candidate(heard: &mut Heard, event: &Value) {
    for part in list(&event["candidates"][0]["content"]["parts"]) {
        if part["thought"] == true {
            heard.thought += text(&part["text"]);
        } else {
            heard.text += text(&part["text"]);
        }
        if let Some(call) = part.get("functionCall") {
            heard.calls.push((text(&call["name"]).into(), call["args"].clone()));
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn parsed(value: &Value) -> Value {
    serde_json::from_str(text(value)).expect("JSON arguments")
}

/// What the streamed and the whole answer to the start of a session say; they must agree.
pub(crate) fn first(model: &Model, dialect: Dialect, prompt: &str) -> Heard {
    let agent = Agent::new(model, dialect, prompt);
    let streamed = hear(dialect, Mode::Stream, &agent.ask());
    let whole = hear(dialect, Mode::Whole, &agent.whole().ask());
    assert_eq!(streamed, whole, "{dialect:?} {prompt}");
    streamed
}

fn usage(dialect: Dialect, mode: Mode, reply: &Reply) -> Value {
    let last = |key: &str| {
        let found = reply.events().into_iter().rev().find_map(|event| event.get(key).cloned());
        found.expect("an event with it")
    };
    match (dialect, mode) {
        (Dialect::Anthropic, Mode::Stream) => {
            let mut usage = reply.events()[0]["message"]["usage"].clone();
            usage["output_tokens"] = last("usage")["output_tokens"].clone();
            usage
        }
        (Dialect::Responses, Mode::Stream) => last("response")["usage"].clone(),
        (Dialect::Chat, Mode::Stream) => last("usage"),
        (Dialect::Gemini, Mode::Stream) => last("usageMetadata"),
        (Dialect::Gemini, Mode::Whole) => reply.json()["usageMetadata"].clone(),
        (_, Mode::Whole) => reply.json()["usage"].clone(),
    }
}

#[test]
fn every_dialect_reports_the_documented_tokens() {
    let model = Model::start().unwrap();
    let expected = |dialect, input: u64| match dialect {
        Dialect::Anthropic => json!({
            "input_tokens": input, "output_tokens": 10, "cache_read_input_tokens": 200,
            "cache_creation_input_tokens": 50, "service_tier": "standard",
        }),
        Dialect::Responses => json!({
            "input_tokens": input, "input_tokens_details": {"cached_tokens": 200},
            "output_tokens": 10, "output_tokens_details": {"reasoning_tokens": 4},
            "total_tokens": input + 10,
        }),
        Dialect::Chat => json!({
            "prompt_tokens": input, "prompt_tokens_details": {"cached_tokens": 200},
            "completion_tokens": 10, "completion_tokens_details": {"reasoning_tokens": 4},
            "total_tokens": input + 10,
        }),
        Dialect::Gemini => json!({
            "promptTokenCount": input, "cachedContentTokenCount": 200, "candidatesTokenCount": 6,
            "thoughtsTokenCount": 4, "totalTokenCount": input + 10,
        }),
    };
    for dialect in ALL {
        for (prompt, input) in [("hello", 1000), ("MOCK:tokens 77", 77)] {
            let agent = Agent::new(&model, dialect, prompt);
            let streamed = usage(dialect, Mode::Stream, &agent.ask());
            let whole = usage(dialect, Mode::Whole, &agent.whole().ask());
            assert_eq!((&streamed, &whole), (&expected(dialect, input), &streamed), "{dialect:?}");
        }
        assert_eq!(first(&model, dialect, "MOCK:tokens 77"), words("used 77 tokens"));
    }
}

#[test]
fn errors_have_the_dialects_shape() {
    let model = Model::start().unwrap();
    let expected = |dialect| match dialect {
        Dialect::Anthropic => json!({
            "type": "error", "request_id": "req_scripted",
            "error": {"type": "rate_limit_error", "message": "scripted 429"},
        }),
        Dialect::Responses | Dialect::Chat => json!({"error": {
            "message": "scripted 429", "type": "rate_limit_error", "param": null,
            "code": "rate_limit_exceeded",
        }}),
        Dialect::Gemini => json!({"error": {
            "code": 429, "message": "scripted 429", "status": "RESOURCE_EXHAUSTED",
        }}),
    };
    for dialect in ALL {
        let reply = Agent::new(&model, dialect, "MOCK:err 429").ask();
        assert_eq!((reply.status, reply.json()), (429, expected(dialect)), "{dialect:?}");
        assert!(reply.head.contains("retry-after: 1"), "{reply:?}");
    }
}

#[test]
fn a_failed_answer_ends_in_an_error_event() {
    let model = Model::start().unwrap();
    for dialect in ALL {
        let agent = Agent::new(&model, dialect, "MOCK:failed");
        let events = agent.ask().events();
        let last = events.last().unwrap();
        let message = match dialect {
            Dialect::Responses => &last["response"]["error"]["message"],
            Dialect::Anthropic | Dialect::Chat | Dialect::Gemini => &last["error"]["message"],
        };
        assert_eq!(message, "scripted failure", "{dialect:?} {events:?}");
        let whole = agent.whole().ask();
        let expected = if dialect == Dialect::Responses { 200 } else { 500 };
        assert_eq!(whole.status, expected, "{dialect:?}");
    }
}
