//! Messages to Codex: through its app-server; an `exec` refuses them.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use agentctl_testkit::sandbox::Started;
use serde_json::{Value, json};
use tungstenite::{Message, WebSocket, client::client};

use super::EXE;
use crate::support::{LIMIT, Stage, alive, is_real};

#[test]
fn send_reaches_a_thread_of_the_server() {
    let stage = Stage::new();
    let mut daemon = Daemon::start(&stage);
    let id = daemon.thread(&json!({"cwd": stage.sandbox.work()}));
    // The first of all: there is no rollout yet, and only the lock tells of the thread.
    let idle = stage.one("status", &id).expect("the session is there");
    is_real(&idle, EXE);
    assert_eq!(stage.send(&id, "MOCK:text first")["delivery"], "delivered");
    stage.asked("text first");
    stage.becomes(&id, &["working", "idle"], &alive("idle", "server"));
    let gate = stage.sandbox.gate("answer");
    assert_eq!(stage.send(&id, &gate.until())["delivery"], "delivered");
    stage.asked("until");
    // The turn that runs takes it, and cuts the model short for it.
    assert_eq!(stage.send(&id, "MOCK:text third")["delivery"], "delivered");
    gate.open();
    stage.asked("text third");
    let idle = stage.becomes(&id, &["working"], &alive("idle", "server"));
    assert_eq!(idle["last"], "third");
}

#[test]
fn send_refuses_an_exec() {
    let stage = Stage::new();
    let gate = stage.sandbox.gate("answer");
    let (_codex, id) = stage.exec(&gate.until());
    stage.asked("until");
    let refused = stage.sandbox.agentctl(&["send", &id, "more"]);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.stderr.contains("for one prompt"), "{refused:?}");
}

/// `codex app-server` on the socket where the daemon listens too.
pub(super) struct Daemon {
    _codex: Started,
    socket: PathBuf,
    line: WebSocket<UnixStream>,
    calls: u64,
}

impl Daemon {
    pub(super) fn start(stage: &Stage) -> Self {
        let codex = stage.sandbox.run(&["codex", "app-server", "--listen", "unix://"]).spawn();
        let link = stage.sandbox.home().join(".codex/app-server-control/app-server-control.sock");
        let (socket, stream) = stage.sandbox.wait_for("listening server", LIMIT, || {
            let socket = fs::canonicalize(&link).ok()?;
            Some((socket.clone(), UnixStream::connect(&socket).ok()?))
        });
        stream.set_read_timeout(Some(LIMIT)).expect("it is open");
        let (line, _) = client("ws://localhost/", stream).expect("it speaks WebSocket");
        let mut daemon = Self { _codex: codex, socket, line, calls: 0 };
        let client = json!({"name": "codex_app_server_daemon", "title": "test", "version": "0"});
        let capabilities = json!({"experimentalApi": true});
        daemon.call("initialize", &json!({"clientInfo": client, "capabilities": capabilities}));
        daemon.say(&json!({"method": "initialized"}));
        daemon
    }

    /// Starts a thread and returns its id.
    pub(super) fn thread(&mut self, how: &Value) -> String {
        let started = self.call("thread/start", how);
        started["thread"]["id"].as_str().expect("a thread has an id").to_owned()
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.calls += 1;
        let id = self.calls;
        self.say(&json!({"id": id, "method": method, "params": params}));
        loop {
            let Message::Text(text) = self.line.read().expect("it answers") else { continue };
            let answer: Value = serde_json::from_str(&text).expect("it speaks JSON");
            if answer["id"] == id && answer["method"].is_null() {
                assert!(answer["error"].is_null(), "{method}: {answer:#}");
                return answer["result"].clone();
            }
        }
    }

    fn say(&mut self, message: &Value) {
        self.line.send(Message::text(message.to_string())).expect("it listens");
    }
}

impl Drop for Daemon {
    /// It lies outside of the sandbox, and a killed server leaves it behind.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.socket);
    }
}
