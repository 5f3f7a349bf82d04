//! What a rollout says of its thread, from its first lines and backwards from its end.

use crate::{
    agent::Stub,
    agents::{
        json::{self, Part, Pick},
        sign::Sign,
    },
    evidence::{Ending, Pending, Record, Tokens, Turn},
    host::{Bytes, Host},
    lines::{self, Body, Flow, Line},
    proof::Source,
    sheet::Sheet,
    text,
};
use jiff::Timestamp;
use serde_json::Value;
use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
};

/// How far back the end is searched for what is only nice to know.
const TAIL: u64 = 256 << 10;
/// How many lines the beginning is searched for the first prompt.
const HEAD: usize = 60;
/// Tools that run a command, and so leave a process while they run.
const SHELLS: &[&str] =
    &["exec_command", "shell", "shell_command", "local_shell", "container.exec"];

/// Words without which a line says nothing of a turn.
static TURNS: [Sign; 5] = [
    Sign::new("task_started"),
    Sign::new("task_complete"),
    Sign::new("turn_aborted"),
    Sign::new("request_user_input"),
    Sign::new("_output\""),
];
/// The same of what it runs in, of tokens, and of what the model said.
static CONTEXT: [Sign; 1] = [Sign::new("\"turn_context\"")];
static TOKENS: [Sign; 2] = [Sign::new("\"token_usage_record\""), Sign::new("\"token_count\"")];
static SAID: [Sign; 2] = [Sign::new("gent_message\""), Sign::new("\"AgentMessage\"")];
/// The same of how a thread began.
static BEGUN: [Sign; 3] =
    [Sign::new("session_meta"), Sign::new("user_message"), Sign::new("UserMessage")];

/// Reads the newest turn and what else stands near both ends.
pub(super) fn read(sheet: &Sheet<'_>, stub: &Stub) -> io::Result<Record> {
    if stub.path.extension().is_some_and(|kind| kind == "zst") {
        return Err(io::Error::other("compressed rollouts are not understood"));
    }
    let file = sheet.file()?;
    let mut tail = Tail::new(&stub.path, stub.updated);
    let size = file.size();
    lines::recent(file, &mut |line| {
        let far = size - line.at > TAIL;
        tail.older(file, &line);
        tail.newest.is_some().then(|| lines::until(far || tail.is_full()))
    })?;
    if tail.strange && !tail.understood {
        return Err(io::Error::other("no line of it is understood"));
    }
    let mut head = Head::default();
    lines::head(file, HEAD, &mut |line| {
        if let Body::Whole(bytes) = line.body
            && Head::is_told_by(bytes)
        {
            let read = json::light_parts(bytes, READ);
            head.newer(&if read.is_object() { read } else { json::some_parts(bytes, READ) });
        }
        head.prompt.is_some()
    })?;
    let archived = stub.path.components().any(|part| part.as_os_str() == "archived_sessions");
    let (cwd, model, last) = (tail.cwd.take(), tail.model.take(), tail.last.take());
    let (updated, tokens) = (tail.updated, tail.tokens.or(tail.counted));
    let turn = tail.turn(head.version.as_deref());
    Ok(Record {
        cwd: cwd.or(head.cwd),
        branch: head.branch,
        model,
        title: stub.title.clone(),
        prompt: head.prompt,
        last,
        version: head.version,
        started: head.started,
        updated,
        tokens,
        parent: head.parent,
        forked_from: head.forked_from,
        archived,
        ..Record::of(turn)
    })
}

/// Reads the newest turn only; whether a call needs leave is nothing that the record tells.
pub(super) fn turn(host: &dyn Host, stub: &Stub) -> io::Result<Turn> {
    if stub.path.extension().is_some_and(|kind| kind == "zst") {
        return Err(io::Error::other("compressed rollouts are not understood"));
    }
    let file = host.open(&stub.path)?;
    let mut tail = Tail::new(&stub.path, stub.updated);
    lines::recent(&*file, &mut |line| {
        match line.body {
            Body::Whole(bytes) if tail.is_beside(bytes) => {}
            Body::Whole(_) | Body::Huge(_) => tail.older(&*file, &line),
        }
        tail.newest.is_some().then_some(Flow::Break(()))
    })?;
    match tail.strange && !tail.understood {
        true => Err(io::Error::other("no line of it is understood")),
        false => Ok(tail.turn(None)),
    }
}

/// What a walk from the end has met so far.
struct Tail<'a> {
    path: &'a Path,
    written: Timestamp,
    newest: Option<Turn>,
    /// Some line was one of a rollout's, some other was not.
    understood: bool,
    strange: bool,
    answered: HashSet<String>,
    /// Calls of the newest turn without an answer, newest first: name and id.
    open: Vec<(String, String)>,
    policy: Option<String>,
    cwd: Option<PathBuf>,
    model: Option<String>,
    last: Option<String>,
    tokens: Option<Tokens>,
    /// What `token_count` says: all there is in legacy threads, but it starts anew after a kill.
    counted: Option<Tokens>,
    updated: Option<Timestamp>,
}

impl<'a> Tail<'a> {
    fn new(path: &'a Path, written: Timestamp) -> Self {
        Self {
            path,
            written,
            newest: None,
            understood: false,
            strange: false,
            answered: HashSet::new(),
            open: Vec::new(),
            policy: None,
            cwd: None,
            model: None,
            last: None,
            tokens: None,
            counted: None,
            updated: None,
        }
    }

    fn is_full(&self) -> bool {
        self.cwd.is_some() && self.model.is_some() && self.last.is_some() && self.tokens.is_some()
    }

    /// Once the turn is known, only lines that tell what is still missing are worth parsing.
    fn is_dull(&self, line: &[u8]) -> bool {
        let missing = |known: bool, words: &[Sign]| !known && has_any(line, words);
        self.newest.is_some()
            && !missing(self.cwd.is_some() && self.model.is_some(), &CONTEXT)
            && !missing(self.tokens.is_some(), &TOKENS)
            && !missing(self.last.is_some(), &SAID)
    }

    /// It neither begins nor ends a turn, nor asks, nor answers.
    fn is_beside(&self, line: &[u8]) -> bool {
        self.understood && !has_any(line, &TURNS)
    }

    /// Takes in the next older line.
    fn older(&mut self, file: &dyn Bytes, line: &Line<'_>) {
        if let Body::Whole(bytes) = line.body
            && self.is_dull(bytes)
        {
            return;
        }
        let value = json::chosen_parts(file, line, READ, DECISIVE);
        self.understood |= value.text("type").is_some();
        self.strange |= !self.understood;
        let at = value.time("timestamp");
        self.updated = self.updated.or(at);
        let payload = value.get("payload");
        let kind = payload.text("type").unwrap_or_default();
        match value.text("type") {
            Some("event_msg") => {
                self.event(kind, payload, (at.unwrap_or(self.written), line.at));
            }
            Some("response_item") => self.item(kind, payload),
            Some("token_usage_record") => {
                self.tokens = self.tokens.or_else(|| used(payload.get("thread_token_usage")));
            }
            Some("turn_context") => {
                self.cwd = self.cwd.take().or_else(|| payload.path("cwd"));
                self.model = self.model.take().or_else(|| payload.string("model"));
                let policy = || payload.string("approval_policy");
                self.policy = self.policy.take().or_else(policy);
            }
            _ => {}
        }
    }

    fn event(&mut self, kind: &str, payload: &Part<'_>, place: (Timestamp, u64)) {
        let (at, offset) = place;
        let shows = format!("\"type\":\"{kind}\"");
        let ends = ["task_complete", "turn_aborted"];
        let later = if kind == "task_started" { &ends[..] } else { &["task_started"] };
        let without = later.iter().map(|kind| format!("\"type\":\"{kind}\"")).collect();
        let line = || Source::Line { path: self.path.to_owned(), offset, shows, without };
        match kind {
            "task_started" => {
                let turn = Turn::Open { alive: at, pending: Pending::Nothing, line: line() };
                self.newest.get_or_insert(turn);
            }
            "turn_aborted" => {
                let turn = Turn::Ended { at, how: Ending::Interrupted, line: line() };
                self.newest.get_or_insert(turn);
            }
            "task_complete" => {
                let how = match payload.get("error").kept() {
                    Value::Null => Ending::Completed,
                    error => Ending::Failed(fault(&error)),
                };
                let turn = Turn::Ended { at, how, line: line() };
                self.newest.get_or_insert(turn);
                self.say(payload.text("last_agent_message"));
            }
            "token_count" => {
                let total = || used(payload.get("info").get("total_token_usage"));
                self.counted = self.counted.or_else(total);
            }
            "agent_message" => self.say(payload.text("message")),
            "item_completed" if payload.get("item").text("type") == Some("AgentMessage") => {
                self.say(text_of(payload.get("item")).as_deref());
            }
            _ => {}
        }
    }

    fn item(&mut self, kind: &str, payload: &Part<'_>) {
        if self.newest.is_some() {
            return;
        }
        let Some(id) = payload.string("call_id") else { return };
        if kind.ends_with("_output") {
            self.answered.insert(id);
        } else if kind.ends_with("_call") && !self.answered.contains(&id) {
            let name = payload.string("name").unwrap_or_else(|| kind.to_owned());
            self.open.push((name, id));
        }
    }

    fn say(&mut self, said: Option<&str>) {
        self.last = self.last.take().or_else(|| said.and_then(text::excerpt));
    }

    /// The newest turn, with what it hangs on if it is still open.
    fn turn(self, version: Option<&str>) -> Turn {
        match self.newest {
            None => Turn::None,
            Some(Turn::Open { alive, line, .. }) => {
                let tells = version.is_some_and(tells_tools);
                let policy = self.policy.as_deref().filter(|_| tells);
                Turn::Open { alive, line, pending: pending(&self.open, policy) }
            }
            Some(ended) => ended,
        }
    }
}

fn has_any(line: &[u8], words: &[Sign]) -> bool {
    words.iter().any(|word| word.is_in(line))
}

/// Input counts what came from the cache too; see decision 0003.
fn used(usage: &Part<'_>) -> Option<Tokens> {
    let cached = usage.count("cached_input_tokens");
    usage.is_object().then(|| Tokens {
        input: usage.count("input_tokens").saturating_sub(cached),
        output: usage.count("output_tokens"),
        cache_read: cached,
        cache_write: usage.count("cache_write_input_tokens"),
    })
}

/// From 0.166 on (0.140 does not; between them it was not looked at), a tool carries its call's id.
fn tells_tools(version: &str) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (0u32, 166u32)
}

/// Codex 0.166 writes a call down before it asks for leave, and gives its process the call's id.
fn pending(open: &[(String, String)], policy: Option<&str>) -> Pending {
    if open.iter().any(|(name, _)| name == "request_user_input") {
        return Pending::Answer;
    }
    let shells = open.iter().filter(|(name, _)| SHELLS.contains(&name.as_str()));
    let values: Vec<String> = shells.map(|(_, id)| id.clone()).collect();
    match values.is_empty() || policy.is_none_or(|policy| policy == "never") {
        true => Pending::Nothing,
        false => Pending::ApprovalUnless { variable: "CODEX_TOOL_CALL_ID".to_owned(), values },
    }
}

fn fault(error: &Value) -> String {
    let message = json::string(error, "message").unwrap_or_else(|| error.to_string());
    text::one_line(&message)
}

/// The text of a message item.
pub(super) fn item_text(item: &Value) -> Option<String> {
    let parts = item["content"].as_array()?.iter().filter_map(|part| json::text(part, "text"));
    Some(parts.collect::<Vec<_>>().join("\n")).filter(|text| !text.is_empty())
}

/// The same of what was picked of one.
fn text_of(item: &Part<'_>) -> Option<String> {
    let Part::List(parts) = item.get("content") else { return None };
    let parts = parts.iter().filter_map(|part| part.text("text"));
    Some(parts.collect::<Vec<_>>().join("\n")).filter(|text| !text.is_empty())
}

/// What the beginning tells.
#[derive(Default)]
struct Head {
    cwd: Option<PathBuf>,
    branch: Option<String>,
    version: Option<String>,
    started: Option<Timestamp>,
    parent: Option<String>,
    forked_from: Option<String>,
    prompt: Option<String>,
}

impl Head {
    /// The line may be one of those that are looked for.
    fn is_told_by(line: &[u8]) -> bool {
        has_any(line, &BEGUN)
    }

    /// Takes in the next line.
    fn newer(&mut self, line: &Part<'_>) {
        let payload = line.get("payload");
        match (line.text("type"), payload.text("type")) {
            (Some("session_meta"), _) => {
                let spawned = payload.get("source").get("subagent").get("thread_spawn");
                self.cwd = payload.path("cwd");
                self.branch = payload.get("git").string("branch");
                self.version = payload.string("cli_version");
                self.started = payload.time("timestamp").or_else(|| line.time("timestamp"));
                self.parent = payload
                    .string("parent_thread_id")
                    .or_else(|| spawned.string("parent_thread_id"));
                self.forked_from = payload.string("forked_from_id");
            }
            (Some("event_msg"), Some("user_message")) => {
                self.prompt = payload.text("message").and_then(text::excerpt);
            }
            (Some("event_msg"), Some("item_completed"))
                if payload.get("item").text("type") == Some("UserMessage") =>
            {
                self.prompt = text_of(payload.get("item")).as_deref().and_then(text::excerpt);
            }
            _ => {}
        }
    }
}

/// All that is read of a line. The rest of it, what tools printed above all, is passed over.
static READ: &[Pick] = &[
    Pick::Field("type"),
    Pick::Field("timestamp"),
    Pick::Within(
        "payload",
        &[
            Pick::Field("type"),
            Pick::Field("call_id"),
            Pick::Field("name"),
            Pick::Field("cwd"),
            Pick::Field("model"),
            Pick::Field("approval_policy"),
            Pick::Field("message"),
            Pick::Field("last_agent_message"),
            Pick::Field("timestamp"),
            Pick::Field("cli_version"),
            Pick::Field("parent_thread_id"),
            Pick::Field("forked_from_id"),
            Pick::Whole("error"),
            Pick::Within("thread_token_usage", USAGE),
            Pick::Within("info", &[Pick::Within("total_token_usage", USAGE)]),
            Pick::Within("git", &[Pick::Field("branch")]),
            Pick::Within("source", &[Pick::Within("subagent", SPAWNED)]),
            Pick::Within("item", &[Pick::Field("type"), Pick::Each("content", TEXT)]),
        ],
    ),
];

static USAGE: &[Pick] = &[
    Pick::Field("input_tokens"),
    Pick::Field("output_tokens"),
    Pick::Field("cached_input_tokens"),
    Pick::Field("cache_write_input_tokens"),
];

static SPAWNED: &[Pick] = &[Pick::Within("thread_spawn", &[Pick::Field("parent_thread_id")])];

static TEXT: &[Pick] = &[Pick::Field("text")];

/// The few fields that decide a turn, of a line that is too long or too strange to hold.
static DECISIVE: &[Pick] = &[
    Pick::Field("type"),
    Pick::Field("timestamp"),
    Pick::Within(
        "payload",
        &[
            Pick::Field("type"),
            Pick::Field("call_id"),
            Pick::Field("name"),
            Pick::Field("cwd"),
            Pick::Field("model"),
            Pick::Field("approval_policy"),
            Pick::Within("error", &[Pick::Field("message")]),
        ],
    ),
];
