//! One connection: which request wants what, and how the answer goes out.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use serde_json::{Value, json};

use super::answer::{Answer, Cue, Usage, Wait};
use super::compose::{Reaction, Speech, react};
use super::conversation::Conversation;
use super::dialects::Dialect;
use super::http::{Inbound, Link};
use super::journal::Request;
use super::script::{Plan, Verb};
use super::server::Shared;

/// The longest `until` holds an answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// How much of a prompt a [`Request`] keeps.
const EXCERPT: usize = 400;

/// Answers requests until the client, a script or the end of the model closes the connection.
pub(crate) fn serve(mut link: Link, shared: &Shared) {
    // Whatever went wrong on this connection, the client sees it end: that is all there is to tell.
    while let Ok(Some(inbound)) = link.receive() {
        let served = serve_one(&mut link, shared, &inbound);
        if served.is_err() || inbound.is_last() {
            return;
        }
    }
}

fn serve_one(link: &mut Link, shared: &Shared, inbound: &Inbound) -> io::Result<()> {
    match (inbound.method.as_str(), Dialect::of(inbound.path())) {
        ("POST", Some(dialect)) => Desk { link, shared, dialect }.serve(inbound),
        ("HEAD", _) => {
            shared.journal.note(note(inbound));
            link.head(200, &[("content-length", "0")])
        }
        _ => {
            shared.journal.note(note(inbound));
            let (status, body) = other(inbound);
            link.json(status, &body)
        }
    }
}

/// Requests that do not ask for an answer of the model.
fn other(inbound: &Inbound) -> (u16, Value) {
    let path = inbound.path();
    if inbound.header("upgrade").is_some() {
        return (
            426,
            json!({"error": {"message": "no websockets here", "type": "upgrade_refused"}}),
        );
    }
    match inbound.method.as_str() {
        "GET" if path.ends_with("/models") => (200, models()),
        "POST" if path.ends_with("/count_tokens") => {
            (200, json!({"input_tokens": Usage::USUAL.input}))
        }
        "POST" if path.ends_with(":countTokens") => {
            (200, json!({"totalTokens": Usage::USUAL.input}))
        }
        "POST" if path.ends_with("/responses/compact") => {
            let summary = json!({"type": "input_text", "text": "a scripted summary"});
            let message = json!({"type": "message", "role": "user", "content": [summary]});
            (200, json!({"output": [message]}))
        }
        _ => {
            (404, json!({"error": {"message": format!("nothing at {path}"), "type": "not_found"}}))
        }
    }
}

/// A list in the shape of every dialect at once; Codex wants `models`, the others `data`.
fn models() -> Value {
    let id = "scripted-1";
    let model = json!({
        "id": id, "object": "model", "created": 0, "owned_by": "testkit",
        "type": "model", "display_name": "Scripted", "created_at": "2025-01-01T00:00:00Z",
    });
    json!({
        "object": "list", "data": [model], "models": [],
        "has_more": false, "first_id": id, "last_id": id,
    })
}

/// A request for an answer of the model, and the way back.
struct Desk<'a> {
    link: &'a mut Link,
    shared: &'a Shared,
    dialect: Dialect,
}

impl Desk<'_> {
    fn serve(&mut self, inbound: &Inbound) -> io::Result<()> {
        let body = match readable(inbound) {
            Ok(body) => body,
            Err((status, why)) => {
                self.shared.journal.note(note(inbound));
                return self.refuse(status, &why);
            }
        };
        let conversation = self.dialect.read(inbound.path(), &body);
        let plan = conversation.plan();
        let request = self.request(inbound, &conversation, &plan);
        let asker = format!("{:?} {:?}", self.dialect, request.headers);
        self.shared.journal.note(request);
        let id = self.shared.fresh_id();
        match decide(&plan, &conversation, &id) {
            Err(why) => self.refuse(400, &why),
            Ok((Reaction::Speak(speech), _)) => self.speak(&conversation, speech, id),
            Ok((Reaction::Refuse { status, times }, place)) => {
                let tries = || self.shared.visits(&format!("{asker} {place}"));
                if times.is_none_or(|times| tries() < times) {
                    self.refuse(status, &format!("scripted {status}"))
                } else {
                    self.speak(&conversation, Speech::text("recovered"), id)
                }
            }
        }
    }

    fn request(&self, inbound: &Inbound, conversation: &Conversation, plan: &Plan) -> Request {
        let directive = match plan {
            Plan::Line { line, .. } => Some(line.clone()),
            Plan::Plain | Plan::Side | Plan::Over => None,
        };
        Request {
            dialect: Some(self.dialect),
            model: conversation.model.clone(),
            prompt: conversation.prompt().chars().take(EXCERPT).collect(),
            directive,
            tools: conversation.tools.iter().map(|tool| tool.name.clone()).collect(),
            ..note(inbound)
        }
    }

    fn refuse(&mut self, status: u16, why: &str) -> io::Result<()> {
        self.link.json(status, &self.dialect.error(status, why))
    }

    fn speak(&mut self, to: &Conversation, speech: Speech, id: String) -> io::Result<()> {
        let Speech { silence, blocks, usage, ending } = speech;
        let answer = Answer { id, model: to.model.clone(), blocks, usage, ending };
        self.shared.halt.pause(silence)?;
        if !to.stream {
            return self.send_whole(&answer);
        }
        self.link.open_events()?;
        for cue in self.dialect.stream(&answer) {
            match cue {
                Cue::Send(text) => self.link.piece(&text)?,
                Cue::Wait(wait) => sit_out(self.shared, &wait)?,
            }
        }
        self.link.finish()
    }

    /// Sends an answer in one piece; its waits all come in the middle of the body.
    fn send_whole(&mut self, answer: &Answer) -> io::Result<()> {
        let (status, body) = self.dialect.whole(answer);
        let body = body.to_string();
        self.link.head(status, &[("content-length", &body.len().to_string())])?;
        let (first, second) = body.split_at(body.floor_char_boundary(body.len() / 2));
        self.link.raw(first)?;
        for wait in answer.waits() {
            sit_out(self.shared, &wait)?;
        }
        self.link.raw(second)
    }
}

fn readable(inbound: &Inbound) -> Result<Value, (u16, String)> {
    match inbound.header("content-encoding") {
        None | Some("identity") => {}
        Some(coding) => return Err((415, format!("cannot read a body in {coding}"))),
    }
    serde_json::from_slice(&inbound.body).map_err(|why| (400, format!("unreadable body: {why}")))
}

/// What to do, and the place in the script that says so; the error is the script's or the client's.
fn decide<'a>(
    plan: &'a Plan,
    conversation: &Conversation,
    id: &str,
) -> Result<(Reaction, &'a str), String> {
    let plain = |words| Ok((Reaction::Speak(Speech::text(words)), ""));
    match plan {
        Plan::Plain | Plan::Side => plain("ok"),
        Plan::Over => plain("done"),
        Plan::Line { line, place } => Verb::parse(line)
            .and_then(|verb| react(&verb, &conversation.tools, id))
            .map(|reaction| (reaction, place.as_str()))
            .map_err(|why| format!("cannot do `MOCK:{line}`: {why}")),
    }
}

fn sit_out(shared: &Shared, wait: &Wait) -> io::Result<()> {
    match wait {
        Wait::For(time) => shared.halt.pause(*time),
        Wait::File(file) => shared.halt.until(file, PATIENCE),
        Wait::Cut => Err(io::Error::other("the script cuts the connection")),
    }
}

/// What a request says before its body is understood.
fn note(inbound: &Inbound) -> Request {
    let names_asker =
        |name: &str| name == "user-agent" || name.contains("session") || name.contains("thread");
    let headers: BTreeMap<String, String> =
        inbound.headers.iter().filter(|(name, _)| names_asker(name)).cloned().collect();
    Request {
        method: inbound.method.clone(),
        path: inbound.target.clone(),
        dialect: None,
        model: String::new(),
        prompt: String::new(),
        directive: None,
        tools: Vec::new(),
        headers,
    }
}
