//! `opencode serve`: one process, many sessions, and an answer when asked.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use agentctl_testkit::sandbox::Started;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::EXE;
use crate::support::{LIMIT, Stage, alive, ended, is_real, signal};

impl Stage {
    /// Waits until `list` and `status` both show this. A busy server may answer too late, at any
    /// moment: then its sessions are unknown, and nothing else.
    pub(super) fn served(&self, id: &str, expected: &Value) -> Value {
        let fits = |session: &Value| {
            let fields = expected.as_object().expect("fields are expected").iter();
            fields.into_iter().all(|(field, value)| session[field] == *value)
        };
        self.sandbox.wait_for(&format!("session {id} with {expected:#}"), LIMIT, || {
            let listed = self.list(&["--all"]).into_iter().find(|row| row["id"] == id)?;
            let alone = self.one("status", id)?;
            for session in [&listed, &alone] {
                let state = session["state"].as_str().expect("a session has a state");
                assert!(fits(session) || matches!(state, "unknown" | "working"), "{session:#}");
            }
            (fits(&listed) && fits(&alone)).then_some(listed)
        })
    }
}

#[test]
fn a_server_holds_many_sessions() {
    let stage = Stage::opencode("ask");
    let server = Server::start(&stage, &[]);
    let (work, side) = (stage.sandbox.work(), stage.sandbox.dir("side"));
    let gate = stage.sandbox.gate("answer");
    let (first, second) = (server.session(&work), server.session(&side));
    server.prompt(&first, &work, &gate.until());
    server.prompt(&second, &side, "MOCK:tool echo hello");
    stage.asked("until");
    stage.asked("tool");
    let mut working = alive("working", "server");
    working["shared"] = json!(true);
    let pid = is_real(&stage.served(&first, &working), EXE);
    assert_eq!(pid, server.opencode.pid());
    let mut waiting = alive("waiting", "server");
    waiting["waiting_for"] = json!("approval");
    waiting["shared"] = json!(true);
    waiting["cwd"] = json!(side);
    stage.served(&second, &waiting);
    assert_eq!(stage.list(&[]).len(), 2);

    gate.open();
    let done = stage.served(&first, &ended("done", "completed"));
    assert_eq!(done["last"], "released");
    signal(Signal::KILL, pid);
    server.opencode.wait(LIMIT);
    stage.becomes(&first, &[], &ended("done", "completed"));
    stage.becomes(&second, &[], &ended("died", "killed or crashed"));
}

#[test]
fn a_server_with_a_password_is_asked_with_it() {
    let stage = Stage::opencode("allow");
    let server = Server::start(&stage, &[("OPENCODE_SERVER_PASSWORD", "open sesame")]);
    let (work, gate) = (stage.sandbox.work(), stage.sandbox.gate("answer"));
    let id = server.session(&work);
    server.prompt(&id, &work, &gate.until());
    stage.asked("until");
    let session = stage.served(&id, &alive("working", "server"));
    assert_eq!(is_real(&session, EXE), server.opencode.pid());
    assert!(!session.to_string().contains("sesame"), "a secret is shown: {session:#}");
    gate.open();
    stage.served(&id, &ended("done", "completed"));
}

/// `opencode serve` on a port of its own choice.
pub(super) struct Server {
    pub(super) opencode: Started,
    pub(super) address: String,
}

impl Server {
    pub(super) fn start(stage: &Stage, variables: &[(&str, &str)]) -> Self {
        let run = stage.opens(&["serve", "--port", "0"]);
        let run = variables.iter().fold(run, |run, (name, value)| run.env(name, value));
        let opencode = run.spawn();
        let address = stage.sandbox.wait_for("listening server", LIMIT, || {
            let said = opencode.stdout();
            let (line, _) = said.split_once("listening on http://")?.1.split_once('\n')?;
            Some(line.trim().to_owned())
        });
        let server = Self { opencode, address };
        // 1.18.33 never answers some of the first requests: new ones go through.
        stage.sandbox.wait_for("answering server", LIMIT, || {
            server.ask("GET", "/global/health", "").filter(|answer| answer["healthy"] == true)
        });
        server
    }

    /// Waits until it answers for a directory, which it first has to load.
    pub(super) fn loads(&self, stage: &Stage, dir: &Path) {
        let path = format!("/session/status?directory={}", dir.display());
        stage.sandbox.wait_for("loaded directory", LIMIT, || self.ask("GET", &path, ""));
    }

    pub(super) fn session(&self, dir: &Path) -> String {
        let path = format!("/session?directory={}", dir.display());
        let made = self.ask("POST", &path, "{}").expect("a session is made");
        made["id"].as_str().expect("a session has an id").to_owned()
    }

    pub(super) fn prompt(&self, id: &str, dir: &Path, script: &str) {
        let path = format!("/session/{id}/prompt_async?directory={}", dir.display());
        let body = json!({"parts": [{"type": "text", "text": script}]});
        self.ask("POST", &path, &body.to_string());
    }

    /// The answer's body, if there is one in time.
    fn ask(&self, method: &str, path: &str, body: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        stream.set_read_timeout(Some(LIMIT / 8)).ok()?;
        let size = body.len();
        // The password of the test above, in base64; without one nobody looks.
        let user = "authorization: Basic b3BlbmNvZGU6b3BlbiBzZXNhbWU=";
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{user}\r\n\
             content-type: application/json\r\ncontent-length: {size}\r\n\r\n{body}"
        )
        .ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let body = answer.split("\r\n\r\n").nth(1)?;
        let from = body.find('{')?;
        let until = body.rfind('}')?;
        serde_json::from_str(&body[from..=until]).ok()
    }
}
