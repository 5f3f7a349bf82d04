//! Processes that have several threads loaded: sub-agents, and a server.

use std::io::{PipeWriter, Write, pipe};

use agentctl_testkit::sandbox::Started;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{EXE, tokens};
use crate::support::{LIMIT, Stage, alive, ended, is_real, signal};

#[test]
fn a_helper_is_a_session_with_a_parent() {
    let stage = Stage::new();
    let (inner, outer) = (stage.sandbox.gate("inner"), stage.sandbox.gate("outer"));
    let helper = json!({"message": inner.until()});
    let script = format!("MOCK:call multi_agent_v1/spawn_agent {helper}\n{}", outer.until());
    let (codex, id) = stage.exec(&script);
    stage.asked("call");
    stage.asked(&format!("until {}", inner.path().display()));
    stage.asked(&format!("until {}", outer.path().display()));
    let parent = stage.becomes(&id, &["working"], &alive("working", "headless"));
    let pid = is_real(&parent, EXE);
    let rows = stage.agreed();
    let child = rows.iter().find(|row| row["parent"] == id).expect("the helper is listed");
    assert_eq!(rows.len(), 2, "{:#}", json!(rows));
    assert_eq!(child["pid"], pid);
    assert_eq!(parent["parent"], Value::Null);
    let child = child["id"].as_str().expect("a thread has an id");
    stage.becomes(child, &[], &alive("working", "headless"));
    stage.proved(child);
    inner.open();
    stage.becomes(child, &["working"], &alive("idle", "headless"));
    stage.becomes(&id, &[], &alive("working", "headless"));
    outer.open();
    assert!(codex.wait(LIMIT).success(), "{codex}");
    stage.becomes(&id, &[], &ended("done", "completed"));
    let mut done = ended("done", "completed");
    done["parent"] = json!(id);
    stage.becomes(child, &[], &done);
    assert_eq!(stage.tokens(child), tokens(1));
    // The news of the helper's end is one more call of the parent.
    let calls = |id: &str| {
        let requests = stage.sandbox.model().requests();
        let named = requests.iter().filter_map(|request| request.headers.get("thread-id"));
        named.filter(|thread| *thread == id).count() as u64
    };
    assert_eq!((calls(child), calls(&id)), (1, 3));
    assert_eq!(stage.tokens(&id), tokens(3), "a helper's tokens are its own");
}

#[test]
fn a_server_holds_many_sessions() {
    let stage = Stage::new();
    let mut server = Server::start(&stage);
    let gate = stage.sandbox.gate("answer");
    let dir = stage.sandbox.dir("side");
    let first = server.thread(&stage, &json!({"cwd": stage.sandbox.work()}));
    let second = server.thread(
        &stage,
        &json!({"cwd": dir, "approvalPolicy": "on-request", "sandbox": "workspace-write"}),
    );
    server.turn(&stage, &first, &gate.until());
    stage.asked("until");
    server.turn(&stage, &second, "MOCK:text at once");
    let mut working = alive("working", "server");
    working["shared"] = json!(true);
    let pid = is_real(&stage.becomes(&first, &["working", "idle"], &working), EXE);
    let mut idle = alive("idle", "server");
    idle["shared"] = json!(true);
    idle["last"] = json!("at once");
    idle["cwd"] = json!(dir);
    assert_eq!(is_real(&stage.becomes(&second, &["working", "idle"], &idle), EXE), pid);
    assert_eq!(stage.list(&[]).len(), 2);
    stage.proved(&first);
    stage.proved(&second);

    server.turn(&stage, &second, "MOCK:escalate touch outside");
    stage.asked("escalate");
    let mut waiting = alive("waiting", "server");
    waiting["waiting_for"] = json!("approval");
    stage.becomes(&second, &["idle", "working"], &waiting);
    stage.becomes(&first, &[], &working);
    // It listens to nobody but who started it.
    for words in [&["stop", &first][..], &["stop", &first, "--force"], &["attach", &first]] {
        let refused = stage.sandbox.agentctl(words);
        assert_eq!(refused.code, Some(5), "{refused:?}");
        assert!(
            refused.stderr.contains("server") && refused.stderr.contains("hint:"),
            "{refused:?}"
        );
    }
    stage.becomes(&first, &[], &working);
    gate.open();
    idle["cwd"] = json!(stage.sandbox.work());
    idle["last"] = json!("released");
    stage.becomes(&first, &["working"], &idle);
    signal(Signal::KILL, pid);
    server.codex.wait(LIMIT);
    stage.becomes(&first, &[], &ended("done", "completed"));
    stage.becomes(&second, &[], &ended("died", "killed or crashed"));
}

/// `codex app-server --stdio`, spoken to in lines of JSON.
struct Server {
    codex: Started,
    input: PipeWriter,
    calls: u64,
}

impl Server {
    fn start(stage: &Stage) -> Self {
        let (reader, input) = pipe().expect("a pipe can be made");
        let codex = stage.sandbox.run(&["codex", "app-server", "--stdio"]).input(reader).spawn();
        let mut server = Self { codex, input, calls: 0 };
        // Any other name would become the originator of every thread.
        let client = json!({"name": "codex_app_server_daemon", "title": "test", "version": "0"});
        let capabilities = json!({"experimentalApi": true});
        let hello = json!({"clientInfo": client, "capabilities": capabilities});
        server.call(stage, "initialize", &hello);
        server.say(&json!({"method": "initialized"}));
        server
    }

    /// Starts a thread and returns its id.
    fn thread(&mut self, stage: &Stage, how: &Value) -> String {
        let started = self.call(stage, "thread/start", how);
        started["thread"]["id"].as_str().expect("a thread has an id").to_owned()
    }

    fn turn(&mut self, stage: &Stage, thread: &str, script: &str) {
        let input = json!([{"type": "text", "text": script}]);
        self.call(stage, "turn/start", &json!({"threadId": thread, "input": input}));
    }

    fn call(&mut self, stage: &Stage, method: &str, params: &Value) -> Value {
        self.calls += 1;
        let id = self.calls;
        self.say(&json!({"id": id, "method": method, "params": params}));
        stage.sandbox.wait_for(&format!("answer to {method}"), LIMIT, || {
            let out = self.codex.stdout();
            let lines = out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let mut answers = lines.filter(|line| line["id"] == id && line["method"].is_null());
            let answer = answers.next()?;
            assert!(answer["error"].is_null(), "{method}: {answer:#}");
            Some(answer["result"].clone())
        })
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("the server reads");
    }
}
