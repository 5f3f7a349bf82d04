//! The OpenClaw gateway itself, on loopback, against the scripted model.

mod approval;
mod events;
mod local;
mod runs;
mod verbs;

use std::cell::RefCell;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs};

use agentctl_testkit::sandbox::{Gate, Run, Started};
use serde_json::{Value, json};
use tungstenite::{Message, WebSocket, client};

use crate::support::{Stage, uuid};

/// How long it may take to start, or to get a first run ready: it compiles much of itself.
const LIMIT: Duration = Duration::from_secs(180);
const TOKEN: &str = "a-token-that-nobody-may-see";
/// What runs it, from the pinned install.
const EXE: &str = "bin/node";

impl Stage {
    /// A command that finds OpenClaw, and the Node that is pinned beside it.
    pub(crate) fn openclaw(&self, words: &[&str]) -> Run<'_> {
        let dir = env::var_os("AGENTCTL_TEST_OPENCLAW").filter(|dir| !dir.is_empty());
        let dir = PathBuf::from(dir.expect("AGENTCTL_TEST_OPENCLAW: run `cargo xtask test`"));
        let path = format!("{}:{}", dir.display(), env::var("PATH").unwrap_or_default());
        let beside = dir.join(words[0]);
        let program = if beside.exists() { beside } else { PathBuf::from(words[0]) };
        let program = program.to_string_lossy().into_owned();
        let words = [&[program.as_str()], &words[1..]].concat();
        let run = self.sandbox.run(&words).env("PATH", &path);
        let quiet = [
            "DO_NOT_TRACK",
            "OPENCLAW_NO_AUTO_UPDATE",
            "OPENCLAW_DISABLE_TELEMETRY",
            "OPENCLAW_DISABLE_BONJOUR",
        ];
        quiet.iter().fold(run, |run, name| run.env(name, "1"))
    }

    /// Settings with which it talks to the scripted model; returns the gateway's port.
    pub(crate) fn configure(&self, tools: &Value) -> u16 {
        let port = free_port();
        let model = json!({
            "id": "mock-1", "name": "Mock", "reasoning": false, "input": ["text"],
            "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75},
            "contextWindow": 200_000, "maxTokens": 8192,
        });
        let url = format!("{}/v1", self.sandbox.model().url());
        let config = json!({
            "gateway": {
                "mode": "local", "port": port, "bind": "loopback",
                "auth": {"mode": "token", "token": token()},
            },
            "tools": tools,
            "agents": {"defaults": {
                "model": {"primary": "mock/mock-1"}, "workspace": self.sandbox.work(),
                // Else a command that ends may wake it, and it makes a session of its own.
                "heartbeat": {"every": "0m"},
            }},
            "models": {"mode": "merge", "providers": {"mock": {
                "baseUrl": url, "apiKey": "dummy", "api": "openai-completions", "models": [model],
            }}},
        });
        let dir = self.sandbox.home().join(".openclaw");
        fs::create_dir_all(&dir).expect("the home is ours");
        // Comments and all: people write it as JSON5.
        let text = format!("// gateway\n{config:#}\n");
        fs::write(dir.join("openclaw.json"), text).expect("the home is ours");
        port
    }

    /// Waits until the model was asked for an answer that this gate holds.
    pub(crate) fn held(&self, gate: &Gate) {
        self.asked(gate.until().trim_start_matches("MOCK:"));
    }

    /// The check that nobody holds a session, as `explain` gives it.
    fn absence(&self, id: &str) -> String {
        let session = self.one("explain", id).expect("the session is there");
        let because = session["because"].as_array().expect("facts are a list");
        let absence = because.iter().find(|fact| fact["source"]["kind"] == "absence");
        let check = absence.and_then(|fact| fact["check"].as_str());
        check.unwrap_or_else(|| panic!("{session:#} is not absent")).to_owned()
    }

    /// Whether the command of each check exits 0 where OpenClaw is installed. Each takes seconds.
    fn show(&self, checks: &[String]) -> Vec<bool> {
        let started = checks.iter().map(|check| self.openclaw(&["sh", "-c", check]).spawn());
        let started: Vec<Started> = started.collect();
        started.iter().map(|one| one.wait(LIMIT).success()).collect()
    }

    /// The session of a key, once it is listed. OpenClaw 2026.9.6 makes the tables of a new store one by
    /// one: until all are there it cannot be read, and `list` says so.
    pub(crate) fn of_key(&self, key: &str) -> String {
        let root = self.sandbox.root().to_string_lossy().into_owned();
        self.sandbox.wait_for(&format!("session {key}"), LIMIT, || {
            let all =
                self.sandbox.agentctl(&["list", "--all", "--json", "--timeout", "none"]).json();
            let own = all["sessions"].as_array()?.iter();
            let mut own = own.filter(|one| one.to_string().contains(&root));
            let found = own.find(|one| one["title"] == format!("agent:main:{key}"))?;
            Some(found["id"].as_str()?.to_owned())
        })
    }
}

/// A running gateway, and a conversation with it.
struct Gateway<'a> {
    stage: &'a Stage,
    program: Started,
    line: RefCell<WebSocket<TcpStream>>,
}

impl<'a> Gateway<'a> {
    /// A port that was free may be taken before the gateway, which needs seconds, has it.
    fn start(stage: &'a Stage, tools: &Value) -> Self {
        for _ in 0..3 {
            let port = stage.configure(tools);
            let words = ["openclaw", "gateway", "run", "--port", &port.to_string()];
            let program = stage.openclaw(&words).spawn();
            let line =
                stage.sandbox.wait_for("gateway that answers", LIMIT, || match program.ended() {
                    Some(_) => Some(None),
                    None => greet(port).map(Some),
                });
            match line {
                Some(line) => return Self { stage, program, line: RefCell::new(line) },
                None => assert!(program.stderr().contains("EADDRINUSE"), "{program}"),
            }
        }
        panic!("three ports that were free were taken");
    }

    /// What the gateway answers first to a request.
    fn call(&self, method: &str, params: &Value) -> Value {
        let mut line = self.line.borrow_mut();
        say(&mut line, method, params);
        let answer = hear(&mut line, |frame| frame["type"] == "res" && frame["id"] == method);
        let answer = answer.unwrap_or_else(|| panic!("no answer to {method}: {}", self.program));
        assert_eq!(answer["ok"], true, "{method}: {answer:#}");
        answer["payload"].clone()
    }

    /// Starts a run in the session of this key and returns the session's id.
    fn run(&self, key: &str, script: &str) -> String {
        let key_word = format!("agent:main:{key}");
        // It puts the time before the first line.
        let message = format!("go\n{script}");
        let params = json!({
            "sessionKey": key_word, "message": message, "idempotencyKey": uuid(),
        });
        self.call("chat.send", &params);
        self.stage.of_key(key)
    }
}

/// One that the kernel gives to nobody who asks for any, as most tests do.
fn free_port() -> u16 {
    let first = u16::try_from(std::process::id() % 10_000).expect("it is small");
    let ports = (0..10_000).map(|more| 20_000 + (first + more) % 10_000);
    let mut free = ports.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.next().expect("there is a free port")
}

/// Each test has its own: the gateway of another is not taken for this one's.
fn token() -> String {
    format!("{TOKEN}-{}", std::process::id())
}

fn greet(port: u16) -> Option<WebSocket<TcpStream>> {
    let stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(LIMIT)).ok()?;
    let (mut line, _) = client(format!("ws://127.0.0.1:{port}/"), stream).ok()?;
    hear(&mut line, |frame| frame["event"] == "connect.challenge")?;
    let params = json!({
        "minProtocol": 4, "maxProtocol": 4, "role": "operator", "auth": {"token": token()},
        "client": {"id": "gateway-client", "version": "0", "platform": "linux", "mode": "backend"},
        "scopes": ["operator.read", "operator.write", "operator.approvals", "operator.admin"],
        "caps": ["exec-approvals"],
    });
    say(&mut line, "connect", &params);
    let hello = hear(&mut line, |frame| frame["id"] == "connect")?;
    (hello["ok"] == true).then_some(line)
}

fn say(line: &mut WebSocket<TcpStream>, method: &str, params: &Value) {
    let frame = json!({"type": "req", "id": method, "method": method, "params": params});
    line.send(Message::text(frame.to_string())).expect("the gateway listens");
}

fn hear(line: &mut WebSocket<TcpStream>, wanted: impl Fn(&Value) -> bool) -> Option<Value> {
    loop {
        let Message::Text(text) = line.read().ok()? else { continue };
        let frame: Value = serde_json::from_str(&text).expect("frames are JSON");
        if wanted(&frame) {
            return Some(frame);
        }
    }
}
