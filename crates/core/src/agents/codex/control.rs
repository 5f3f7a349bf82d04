//! Requests to the app-server that has a thread loaded, over the socket in its store.
//!
//! JSON-RPC without the `jsonrpc` field, in text frames over a WebSocket (0.166). No server is ever
//! started for it, and only the process that holds the thread is spoken to.

use crate::{
    agents::json,
    control::{Question, Request, Target, Unheard},
    host::{Host, Talk},
    ident::ProcKey,
    push::{Door, Line, Push, Step},
};
use serde_json::{Value, json};
use std::{
    io,
    path::{Path, PathBuf},
};

const SOCKET: &str = "app-server-control/app-server-control.sock";
/// Notes come before an answer; more than this before one is no app-server.
const FRAMES: usize = 10_000;

/// It has answered the first request.
const GREETED: &str = r#""id":"agentctl-1""#;
/// Messages after which a thread may be in another state.
const WAKES: &[&str] = &[
    GREETED,
    r#""method":"thread/status/changed""#,
    r#""method":"thread/started""#,
    r#""method":"thread/closed""#,
];

/// Where the process that has a thread listens, if it does.
pub(super) fn socket(host: &dyn Host, target: &Target<'_>) -> Option<PathBuf> {
    let path = target.store.join(SOCKET);
    host.dial_file(&path, target.process).ok().map(|_| path)
}

/// What every client of it is told of all threads (0.166). Whoever only says hello joins no thread: it
/// is asked nothing, and keeps no thread loaded.
pub(super) fn pushes(host: &dyn Host, store: &Path, process: &ProcKey) -> Option<Push> {
    let path = store.join(SOCKET);
    host.stat(&path).ok()?;
    let hello = json!({"id": "agentctl-1", "method": "initialize", "params": hello()});
    let said = json!({"method": "initialized"});
    let says = vec![
        Step { after: None, say: hello.to_string() },
        Step { after: Some(GREETED), say: said.to_string() },
    ];
    let line = Line::Frames { at: Door::File(path), says };
    Some(Push { process: process.clone(), line, wakes: WAKES })
}

/// Asks this of the server.
pub(super) fn ask(
    host: &dyn Host,
    target: &Target<'_>,
    request: Request<'_>,
) -> Result<(), Unheard> {
    let mut line = line(host, target)?;
    match request {
        Request::Say(text) => line.say(text),
        Request::Interrupt => line.interrupt(),
        Request::Allow(ask) => line.decide(ask, "accept"),
        Request::Deny(ask) => line.decide(ask, "decline"),
    }
}

/// The question that it asks first.
pub(super) fn asks(host: &dyn Host, target: &Target<'_>) -> Result<Vec<Question>, Unheard> {
    let mut line = line(host, target)?;
    if !line.waits()? {
        return Ok(Vec::new());
    }
    let asked = line.asked(|_| true)?;
    Ok(vec![question(&asked)])
}

/// 0.166 numbers its requests for each who is asked; what it asks about keeps its name.
fn question(asked: &Value) -> Question {
    let asks = &asked["params"];
    let id = ["approvalId", "itemId"].iter().find_map(|name| json::string(asks, name));
    let words = ["command", "grantRoot", "reason"].iter().find_map(|name| json::string(asks, name));
    let method = || json::text(asked, "method").unwrap_or_default().to_owned();
    Question { id: id.unwrap_or_default(), words: words.unwrap_or_else(method) }
}

fn line<'a>(host: &dyn Host, target: &Target<'a>) -> Result<Talking<'a>, Unheard> {
    let talk = host.dial_file(&target.store.join(SOCKET), target.process);
    let talk = talk.map_err(|why| match why.kind() {
        // Another process listens there, or nobody: this one speaks to whoever started it.
        io::ErrorKind::NotFound
        | io::ErrorKind::ConnectionRefused
        | io::ErrorKind::AddrNotAvailable
        | io::ErrorKind::Unsupported => Unheard::NoChannel,
        _ => Unheard::Failed(why),
    })?;
    let mut line = Talking { talk, thread: target.id, count: 0 };
    line.greet()?;
    Ok(line)
}

/// 0.166: any other name than its own would become the originator of threads made later.
fn hello() -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let client =
        json!({"name": "codex_app_server_daemon", "title": "agentctl", "version": version});
    json!({"clientInfo": client, "capabilities": {"experimentalApi": true}})
}

struct Talking<'a> {
    talk: Box<dyn Talk>,
    thread: &'a str,
    /// Requests so far.
    count: u64,
}

impl Talking<'_> {
    fn greet(&mut self) -> Result<(), Unheard> {
        self.call("initialize", &hello())?;
        self.tell(&json!({"method": "initialized"}))
    }

    /// Into the turn that runs, else as a new one.
    fn say(&mut self, text: &str) -> Result<(), Unheard> {
        let input = json!([{"type": "text", "text": text}]);
        if let Some(turn) = self.turn()? {
            let steer =
                json!({"threadId": self.thread, "expectedTurnId": turn, "input": input.clone()});
            match self.call("turn/steer", &steer) {
                Err(Unheard::Refused(_)) if self.turn()?.is_none() => {} // it has just ended
                answer => return answer.map(|_| ()),
            }
        }
        let start = json!({"threadId": self.thread, "input": input});
        self.call("turn/start", &start).map(|_| ())
    }

    /// Ends the turn; 0.166 leaves its commands running in the background unless told otherwise.
    fn interrupt(&mut self) -> Result<(), Unheard> {
        let turn = self.turn()?.ok_or_else(|| Unheard::Refused("no turn runs".to_owned()))?;
        self.call("turn/interrupt", &json!({"threadId": self.thread, "turnId": turn}))?;
        let clean = json!({"threadId": self.thread});
        self.call("thread/backgroundTerminals/clean", &clean).map(|_| ())
    }

    /// What a person was asked, if it is wanted. Whoever joins a thread is asked again.
    fn asked(&mut self, wanted: impl Fn(&Question) -> bool) -> Result<Value, Unheard> {
        let join = json!({"threadId": self.thread, "excludeTurns": true});
        let id = self.request("thread/resume", &join)?;
        let thread = self.thread;
        let asked = self.frame(|frame| {
            let method = json::text(frame, "method").unwrap_or_default();
            let failed = frame["id"] == id && frame.get("error").is_some();
            let about = json::text(&frame["params"], "threadId") == Some(thread);
            let asks = method.ends_with("/requestApproval") && about;
            failed || asks && wanted(&question(frame))
        })?;
        match asked.get("error") {
            Some(why) => Err(refused("thread/resume", why)),
            None => Ok(asked),
        }
    }

    /// Answers the question of this id.
    fn decide(&mut self, id: &str, decision: &str) -> Result<(), Unheard> {
        if !self.waits()? {
            return Err(Unheard::Refused("it asks for no approval".to_owned()));
        }
        let asked = self.asked(|question| question.id == id).map_err(|why| match why {
            Unheard::Silent(why) => Unheard::Failed(why), // nothing was answered yet
            other => other,
        })?;
        // Whole permissions are asked for in another shape, which wants a list of them.
        if json::text(&asked, "method") == Some("item/permissions/requestApproval") {
            return Err(Unheard::Refused("it asks for permissions, not for a command".to_owned()));
        }
        self.tell(&json!({"id": asked["id"], "result": {"decision": decision}}))?;
        // Gone too early, we would take the answer with us.
        let settled = self.frame(|frame| {
            json::text(frame, "method") == Some("serverRequest/resolved")
                && frame["params"]["requestId"] == asked["id"]
        });
        settled.map(|_| ())
    }

    /// The turn that runs now.
    fn turn(&mut self) -> Result<Option<String>, Unheard> {
        if self.status()?["type"] != "active" {
            return Ok(None);
        }
        let newest = json!({"threadId": self.thread, "limit": 1});
        let turns = self.call("thread/turns/list", &newest)?;
        let turn = json::string(&turns["data"][0], "id");
        turn.map(Some).ok_or_else(|| Unheard::Refused("it does not name its turn".to_owned()))
    }

    fn waits(&mut self) -> Result<bool, Unheard> {
        let flags = self.status()?["activeFlags"].take();
        Ok(flags.as_array().is_some_and(|flags| flags.iter().any(|one| one == "waitingOnApproval")))
    }

    fn status(&mut self) -> Result<Value, Unheard> {
        let mut read = self.call("thread/read", &json!({"threadId": self.thread}))?;
        let status = read.pointer_mut("/thread/status").map(Value::take).unwrap_or_default();
        match json::text(&status, "type") {
            Some("notLoaded") => Err(Unheard::NoChannel),
            Some(_) => Ok(status),
            None => Err(Unheard::Refused("its answer is not understood".to_owned())),
        }
    }

    fn call(&mut self, method: &str, params: &Value) -> Result<Value, Unheard> {
        let id = self.request(method, params)?;
        let mut answer = self.frame(|frame| frame["id"] == id && frame.get("method").is_none())?;
        match answer.get("error") {
            Some(why) => Err(refused(method, why)),
            None => Ok(answer["result"].take()),
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<String, Unheard> {
        self.count += 1;
        let id = format!("agentctl-{}", self.count);
        self.tell(&json!({"id": id, "method": method, "params": params}))?;
        Ok(id)
    }

    fn tell(&mut self, frame: &Value) -> Result<(), Unheard> {
        self.talk.say(&frame.to_string()).map_err(Unheard::Failed)
    }

    fn frame(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<Value, Unheard> {
        for _ in 0..FRAMES {
            let frame = self.talk.hear().map_err(Unheard::Silent)?;
            let frame = json::object(frame.as_bytes());
            if wanted(&frame) {
                return Ok(frame);
            }
        }
        Err(Unheard::Silent(io::Error::other("it talks without answering")))
    }
}

fn refused(method: &str, why: &Value) -> Unheard {
    let why = json::text(why, "message").unwrap_or("no reason given");
    Unheard::Refused(format!("it refuses {method}: {why}"))
}
