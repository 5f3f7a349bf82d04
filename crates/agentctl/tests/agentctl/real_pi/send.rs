//! Messages to Pi: to one that was launched for more of them, and to others, which refuse.

use std::env;

use serde_json::Value;

use super::{Line, NEW, OLD};
use crate::support::{Stage, alive};

impl Stage {
    /// What `agentctl` answers where this Pi is the one on the path.
    fn with_pi(&self, line: &Line, args: &[&str]) -> Value {
        drop(self.pi(line, &[])); // its settings
        let path = env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", line.folder().display());
        let quiet = [("PI_OFFLINE", "1"), ("PI_SKIP_VERSION_CHECK", "1"), ("PI_TELEMETRY", "0")];
        let more = [&[("PATH", path.as_str())], &quiet[..]].concat();
        let answer = self.sandbox.agentctl_with(&more, args);
        assert_eq!(answer.code, Some(0), "{answer:?}");
        answer.json()
    }
}

#[test]
fn send_reaches_a_steerable_session() {
    for line in [&NEW, &OLD] {
        let stage = Stage::new();
        let gate = stage.sandbox.gate("first");
        let first = ["launch", "pi", "--steerable", "-p", &gate.until(), "--json"];
        let launched = stage.with_pi(line, &first);
        let id = launched["session"]["id"].as_str().expect("it has an id").to_owned();
        // Of its first prompt it records nothing before the answer.
        assert_eq!(launched["session"]["state"], "working", "{launched:#}");
        stage.asked("until");
        stage.becomes(&id, &[], &alive("working", "piped"));
        gate.open();
        stage.becomes(&id, &["working"], &alive("idle", "piped"));
        assert_eq!(stage.send(&id, "MOCK:text second")["delivery"], "delivered");
        stage.asked("text second");
        let gate = stage.sandbox.gate("answer");
        assert_eq!(stage.send(&id, &gate.until())["delivery"], "delivered");
        stage.asked("until");
        // It keeps this in memory until the turn is over.
        let sent = ["send", &id, "MOCK:text third", "--timeout", "300ms", "--json"];
        let sent = stage.sandbox.agentctl(&sent);
        assert_eq!((sent.code, &sent.json()["delivery"]), (Some(1), &"unconfirmed".into()));
        gate.open();
        stage.asked("text third");
        let idle = stage.becomes(&id, &["working"], &alive("idle", "piped"));
        assert_eq!(idle["last"], "third");
    }
}

#[test]
fn send_refuses_one_that_takes_one_prompt() {
    let stage = Stage::new();
    let gate = stage.sandbox.gate("answer");
    let launched = stage.with_pi(&NEW, &["launch", "pi", "-p", &gate.until(), "--json"]);
    let id = launched["session"]["id"].as_str().expect("it has an id").to_owned();
    stage.asked("until");
    let refused = stage.sandbox.agentctl(&["send", &id, "more"]);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.stderr.contains("--steerable"), "{refused:?}");
}
