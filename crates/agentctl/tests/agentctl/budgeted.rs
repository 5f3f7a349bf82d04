//! What every agent must show whose budget the daemon keeps, whichever it is.

use agentctl_testkit::sandbox::{Gate, Started};
use serde_json::{Value, json};

use crate::driven::{Driven, id};
use crate::support::{LIMIT, ended};

impl Driven<'_> {
    fn daemon(&self) -> Started {
        let agentctl = self.stage.sandbox.program().to_string_lossy();
        self.stage.sandbox.run(&[&agentctl, "daemon", "run"]).spawn()
    }

    /// Launches one that calls two tools, and then waits for the gate: it has answered twice by then. The first tool ends
    /// when the launch has answered: the daemon may otherwise stop the session before.
    fn works_on(&self, gate: &Gate, more: &[&str]) -> Value {
        let begin = self.stage.sandbox.gate("begin");
        let prompt = format!("MOCK:tool {}\nMOCK:tool echo two\n{}", begin.tool(), gate.until());
        let launched = self.launch(&prompt, &[&["--permission", "full"], more].concat());
        begin.open();
        launched
    }

    /// Its budget, once something of it was crossed.
    fn crossed(&self, id: &str) -> Value {
        self.stage.sandbox.wait_for("limit that was crossed", LIMIT, || {
            let budget = self.stage.one("status", id)?["budget"].clone();
            (!budget["crossed"].is_null()).then_some(budget)
        })
    }

    /// It is stopped in the middle of its work, once the model has answered too often.
    pub(crate) fn stops_over_budget(&self) {
        let (gate, _daemon) = (self.stage.sandbox.gate("never"), self.daemon());
        let launched = self.works_on(&gate, &["--max-turns", "1"]);
        let id = id(&launched);
        let budget = self.crossed(&id);
        let over = &budget["crossed"][0];
        assert_eq!((&over["limit"], &over["allowed"]), (&json!("turns"), &json!(1)), "{budget:#}");
        assert_eq!((&over["action"], &over["problem"]), (&json!("stop"), &json!(null)));
        let expected = json!({"state": "stopped", "status": "stopped", "live": false, "pid": null});
        self.stage.becomes(&id, &[], &expected);
        let refused = self.call(&["resume", &id, "MOCK:text more"]);
        assert_eq!(refused.code, Some(5), "{refused:?}");
    }

    /// It is held where it is, shown so, and goes on to its end once it is let go.
    pub(crate) fn is_held_over_budget(&self) {
        let (gate, _daemon) = (self.stage.sandbox.gate("answer"), self.daemon());
        let more = ["--max-tokens", "1", "--on-budget", "hold"];
        let launched = self.works_on(&gate, &more);
        let id = id(&launched);
        let budget = self.crossed(&id);
        let over = &budget["crossed"][0];
        assert_eq!((&over["limit"], &over["problem"]), (&json!("tokens"), &json!(null)));
        let held = self.stage.one("status", &id).expect("it is there");
        assert_eq!((&held["live"], &held["halted"]), (&json!(true), &json!(true)), "{held:#}");
        self.stage.proved(&id);
        gate.open();
        let released = self.call(&["budget", "release", &id, "--json"]);
        assert_eq!(released.code, Some(0), "{released:?}");
        assert_eq!(released.json()["session"]["halted"], json!(null));
        let waited = self.call(&["wait", &id]);
        assert_eq!(waited.code, Some(0), "{waited:?}");
        let done = self.stage.becomes(&id, &["done"], &ended("done", "completed"));
        assert_eq!(done["last"], "released", "it went on where it was");
        let used = self.stage.one("status", &id).expect("it is there")["budget"]["used"].clone();
        assert_eq!(used["turns"], 3, "two tools, and the end: {used:#}");
    }
}
