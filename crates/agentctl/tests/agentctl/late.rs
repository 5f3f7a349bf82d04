//! A server that accepts and never answers: it delays nobody, and what it may hold is not dropped.

use std::fs;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use agentctl_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

/// Sessions of the captured store that the stand-in is put before.
const STORE: &str = "../core/fixtures/openclaw/2026.9.6/killed/home/.openclaw";

/// A process that is called like a gateway, owns a port, and never looks at it.
struct Mute(Child);

impl Mute {
    fn start(sandbox: &Sandbox) -> Self {
        let program = sandbox.root().join("openclaw-gateway");
        fs::copy("/bin/sleep", &program).expect("there is a sleep");
        let socket = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let port = socket.local_addr().expect("it is bound").port();
        let mut command = sandbox.command(&program);
        let child = command.arg("1000").stdin(OwnedFd::from(socket)).spawn().expect("it starts");
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("it lives");
        let start = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(19));
        let lock = json!({
            "pid": child.id(), "port": port, "createdAt": "2099-01-01T00:00:00Z",
            "startTime": start.and_then(|start| start.parse::<u64>().ok()),
        });
        let dir = sandbox.home().join(".openclaw/tmp/openclaw-1000");
        fs::create_dir_all(&dir).expect("the home is ours");
        fs::write(dir.join("gateway.state.lock"), lock.to_string()).expect("the home is ours");
        Self(child)
    }
}

impl Drop for Mute {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_gateway_that_never_answers_is_a_problem_and_delays_nobody() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_agentctl"));
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join(STORE);
    let place = "agents/main/agent/openclaw-agent.sqlite";
    let home = sandbox.home().join(".openclaw");
    fs::create_dir_all(home.join(place).parent().expect("it lies in a folder")).expect("ours");
    fs::copy(store.join(place), home.join(place)).expect("the store is captured");
    let mute = Mute::start(&sandbox);
    let answer = sandbox.agentctl(&["list", "--json", "--agent", "openclaw", "--timeout", "3s"]);
    assert_eq!(answer.code, Some(8), "{answer:#?}");
    let said = answer.json();
    let why = said["problems"][0]["message"].as_str().unwrap_or_default();
    assert!(why.contains("gateway unreachable"), "{said:#}");
    // It runs since after the last write of all but one, which its store says runs.
    let expect = |one: &Value| (one["title"].clone(), one["state"].clone(), one["reason"].clone());
    let sessions = said["sessions"].as_array().expect("it is a list").iter();
    let root = sandbox.root().to_string_lossy().into_owned(); // others run other gateways
    let own = sessions.filter(|one| one.to_string().contains(&root));
    let unknown = (json!("agent:main:crash-stale"), json!("unknown"), json!("gateway unreachable"));
    assert_eq!(own.map(expect).collect::<Vec<_>>(), [unknown]);

    // Too short a time even for that: the rest is shown, and who is missing is named. The kernel may
    // still let it be quicker than whoever waits for it, but not for ever.
    sandbox.wait_for("agent that is late", Duration::from_secs(40), || {
        let answer = sandbox.agentctl(&["list", "--json", "--timeout", "1ms"]);
        assert_eq!(answer.code, Some(8), "{answer:#?}");
        let said = answer.json();
        let own = |one: &&Value| one["agent"] == "openclaw";
        let problems = said["problems"].as_array().expect("it is a list").iter().filter(own);
        let told: Vec<&str> = problems.filter_map(|one| one["message"].as_str()).collect();
        (told == ["its sessions are not shown: no answer within 1ms"]).then_some(())
    });
    drop(mute);
}
