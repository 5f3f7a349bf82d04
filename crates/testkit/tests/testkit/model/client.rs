//! A raw HTTP client and the requests an agent would send in each dialect.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use agentctl_testkit::model::{Dialect, Model};
use serde_json::{Value, json};

/// All dialects.
pub(crate) const ALL: [Dialect; 4] =
    [Dialect::Anthropic, Dialect::Responses, Dialect::Chat, Dialect::Gemini];

/// A response, read until its end or until the connection broke.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
    /// Whether the body ended as its headers promised.
    pub(crate) is_whole: bool,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("a JSON body")
    }

    /// The data of every server-sent event that is JSON.
    pub(crate) fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter_map(|data| serde_json::from_str(data).ok()).collect()
    }
}

/// How the answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Stream,
    Whole,
}

/// Sends `request` and reads all that comes back.
pub(crate) fn exchange(port: u16, request: &str) -> Option<Reply> {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).expect("a listening model");
    socket.write_all(request.as_bytes()).expect("the request is sent");
    let mut bytes = Vec::new();
    match socket.read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("reading the response: {error}"),
    }
    parse(&String::from_utf8(bytes).expect("a text response"))
}

/// A response with everything decoded; `None` when not even a head arrived.
fn parse(text: &str) -> Option<Reply> {
    let (head, rest) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    let (body, is_whole) = if head.contains("transfer-encoding: chunked") {
        unchunked(rest)
    } else {
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        (rest.to_owned(), length == Some(&rest.len().to_string()))
    };
    Some(Reply { status, head: head.to_owned(), body, is_whole })
}

fn unchunked(mut rest: &str) -> (String, bool) {
    let mut body = String::new();
    while let Some((size, tail)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a chunk size");
        if size == 0 {
            return (body, true);
        }
        body.push_str(&tail[..size]);
        rest = &tail[size + 2..];
    }
    (body, false)
}

/// A request as text.
pub(crate) fn http(method: &str, path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nuser-agent: raw/1\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

/// An agent in the middle of a session: what it has said so far, in one dialect.
pub(crate) struct Agent<'a> {
    pub(crate) model: &'a Model,
    pub(crate) dialect: Dialect,
    pub(crate) mode: Mode,
    history: Vec<Value>,
}

impl<'a> Agent<'a> {
    /// A new session that begins with `prompt`.
    pub(crate) fn new(model: &'a Model, dialect: Dialect, prompt: &str) -> Agent<'a> {
        let history = vec![match dialect {
            Dialect::Gemini => json!({"role": "user", "parts": [{"text": prompt}]}),
            Dialect::Anthropic | Dialect::Chat | Dialect::Responses => {
                json!({"role": "user", "content": [{"type": "text", "text": prompt}]})
            }
        }];
        Agent { model, dialect, mode: Mode::Stream, history }
    }

    /// The same session asked for whole answers.
    pub(crate) fn whole(self) -> Agent<'a> {
        Agent { mode: Mode::Whole, ..self }
    }

    /// Asks for the next answer.
    pub(crate) fn ask(&self) -> Reply {
        self.try_ask().expect("a response")
    }

    /// Asks for the next answer; `None` when the connection ended without any.
    pub(crate) fn try_ask(&self) -> Option<Reply> {
        exchange(self.model.port(), &http("POST", &self.path(), &self.body().to_string()))
    }

    /// Asks the way a title is asked for: without tools.
    pub(crate) fn ask_aside(&self) -> Reply {
        let mut body = self.body();
        body["tools"] = json!([]);
        exchange(self.model.port(), &http("POST", &self.path(), &body.to_string()))
            .expect("a response")
    }

    /// Adds to the history that the model called tools and got results.
    pub(crate) fn used_tools(&mut self, count: usize) {
        let call = |n: usize| format!("c{n}");
        let calls = 0..count;
        match self.dialect {
            Dialect::Anthropic => {
                let uses: Vec<Value> =
                    calls.clone().map(|n| json!({"type": "tool_use", "id": call(n)})).collect();
                let results: Vec<Value> =
                    calls.map(|n| json!({"type": "tool_result", "tool_use_id": call(n)})).collect();
                self.history.push(json!({"role": "assistant", "content": uses}));
                self.history.push(json!({"role": "user", "content": results}));
            }
            Dialect::Responses => {
                let item = |kind: &str, n| json!({"type": kind, "call_id": call(n)});
                self.history.extend(calls.clone().map(|n| item("function_call", n)));
                self.history.extend(calls.map(|n| item("function_call_output", n)));
            }
            Dialect::Chat => {
                let uses: Vec<Value> = calls.clone().map(|n| json!({"id": call(n)})).collect();
                self.history.push(json!({"role": "assistant", "tool_calls": uses}));
                self.history
                    .extend(calls.map(|n| json!({"role": "tool", "tool_call_id": call(n)})));
            }
            Dialect::Gemini => {
                let part = |key: &str| calls.clone().map(|_| json!({key: {}})).collect::<Vec<_>>();
                let (uses, results) = (part("functionCall"), part("functionResponse"));
                self.history.push(json!({"role": "model", "parts": uses}));
                self.history.push(json!({"role": "user", "parts": results}));
            }
        }
    }

    fn path(&self) -> String {
        match (self.dialect, self.mode) {
            (Dialect::Anthropic, _) => "/v1/messages?beta=true".into(),
            (Dialect::Responses, _) => "/v1/responses".into(),
            (Dialect::Chat, _) => "/v1/chat/completions".into(),
            (Dialect::Gemini, Mode::Stream) => {
                "/v1beta/models/m-1:streamGenerateContent?alt=sse".into()
            }
            (Dialect::Gemini, Mode::Whole) => "/v1beta/models/m-1:generateContent".into(),
        }
    }

    fn body(&self) -> Value {
        let history = &self.history;
        let text = json!({"type": "string"});
        let schema = json!({
            "type": "object", "required": ["command"],
            "properties": {"command": text, "sandbox_permissions": text},
        });
        let stream = self.mode == Mode::Stream;
        match self.dialect {
            Dialect::Anthropic => json!({
                "model": "m-1", "stream": stream, "messages": history,
                "tools": [{"name": "Bash", "input_schema": schema},
                          {"name": "AskUserQuestion", "input_schema": {}}],
            }),
            Dialect::Responses => json!({
                "model": "m-1", "stream": stream, "input": history,
                "tools": [{"type": "function", "name": "shell", "parameters": schema},
                          {"type": "function", "name": "request_user_input"},
                          {"type": "web_search"}],
            }),
            Dialect::Chat => json!({
                "model": "m-1", "stream": stream, "messages": history,
                "tools": [{"type": "function", "function": {"name": "bash", "parameters": schema}},
                          {"type": "function", "function": {"name": "question"}}],
            }),
            Dialect::Gemini => json!({
                "contents": history,
                "tools": [{"functionDeclarations": [
                    {"name": "run_shell_command", "parametersJsonSchema": schema},
                    {"name": "ask_user"}]}],
            }),
        }
    }
}

/// What an answer says, read the way an agent of that dialect reads it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Heard {
    pub(crate) thought: String,
    pub(crate) text: String,
    pub(crate) calls: Vec<(String, Value)>,
}

/// Text only.
pub(crate) fn words(text: &str) -> Heard {
    Heard { text: text.into(), ..Heard::default() }
}

/// One call only.
pub(crate) fn calling(name: &str, arguments: Value) -> Heard {
    Heard { calls: vec![(name.into(), arguments)], ..Heard::default() }
}
