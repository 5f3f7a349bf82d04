//! The conversation with the gateway: protocol 4, JSON in text frames over a WebSocket.

use super::{
    config, entry,
    lock::{self, Lock},
    store::SILENT,
};
use crate::{
    agent::{About, Claim, Trail},
    agents::json,
    control::Unheard,
    evidence::{Need, Role, Say},
    host::{self, Host, Talk},
    ident::ProcKey,
    proof::Source,
    push::{self, Door, Push, Step},
    text,
};
use serde_json::{Value, json};
use std::{collections::HashMap, io, net::SocketAddr, path::Path};

const PROTOCOL: u8 = 4;
const SCOPES: &[&str] =
    &["operator.read", "operator.approvals", "operator.questions", "operator.admin"];
/// What may be asked by whoever acts.
const CONTROL: &[&str] =
    &["operator.read", "operator.write", "operator.approvals", "operator.admin"];
/// What must be allowed to whoever only listens.
const READ: &[&str] = &["operator.read"];
/// Messages after which a run may have begun, ended or come to wait for a person: that it does is a
/// phase of its life. Each piece of an answer is none.
const WAKES: &[&str] = &[
    r#""id":"agentctl-1""#,
    r#""stream":"lifecycle""#,
    r#""state":"final""#,
    r#""state":"aborted""#,
    r#""state":"error""#,
    r#""event":"sessions.changed""#,
    r#""event":"question."#,
    r#""event":"shutdown""#,
];
/// Rows asked for at once.
const PAGE: u64 = 200;
/// Events may come before an answer; more than this before one is no gateway.
const FRAMES: usize = 1000;

/// A conversation with this gateway; `None` where it left no lock that says how to ask it.
pub(super) fn line(host: &dyn Host, store: &Path, gateway: &ProcKey) -> io::Result<Option<Line>> {
    let Some((port, lock)) = door(host, store, gateway) else { return Ok(None) };
    let url = format!("ws://{}/", place(host, gateway, port)?);
    let mut line = Line { talk: host.dial(&url)?, asked: 0, early: HashMap::new() };
    line.greet(config::token(host, &lock.config, gateway), CONTROL)?;
    Ok(Some(line))
}

/// Its port, and the lock that tells it.
fn door(host: &dyn Host, store: &Path, gateway: &ProcKey) -> Option<(u16, Lock)> {
    lock::all(host, store).0.into_iter().find_map(|lock| {
        let port = lock.gateway(host, gateway)?;
        Some((port, lock))
    })
}

/// Every session in which this gateway runs a turn; `None` where it left no lock that says how to
/// ask it.
pub(super) fn ask(
    host: &dyn Host,
    store: &Path,
    gateway: &ProcKey,
) -> io::Result<Option<Vec<Claim>>> {
    let Some((port, lock)) = door(host, store, gateway) else { return Ok(None) };
    let claims = active(host, gateway, port, &lock);
    claims.map(Some).map_err(|why| io::Error::other(format!("{SILENT}: {why}")))
}

fn active(host: &dyn Host, gateway: &ProcKey, port: u16, lock: &Lock) -> io::Result<Vec<Claim>> {
    let place = place(host, gateway, port)?;
    let token = config::token(host, &lock.config, gateway);
    let url = format!("ws://{place}/");
    let mut line = Line { talk: host.dial(&url)?, asked: 0, early: HashMap::new() };
    let hello = line.greet(token, SCOPES)?;
    let version = json::string(&hello["server"], "version");
    // All at once: a busy gateway takes its time for each turn of the conversation.
    let first = line.say("sessions.list", page(0))?;
    let approvals = line.say("exec.approval.list", json!({}))?;
    let questions = line.say("question.list", json!({}))?;
    let rows = line.active(first)?;
    let waits = Waits::new(&line.if_told(approvals)?, &line.if_told(questions)?["questions"]);
    let claim = |row: &Value| {
        let key = json::text(row, "key")?;
        let (says, shows) = waits.say(key);
        let source = Source::Answer { url: url.clone(), shows };
        Some(Claim {
            session: json::string(row, "sessionId")?,
            trail: Trail::Known(gateway.clone()),
            about: About {
                says: Some((says, source.clone())),
                role: Some(Role::Server),
                cwd: json::path(row, "spawnedCwd").or_else(|| json::path(row, "workspaceDir")),
                title: Some(entry::title(key, json::text(row, "label"))),
                started: json::millis(row, "createdAt"),
                version: version.clone(),
                ..About::default()
            },
            source,
        })
    };
    Ok(rows.iter().filter_map(claim).collect())
}

/// What it tells every client that may read (2026.9.6). Nothing more is asked for: to subscribe to its
/// sessions makes it observe them, and who says that it shows approvals makes commands wait for one.
pub(super) fn pushes(host: &dyn Host, store: &Path, gateway: &ProcKey) -> Option<Push> {
    let (port, lock) = door(host, store, gateway)?;
    let at = Door::Port(place(host, gateway, port).ok()?);
    let token = config::token(host, &lock.config, gateway);
    let say = request("agentctl-1", "connect", hello(token, READ)).to_string();
    let says = vec![Step { after: Some("connect.challenge"), say }];
    let line = push::Line::Frames { at, says };
    Some(Push { process: gateway.clone(), line, wakes: WAKES })
}

/// Where it is asked. Whoever else may have its port is neither told its token nor believed.
fn place(host: &dyn Host, gateway: &ProcKey, port: u16) -> io::Result<SocketAddr> {
    let all = host.ports(gateway).map_err(|why| {
        io::Error::other(format!("nobody tells whether it listens on port {port}: {}", why.0))
    })?;
    let mut own = all.into_iter().filter(|at| at.port() == port).peekable();
    if own.peek().is_none() {
        return Err(io::Error::other(format!("it does not listen on port {port}")));
    }
    let own = own.find_map(host::loopback);
    own.ok_or_else(|| io::Error::other(format!("it listens on port {port}, not on loopback")))
}

/// Rows of sessions with a run. Releases that cannot choose them send all.
fn page(offset: u64) -> Value {
    json!({ "activeOnly": true, "limit": PAGE, "offset": offset })
}

/// Keys of sessions that wait for a person.
struct Waits {
    approval: Vec<String>,
    answer: Vec<String>,
}

impl Waits {
    fn new(approvals: &Value, questions: &Value) -> Self {
        let key = |of: &Value| json::string(of, "sessionKey");
        let keys = |list: &Value| -> Vec<String> {
            let list = list.as_array().into_iter().flatten();
            list.filter_map(|one| key(&one["request"]).or_else(|| key(one))).collect()
        };
        Self { approval: keys(approvals), answer: keys(questions) }
    }

    fn say(&self, key: &str) -> (Say, String) {
        let waits = |keys: &[String]| keys.iter().any(|waiting| waiting == key);
        let shows = |field: &str| format!("\"{field}\":{}", Value::from(key));
        match (waits(&self.approval), waits(&self.answer)) {
            (true, _) => (Say::Waiting(Need::Approval), shows("sessionKey")),
            (false, true) => (Say::Waiting(Need::Answer), shows("sessionKey")),
            // Only rows with a run were asked for.
            (false, false) => (Say::Busy, shows("key")),
        }
    }
}

fn request(id: &str, method: &str, params: Value) -> Value {
    json!({ "type": "req", "id": id, "method": method, "params": params })
}

/// Who we are, as the first request says.
fn hello(token: Option<String>, scopes: &[&str]) -> Value {
    json!({
        "minProtocol": PROTOCOL,
        "maxProtocol": PROTOCOL,
        "client": {
            "id": "gateway-client",
            "version": env!("CARGO_PKG_VERSION"),
            "platform": "linux",
            "mode": "backend",
        },
        "role": "operator",
        "scopes": scopes,
        "caps": [],
        "auth": token.map_or(json!({}), |token| json!({ "token": token })),
    })
}

fn code(error: &Value) -> &str {
    let code = json::text(&error["details"], "code").or_else(|| json::text(error, "code"));
    code.unwrap_or("no reason given")
}

/// What the gateway says of a refusal.
pub(super) fn words(error: &Value) -> String {
    text::one_line(json::text(error, "message").unwrap_or_else(|| code(error)))
}

pub(super) struct Line {
    talk: Box<dyn Talk>,
    asked: u64,
    /// Answers that came before they were waited for.
    early: HashMap<String, Value>,
}

impl Line {
    /// Presents us. On loopback the token is enough (2026.9.6). Who waits for
    /// whom is told to an administrator alone.
    fn greet(&mut self, token: Option<String>, scopes: &[&str]) -> io::Result<Value> {
        self.frame(|frame| json::text(frame, "event") == Some("connect.challenge"))?;
        let id = self.say("connect", hello(token, scopes))?;
        self.answer(&id)
    }

    /// Rows of sessions with a run.
    pub(super) fn rows(&mut self) -> io::Result<Vec<Value>> {
        let first = self.say("sessions.list", page(0))?;
        self.active(first)
    }

    /// Rows of sessions with a run, by the answer to a first page and the pages behind it.
    fn active(&mut self, first: String) -> io::Result<Vec<Value>> {
        let mut rows = Vec::new();
        let (mut asked, mut offset) = (first, 0);
        loop {
            let answer = self.answer(&asked)?;
            let sessions = answer["sessions"].as_array();
            let sessions =
                sessions.ok_or_else(|| io::Error::other("its answer has no sessions"))?;
            rows.extend(sessions.iter().filter(|row| json::flag(row, "hasActiveRun")).cloned());
            let next = answer["nextOffset"].as_u64().filter(|next| *next > offset);
            match next.filter(|_| json::flag(&answer, "hasMore")) {
                Some(next) => offset = next,
                None => return Ok(rows),
            }
            asked = self.say("sessions.list", page(offset))?;
        }
    }

    /// The answer, or nothing where this gateway does not tell such things: its runs are then busy.
    fn if_told(&mut self, id: String) -> io::Result<Value> {
        match self.answer(&id) {
            Err(why) if why.kind() == io::ErrorKind::PermissionDenied => Ok(Value::Null),
            answer => answer,
        }
    }

    fn say(&mut self, method: &str, params: Value) -> io::Result<String> {
        self.asked += 1;
        let id = format!("agentctl-{}", self.asked);
        self.talk.say(&request(&id, method, params).to_string())?;
        Ok(id)
    }

    /// The answer to a request that holds no secret: refusals are told in the gateway's own words.
    pub(super) fn call(&mut self, method: &str, params: Value) -> Result<Value, Unheard> {
        let id = self.say(method, params).map_err(Unheard::Failed)?;
        match self.reply(&id).map_err(Unheard::Silent)? {
            Ok(answer) => Ok(answer),
            Err(error) => Err(Unheard::Refused(format!("it refuses: {}", words(&error)))),
        }
    }

    /// The answer to a request. Refusals are told by their codes: words might repeat what we sent.
    fn answer(&mut self, id: &str) -> io::Result<Value> {
        self.reply(id)?.map_err(|error| {
            let why = format!("it refuses: {}", code(&error));
            io::Error::new(io::ErrorKind::PermissionDenied, why)
        })
    }

    fn reply(&mut self, id: &str) -> io::Result<Result<Value, Value>> {
        let mut frame = loop {
            if let Some(early) = self.early.remove(id) {
                break early;
            }
            let frame = self.frame(|frame| json::text(frame, "type") == Some("res"))?;
            let of = json::string(&frame, "id").unwrap_or_default();
            self.early.insert(of, frame);
        };
        Ok(match json::flag(&frame, "ok") {
            true => Ok(frame["payload"].take()),
            false => Err(frame["error"].take()),
        })
    }

    fn frame(&mut self, wanted: impl Fn(&Value) -> bool) -> io::Result<Value> {
        for _ in 0..FRAMES {
            let frame = json::object(self.talk.hear()?.as_bytes());
            if wanted(&frame) {
                return Ok(frame);
            }
        }
        Err(io::Error::other("it talks without answering"))
    }
}
