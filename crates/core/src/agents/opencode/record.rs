//! What a session says of itself, from either layout.

use crate::{
    agent::Stub,
    agents::json,
    evidence::{Ending, Pending, Record, Role, Tokens, Turn},
    proof::Source,
    text,
};
use jiff::Timestamp;
use serde_json::Value;
use std::{io, iter::Sum};

/// Tools that ask for leave and, once they have it, run a process or are done at once.
const ASKING: &[&str] = &["apply_patch", "bash", "edit", "multiedit", "patch", "write"];
/// Tools' variable for what runs below an agent; 1.18.33 sets it for itself when it starts.
const BELOW: (&str, &str) = ("OPENCODE", "1");

/// One message and its parts.
pub(super) struct Said {
    pub(super) body: Value,
    pub(super) parts: Vec<Value>,
    /// What shows how far it is.
    pub(super) source: Source,
}

/// The ends of a session.
pub(super) struct Saved {
    /// The session itself, in the shape of the JSON files.
    pub(super) session: Value,
    /// Parts of its first message.
    pub(super) first: Vec<Value>,
    pub(super) newest: Option<Said>,
    /// The part that holds the last thing the agent said.
    pub(super) last: Option<Value>,
    pub(super) spent: Option<Spent>,
}

/// Tokens and their price.
#[derive(Default)]
pub(super) struct Spent {
    tokens: Tokens,
    cost: f64,
}

impl Spent {
    /// What a session or one message of it counts.
    pub(super) fn of(value: &Value) -> Self {
        let (tokens, cache) = (&value["tokens"], &value["tokens"]["cache"]);
        Self {
            tokens: Tokens {
                input: json::count(tokens, "input"),
                // OpenCode counts what the model thought apart from what it said.
                output: json::count(tokens, "output")
                    .saturating_add(json::count(tokens, "reasoning")),
                cache_read: json::count(cache, "read"),
                cache_write: json::count(cache, "write"),
            },
            cost: value["cost"].as_f64().unwrap_or(0.0),
        }
    }
}

impl Sum for Spent {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            tokens: Tokens {
                input: sum.tokens.input.saturating_add(one.tokens.input),
                output: sum.tokens.output.saturating_add(one.tokens.output),
                cache_read: sum.tokens.cache_read.saturating_add(one.tokens.cache_read),
                cache_write: sum.tokens.cache_write.saturating_add(one.tokens.cache_write),
            },
            cost: sum.cost + one.cost,
        })
    }
}

/// The record of a session.
pub(super) fn of(saved: Saved, stub: &Stub) -> io::Result<Record> {
    let Saved { session, first, newest, last, spent } = saved;
    let time = &session["time"];
    let model = newest.as_ref().and_then(|said| model(&said.body)).or_else(|| chosen(&session));
    Ok(Record {
        cwd: json::path(&session, "directory"),
        model,
        title: json::string(&session, "title").filter(|title| !is_made_up(title)),
        prompt: prompt(&first),
        last: last.as_ref().and_then(|part| json::text(part, "text")).and_then(text::excerpt),
        version: json::string(&session, "version"),
        started: json::millis(time, "created"),
        updated: Some(stub.updated),
        cost_usd: spent.as_ref().map(|spent| spent.cost),
        tokens: spent.map(|spent| spent.tokens),
        parent: json::string(&session, "parentID"),
        archived: json::millis(time, "archived").is_some(),
        made_by: is_of_a_run(&session["permission"]).then_some(Role::Headless),
        ..Record::of(turn(newest)?)
    })
}

/// 1.18.33: `run` forbids its session to ask questions; nothing else does.
fn is_of_a_run(rules: &Value) -> bool {
    let written = rules.as_str().map(|text| serde_json::from_str(text).unwrap_or_default());
    let rules: &Value = written.as_ref().unwrap_or(rules);
    let forbids = |rule: &Value| {
        json::text(rule, "permission") == Some("question")
            && json::text(rule, "action") == Some("deny")
    };
    rules.as_array().is_some_and(|rules| rules.iter().any(forbids))
}

/// The model as OpenCode wants it on its command line.
fn model(message: &Value) -> Option<String> {
    let of = |value: &Value| {
        let (provider, model) = (json::text(value, "providerID")?, json::text(value, "modelID")?);
        Some(format!("{provider}/{model}"))
    };
    of(message).or_else(|| of(&message["model"]))
}

/// The model chosen for a session that has no message yet.
fn chosen(session: &Value) -> Option<String> {
    let model = json::object(json::text(session, "model")?.as_bytes());
    Some(format!("{}/{}", json::text(&model, "providerID")?, json::text(&model, "id")?))
}

/// A title that stands in until the session has one says less than the first prompt.
fn is_made_up(title: &str) -> bool {
    let stamp = title.strip_prefix("New session - ").or(title.strip_prefix("Child session - "));
    stamp.is_some_and(|stamp| stamp.parse::<Timestamp>().is_ok())
}

fn prompt(first: &[Value]) -> Option<String> {
    let written =
        |part: &&Value| json::text(part, "type") == Some("text") && !json::flag(part, "synthetic");
    first.iter().find(written).and_then(|part| text::excerpt(json::text(part, "text")?))
}

/// Whether the newest message has no end. One that is not understood may have none.
pub(super) fn is_open(newest: Said) -> bool {
    !matches!(turn(Some(newest)), Ok(Turn::Ended { .. } | Turn::None))
}

/// How far the newest message is. Earlier ones may stay open for ever: a kill leaves them so.
fn turn(newest: Option<Said>) -> io::Result<Turn> {
    let Some(Said { body, parts, source: line }) = newest else { return Ok(Turn::None) };
    let time = &body["time"];
    let created = json::millis(time, "created").ok_or_else(|| strange("it has no time"))?;
    let open = |pending| Turn::Open { alive: created, pending, line: line.clone() };
    let completed = json::millis(time, "completed");
    let ended = |how| Turn::Ended { at: completed.unwrap_or(created), how, line: line.clone() };
    match json::text(&body, "role") {
        Some("user") => return Ok(open(Pending::Nothing)),
        Some("assistant") => {}
        other => {
            return Err(strange(&format!("its role is {}", other.unwrap_or("missing"))));
        }
    }
    if let Some(error) = body.get("error").filter(|error| error.is_object()) {
        return Ok(ended(fault(error)));
    }
    Ok(match (completed, json::text(&body, "finish")) {
        (None, _) => open(pending(&parts)),
        // Between two steps, unless somebody said no: that ends the turn and leaves no other trace.
        (Some(_), Some("tool-calls" | "unknown")) => match parts.iter().any(is_refused) {
            true => ended(Ending::Interrupted),
            false => open(Pending::Nothing),
        },
        (Some(_), Some(_)) => ended(Ending::Completed),
        // A person's own `!command` has a tool and no model; a retry that was given up has neither.
        (Some(_), None) => {
            match parts.iter().any(|part| json::text(part, "type") == Some("tool")) {
                true => ended(Ending::Completed),
                false => ended(Ending::Interrupted),
            }
        }
    })
}

fn strange(why: &str) -> io::Error {
    io::Error::other(format!("its newest message is not understood: {why}"))
}

fn fault(error: &Value) -> Ending {
    let name = json::text(error, "name").unwrap_or("error");
    match (name, json::text(&error["data"], "message")) {
        ("MessageAbortedError", _) => Ending::Interrupted,
        (_, Some(message)) => Ending::Failed(text::one_line(message)),
        (name, None) => Ending::Failed(name.to_owned()),
    }
}

/// What an open message hangs on. A call has no `metadata` until it was allowed to run; what runs below
/// the agent then need not be its own (language servers do), but if nothing does, it waits.
fn pending(parts: &[Value]) -> Pending {
    let running = |part: &&Value| json::text(&part["state"], "status") == Some("running");
    let mut tools = parts.iter().filter(running);
    if tools.clone().any(|part| json::text(part, "tool") == Some("question")) {
        return Pending::Answer;
    }
    let asks = |part: &Value| {
        json::text(part, "tool").is_some_and(|tool| ASKING.contains(&tool))
            && part["state"].get("metadata").is_none()
    };
    match tools.any(asks) {
        true => Pending::ApprovalUnless {
            variable: BELOW.0.to_owned(),
            values: vec![BELOW.1.to_owned()],
        },
        false => Pending::Nothing,
    }
}

/// A call that a person refused, or a question that was put away, without a word on how to go on.
fn is_refused(part: &Value) -> bool {
    let state = &part["state"];
    let error = json::text(state, "error").unwrap_or_default();
    json::text(state, "status") == Some("error")
        && (error == "The user rejected permission to use this specific tool call."
            || error == "The user dismissed this question")
}
