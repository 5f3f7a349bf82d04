//! What is said of an event, in the words of each format. Pure.

use crate::config::Format;
use agentctl_core::{
    fuse::{Action, Target},
    text::one_line,
    wire::{Event, EventKind, StateName},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// So much of a prompt is told.
const SUMMARY: usize = 200;

/// Something that happened, and to whom it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notice<'a> {
    pub(crate) event: &'a Event,
    /// Everybody is told, whatever they want to hear: a person asked for it, by a fuse.
    pub(crate) to_all: bool,
}

impl<'a> Notice<'a> {
    /// A person who had a fuse set off webhooks wants it told, whatever else they are told.
    pub(crate) fn of(event: &'a Event) -> Self {
        let asked = event.fuse.as_ref().is_some_and(|fuse| fuse.action == Action::Webhook);
        Self { event, to_all: asked && event.kind == EventKind::FuseFired }
    }
}

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Message {
    /// The name of what happened.
    pub(super) kind: String,
    /// What the body is.
    pub(super) content_type: String,
    /// In a few words of ours.
    pub(super) title: String,
    /// Somebody should look now.
    pub(super) urgent: bool,
    pub(super) body: String,
}

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// A webhook of this format.
    Format(Format),
    /// The desktop.
    Desktop,
}

/// What is said of an event.
pub(super) fn message(event: &Event, words: Words) -> Message {
    let (content_type, body) = match words {
        Words::Format(Format::Event) => (JSON, whole(event).to_string()),
        Words::Format(Format::Old) => (JSON, old(event).to_string()),
        Words::Format(Format::Slack) => (JSON, slack(&line(event))),
        Words::Format(Format::Ntfy) | Words::Desktop => (TEXT, line(event)),
    };
    let agent = event.session.as_ref().map_or("agentctl", |session| &session.agent);
    Message {
        kind: event.kind.name().to_owned(),
        content_type: content_type.to_owned(),
        title: format!("{agent} {}", event.kind.name()),
        urgent: matches!(event.kind, EventKind::Waiting | EventKind::BudgetCrossed)
            || event.kind == EventKind::Ended
                && matches!(event.after, Some(StateName::Failed | StateName::Died)),
        body,
    }
}

/// What is said to see whether somebody listens.
pub(super) fn trial(id: &str, at: Timestamp, words: Words) -> Message {
    const KIND: &str = "webhook.test";
    const LINE: &str = "this is a test of agentctl";
    let (content_type, body) = match words {
        Words::Format(Format::Event) => {
            (JSON, json!({"schema": 1, "type": KIND, "id": id, "at": at}).to_string())
        }
        Words::Format(Format::Old) => {
            let told = json!({
                "hook_type": KIND, "session_id": "test", "adapter": "agentctl",
                "duration_seconds": 0, "exit_status": "stopped", "summary": LINE,
                "meta": {}, "timestamp": at,
            });
            (JSON, told.to_string())
        }
        Words::Format(Format::Slack) => (JSON, slack(LINE)),
        Words::Format(Format::Ntfy) | Words::Desktop => (TEXT, LINE.to_owned()),
    };
    Message {
        kind: KIND.to_owned(),
        content_type: content_type.to_owned(),
        title: "agentctl test".to_owned(),
        urgent: false,
        body,
    }
}

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

/// All but the cursor: it names every session that lives, every lock and every fuse, whatever the target is to
/// hear of.
fn whole(event: &Event) -> Value {
    let mut told = serde_json::to_value(event).unwrap_or_default();
    if let Some(fields) = told.as_object_mut() {
        fields.remove("cursor");
    }
    told
}

/// The payload of agentctl 1.x, which knew one event: what has ended was `stopped`.
fn old(event: &Event) -> Value {
    let ended = event.kind == EventKind::Ended;
    let hook_type = if ended { "session.stopped" } else { event.kind.name() };
    let session = event.session.as_deref();
    let lock = event.lock.as_ref();
    let (dir, own) = about(event);
    let id = session.and_then(|session| session.id.as_ref());
    let id = id.or(lock.and_then(|lock| lock.session_id.as_ref())).or(own.map(|(_, id)| id));
    let cwd = session.and_then(|session| session.cwd.as_ref());
    let cwd = cwd.or(lock.map(|lock| &lock.directory)).or(dir);
    let adapter = session.map(|session| &session.adapter).or(own.map(|(agent, _)| agent));
    let began = session.and_then(|session| session.started_at);
    let ended = session.and_then(|session| session.ended_at).unwrap_or(event.at);
    let seconds = began.map_or(0, |began| ended.duration_since(began).as_secs().max(0));
    let prompt = session.and_then(|session| session.prompt.as_deref());
    json!({
        "hook_type": hook_type,
        "session_id": id,
        "cwd": cwd.map(|cwd| cwd.to_string_lossy()),
        "adapter": adapter,
        "duration_seconds": seconds,
        "exit_status": session.map(|session| session.status),
        "summary": prompt.map(|prompt| prompt.chars().take(SUMMARY).collect::<String>()),
        "meta": meta(event),
        "timestamp": event.at,
    })
}

/// What 1.x carried along for whoever launched it.
fn meta(event: &Event) -> Map<String, Value> {
    let (session, fuse) = (event.session.as_deref(), event.fuse.as_ref());
    let callback = session.and_then(|session| session.callback.clone()).unwrap_or_default();
    let pairs = [
        ("openclaw_callback_session_key", callback.session),
        ("openclaw_callback_agent_id", callback.agent),
        ("group", session.and_then(|session| session.group.clone())),
        ("launch_id", session.and_then(|session| session.launch_id.clone())),
        ("fuse", fuse.map(|fuse| fuse.id.clone())),
        ("label", fuse.and_then(|fuse| fuse.label.clone())),
    ];
    let told = pairs.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into())));
    told.collect()
}

/// Slack takes `<!channel>` for an order, and asks for these three to be escaped.
fn slack(line: &str) -> String {
    let text = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    json!({ "text": text }).to_string()
}

/// What happened, in a line for people.
fn line(event: &Event) -> String {
    let Some(session) = event.session.as_deref() else { return other(event) };
    let name = session.id.as_deref().unwrap_or("a session without a name");
    let ended = event.kind == EventKind::Ended;
    let stuck = session.stuck().filter(|_| !ended);
    let after = event.after.filter(|_| event.kind != EventKind::Changed || stuck.is_some());
    let what = match after {
        Some(after) if ended => format!("ended: {}", after.name()),
        Some(after) => format!("is {}", after.name()),
        None => crossed(event).unwrap_or_else(|| event.kind.name().to_owned()),
    };
    let exit = session.exit_code.filter(|_| ended);
    let exit = exit.map(|code| format!(", exit {code}")).unwrap_or_default();
    let stuck = stuck.map(|why| format!(", {why}")).unwrap_or_default();
    let cwd = session.cwd.as_ref().map(|cwd| format!(", in {}", cwd.display())).unwrap_or_default();
    let about = session.title.as_ref().or(session.prompt.as_ref());
    let about = about.map(|text| one_line(text).chars().take(SUMMARY).collect::<String>());
    let about = about.map(|text| format!(": {text}")).unwrap_or_default();
    one_line(&format!("{} {name} {what}{stuck}{exit}{cwd}{about}", session.agent))
}

/// What was used of a budget.
fn crossed(event: &Event) -> Option<String> {
    let over = &event.budget.as_ref()?.crossed;
    let (limit, action) = (over.limit.name(), over.action.name());
    Some(format!("crossed its budget: {limit} {} of {}, {action}", over.used, over.allowed))
}

fn other(event: &Event) -> String {
    let what = event.kind.name();
    let lock = event.lock.as_ref().map(|lock| lock.directory.display().to_string());
    let (dir, own) = about(event);
    let own = own.map(|(agent, id)| format!("{agent} {id}"));
    let label = event.fuse.as_ref().and_then(|fuse| fuse.label.as_ref());
    let label = label.map(|label| format!(" ({label})")).unwrap_or_default();
    match (own, crossed(event)) {
        (Some(own), Some(crossed)) => one_line(&format!("{own} {crossed}")),
        (own, _) => match lock.or(dir.map(|dir| dir.display().to_string())).or(own) {
            Some(about) => one_line(&format!("{what}: {about}{label}")),
            None => what.to_owned(),
        },
    }
}

/// What a fuse or a budget is about: a directory, or an agent and its session.
pub(super) fn about(event: &Event) -> (Option<&PathBuf>, Option<(&String, &String)>) {
    let target = event.fuse.as_ref().map(|fuse| &fuse.target);
    match (target, &event.budget) {
        (Some(Target::Directory(dir)), _) => (Some(dir), None),
        (Some(Target::Session { agent, id }), _) => (None, Some((agent, id))),
        (None, Some(over)) => (None, Some((&over.agent, &over.session_id))),
        (None, None) => (None, None),
    }
}
