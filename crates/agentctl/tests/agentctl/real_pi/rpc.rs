//! `pi --mode rpc`: a process that takes requests until its input ends.

use std::{fs::File, io::Write, process::Command};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Line, NEW, OLD, held};
use crate::support::{LIMIT, Stage, ended};
use agentctl_testkit::sandbox::Started;

/// A Pi and the pipe by which it is told what to do.
struct Served {
    pi: Started,
    pipe: File,
}

impl Served {
    fn new(stage: &Stage, line: &Line) -> Served {
        let path = stage.sandbox.root().join("requests");
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.is_ok_and(|status| status.success()), "cannot make a pipe");
        // Open for both, so that neither end waits for the other.
        let open = || File::options().read(true).write(true).open(&path).expect("it was made");
        Served { pi: stage.pi(line, &["--mode", "rpc"]).input(open()).spawn(), pipe: open() }
    }

    fn ask(&mut self, request: &Value) {
        writeln!(self.pipe, "{request}").expect("the pipe is open");
    }

    fn prompt(&mut self, script: &str) {
        self.ask(&json!({"id": "1", "type": "prompt", "message": script}));
    }
}

#[test]
fn a_served_session_is_followed_from_state_to_state() {
    for line in [&NEW, &OLD] {
        let stage = Stage::new();
        let mut served = Served::new(&stage, line);
        stage.unnamed(served.pi.pid());
        served.prompt("MOCK:text hello");
        let id = stage.named(served.pi.pid());
        let idle = stage.becomes(&id, &["working"], &held("idle"));
        assert_eq!(line.is_real(&idle), served.pi.pid());

        let gate = stage.sandbox.gate("never");
        served.prompt(&gate.until());
        stage.asked("until");
        stage.becomes(&id, &["idle", "working"], &held("working"));
        stage.proved(&id);
        served.ask(&json!({"id": "2", "type": "abort"}));
        stage.becomes(&id, &["working"], &held("idle"));
        served.pi.signal(Signal::TERM);
        assert_eq!(served.pi.wait(LIMIT).code(), Some(143));
        stage.becomes(&id, &["idle", "unknown"], &ended("stopped", "interrupted"));
    }
}

#[test]
fn a_process_that_changes_its_session_names_none() {
    let stage = Stage::new();
    let mut served = Served::new(&stage, &NEW);
    stage.unnamed(served.pi.pid());
    served.prompt("MOCK:text hello");
    let first = stage.named(served.pi.pid());
    stage.becomes(&first, &["working"], &held("idle"));
    served.ask(&json!({"id": "3", "type": "new_session"}));
    stage.sandbox.wait_for("new session", LIMIT, || {
        served.pi.stdout().contains("\"command\":\"new_session\"").then_some(())
    });
    served.prompt("MOCK:text in another");
    stage.asked("text in another");
    let pid = served.pi.pid();
    let reason = format!("may be held by pid {pid}");
    let unknown = json!({"state": "unknown", "live": false, "reason": reason});
    stage.becomes(&first, &["idle"], &unknown);
    assert_eq!(NEW.is_real(&stage.unnamed(pid)), pid);
    assert_eq!(stage.agreed().len(), 3);
    drop(served.pipe);
    served.pi.signal(Signal::TERM);
    served.pi.wait(LIMIT);
    stage.becomes(&first, &["unknown"], &ended("done", "completed"));
    assert_eq!(stage.agreed().len(), 2);
}
