//! What every agent must show that `agentctl` starts, ends and goes on with, whichever it is.

use std::{env, fs};

use agentctl_testkit::sandbox::{Answer, Gate};
use serde_json::{Value, json};

use crate::support::{LIMIT, Stage, ended};

/// An agent on a stage, run by `agentctl`.
pub(crate) struct Driven<'a> {
    pub(crate) stage: &'a Stage,
    /// Its name on the command line.
    pub(crate) agent: &'static str,
    /// The variables that it needs, `PATH` among them.
    pub(crate) set: Vec<(&'static str, String)>,
    /// Asserts that the process of a session is the agent's own, and returns its pid.
    pub(crate) is_real: &'a dyn Fn(&Value) -> u32,
    /// Arguments of its own that it is always given.
    pub(crate) own: &'static [&'static str],
}

impl Driven<'_> {
    /// Runs `agentctl` where the agent is on the path.
    pub(crate) fn call(&self, args: &[&str]) -> Answer {
        let set: Vec<(&str, &str)> =
            self.set.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.stage.sandbox.agentctl_with(&set, args)
    }

    /// Launches it, and returns its session once that was seen to be what it says.
    pub(crate) fn launch(&self, prompt: &str, more: &[&str]) -> Value {
        let words = [&["launch", self.agent, "--json", "-p", prompt], more].concat();
        self.started(&self.call(&[words.as_slice(), &["--"], self.own].concat()))
    }

    /// Goes on with a session.
    pub(crate) fn resume(&self, id: &str, prompt: &str, more: &[&str]) -> Value {
        let words = [&["resume", id, "--json", "-p", prompt], more].concat();
        self.started(&self.call(&[words.as_slice(), &["--"], self.own].concat()))
    }

    /// The session of a launch: alive in the agent's own process, and by no mere inference.
    fn started(&self, answer: &Answer) -> Value {
        assert_eq!(answer.code, Some(0), "{answer:?}\n{}", self.stage.sandbox.scene());
        let session = answer.json()["session"].clone();
        assert_eq!((&session["agent"], &session["live"]), (&json!(self.agent), &json!(true)));
        assert!(session["launch_id"].is_string(), "{session:#}");
        is_trailed(&session);
        (self.is_real)(&session);
        session
    }

    /// It returns a session that is there, refuses a second one beside it, and waits for its end.
    pub(crate) fn launches(&self) {
        let (stage, gate) = (self.stage, self.stage.sandbox.gate("answer"));
        let launched = self.launch(&gate.until(), &["--group", "g", "--label", "a=b"]);
        let id = id(&launched);
        assert_eq!((&launched["group"], &launched["labels"]), (&json!("g"), &json!({"a": "b"})));
        stage.asked("until");
        let working = stage.becomes(&id, &["working"], &self.works(&launched));
        is_trailed(&working);
        assert_eq!(stage.list(&[]).len(), 1, "the session alone is listed");
        stage.proved(&id);
        self.refuses_a_second(&id);
        gate.open();
        let waited = self.call(&["wait", &id, "--json"]);
        assert_eq!(waited.code, Some(0), "{waited:?}");
        assert_eq!(waited.json()["sessions"][0]["state"], "done", "{waited:?}");
        let done = stage.becomes(&id, &["done"], &ended("done", "completed"));
        assert_eq!(done["last"], "released");
        assert_eq!(done["launch_id"], launched["launch_id"]);
        // Its parent may see the end of a launcher a moment after the session has ended.
        stage.becomes(&id, &["done"], &json!({"state": "done", "exit_code": 0}));
    }

    fn works(&self, launched: &Value) -> Value {
        json!({
            "state": "working", "live": true, "kind": "headless", "pid": launched["pid"],
            "launch_id": launched["launch_id"], "cwd": self.stage.sandbox.work(),
        })
    }

    /// Nobody else works in its directory unless somebody insists.
    fn refuses_a_second(&self, id: &str) {
        let second = self.call(&["launch", self.agent, "-p", "MOCK:text beside"]);
        assert_eq!(second.code, Some(5), "{second:?}");
        assert!(second.stderr.contains(id), "it does not say who is there: {second:?}");
        let again = self.call(&["resume", id, "MOCK:text hi"]);
        assert_eq!(again.code, Some(5), "{again:?}");
    }

    /// Two share a directory where somebody insists, and each is told from the other.
    pub(crate) fn launches_two(&self) {
        let gates = ["one", "two"].map(|name| self.stage.sandbox.gate(name));
        let one = self.launch(&gates[0].until(), &[]);
        let two = self.launch(&gates[1].until(), &["--force"]);
        assert_ne!((&one["id"], &one["pid"]), (&two["id"], &two["pid"]));
        for (session, gate) in [(&one, &gates[0]), (&two, &gates[1])] {
            self.stage.asked(&format!("until {}", gate.path().display()));
            let working = self.stage.becomes(&id(session), &["working"], &self.works(session));
            is_trailed(&working);
        }
        gates.iter().for_each(Gate::open);
        let waited = self.call(&["wait", &id(&one), &id(&two)]);
        assert_eq!(waited.code, Some(0), "{waited:?}");
        for session in [&one, &two] {
            self.stage.becomes(&id(session), &["done"], &ended("done", "completed"));
        }
    }

    /// Stopped while the model is silent; what is left says so.
    pub(crate) fn stops(&self) {
        let gate = self.stage.sandbox.gate("never");
        let launched = self.launch(&gate.until(), &[]);
        self.stage.asked("until");
        self.stop(&launched, &gate);
    }

    /// Stopped while a tool runs, which ends too.
    fn stops_in_a_tool(&self) -> String {
        let tool = self.stage.sandbox.gate("tool");
        let prompt = format!("MOCK:tool {}", tool.tool());
        let launched = self.launch(&prompt, &["--permission", "full", "--group", "g"]);
        self.stage
            .sandbox
            .wait_for("running tool", LIMIT, || tool.has_begun().then(|| carriers(&tool).pop())?);
        self.stop(&launched, &tool)
    }

    /// Stops a session, and sees that nothing of it is left but its record.
    fn stop(&self, launched: &Value, gate: &Gate) -> String {
        let id = id(launched);
        let stopped = self.call(&["stop", &id, "--json"]);
        assert_eq!(stopped.code, Some(0), "{stopped:?}");
        let certificate = &stopped.json()["stopped"][0];
        assert_eq!(certificate["session"]["state"], "stopped", "{certificate:#}");
        let deaths = certificate["deaths"].as_array().expect("deaths are a list");
        assert_eq!(deaths[0]["process"]["pid"], launched["pid"], "{certificate:#}");
        assert!(deaths.iter().all(|death| death["survived"].is_null()), "{certificate:#}");
        assert_eq!(carriers(gate), Vec::<String>::new(), "its tool runs on: {certificate:#}");
        let expected = json!({"state": "stopped", "status": "stopped", "live": false, "pid": null});
        let session = self.stage.becomes(&id, &[], &expected);
        assert_eq!(session["launch_id"], launched["launch_id"]);
        self.stage.proved(&id);
        assert_eq!(self.stage.list(&[]), Vec::<Value>::new());
        id
    }

    /// Goes on with a session that was stopped in a tool, under the same id.
    pub(crate) fn resumes(&self) {
        let id = &self.stops_in_a_tool();
        // Gemini 0.61 sends the prompt that was never answered again, with the new one.
        self.stage.sandbox.gate("tool").open();
        let gate = self.stage.sandbox.gate("again");
        let resumed = self.resume(id, &gate.until(), &["--permission", "full"]);
        assert_eq!((&resumed["id"], &resumed["group"]), (&json!(id), &json!("g")));
        self.stage.asked(&format!("until {}", gate.path().display()));
        let working = self.stage.becomes(id, &["working"], &self.works(&resumed));
        is_trailed(&working);
        gate.open();
        let waited = self.call(&["wait", id]);
        assert_eq!(waited.code, Some(0), "{waited:?}");
        let done = self.stage.becomes(id, &["done"], &ended("done", "completed"));
        assert_eq!(done["last"], "released");
        assert_eq!(self.stage.agreed().len(), 1, "a resumed session is one session");
    }

    /// Goes on in a copy of a session that has ended, which stays as it is.
    pub(crate) fn forks(&self) {
        let first = self.call(&["launch", self.agent, "--json", "--wait", "-p", "MOCK:text first"]);
        assert_eq!(first.code, Some(0), "{first:?}");
        let first = id(&first.json()["session"]);
        let gate = self.stage.sandbox.gate("fork");
        let forked = self.resume(&first, &gate.until(), &["--fork"]);
        assert_ne!(forked["id"], *first);
        self.stage.asked("until");
        is_trailed(&self.stage.becomes(&id(&forked), &["working"], &self.works(&forked)));
        gate.open();
        let waited = self.call(&["wait", &id(&forked)]);
        assert_eq!(waited.code, Some(0), "{waited:?}");
        let copy = self.stage.becomes(&id(&forked), &["done"], &ended("done", "completed"));
        let origin = self.stage.becomes(&first, &["done"], &ended("done", "completed"));
        assert_eq!((&origin["last"], &copy["last"]), (&json!("first"), &json!("released")));
    }

    /// One that may only read changes nothing.
    pub(crate) fn reads(&self) {
        self.runs_nothing("read");
    }

    /// With this permission, a command that is called for changes nothing.
    pub(crate) fn runs_nothing(&self, permission: &str) {
        let file = self.stage.sandbox.work().join("written");
        let prompt = format!("MOCK:tool touch {}\nMOCK:text end", file.display());
        let words = ["launch", self.agent, "--json", "--permission", permission, "-p", &prompt];
        let launched = self.call(&[words.as_slice(), &["--"], self.own].concat());
        assert_eq!(launched.code, Some(0), "{launched:?}");
        // Whether a refused tool is a failure is the agent's own affair.
        let waited = self.call(&["wait", &id(&launched.json()["session"])]);
        assert!(matches!(waited.code, Some(0 | 1)), "{waited:?}");
        self.stage.asked("tool");
        assert!(!file.exists(), "it wrote: {launched:?}");
    }

    /// What is run at its end is told how that was, by the agent's own exit code; and is not run twice.
    pub(crate) fn completes(&self) {
        for (prompt, state) in [("MOCK:text hi", "done"), ("MOCK:err 400", "failed")] {
            let file = self.stage.sandbox.work().join(state);
            let hook =
                format!("env | grep ^AGENTCTL_ >> {0}.draft; mv {0}.draft {0}", file.display());
            let words = ["launch", self.agent, "--json", "--wait", "--on-complete", &hook];
            let words = [&words[..], &["--callback-session", "key", "-p", prompt, "--"], self.own];
            let done = self.call(&words.concat());
            let session = done.json()["session"].clone();
            assert_eq!(session["state"], state, "{done:?}\n{}", self.stage.sandbox.scene());
            assert_eq!(session["hooks"][0]["outcome"], "succeeded", "{session:#}");
            let code = session["exit_code"].as_i64().expect("its parent saw it");
            assert_eq!((code == 0, done.code), (state == "done", Some(i32::from(code != 0))));
            let told = fs::read_to_string(&file).expect("the hook was run");
            let id = id(&session);
            let cwd = self.stage.sandbox.work();
            for line in [
                format!("AGENTCTL_SESSION_ID={id}"),
                format!("AGENTCTL_ADAPTER={}", self.agent),
                format!("AGENTCTL_EXIT_CODE={code}"),
                format!("AGENTCTL_STATE={state}"),
                format!("AGENTCTL_CWD={}", cwd.display()),
                "AGENTCTL_CALLBACK_SESSION=key".to_owned(),
            ] {
                assert!(told.lines().any(|one| one == line), "no {line} in {told}");
            }
            let again = self.call(&["hook", "run", &id]);
            assert_eq!(again.code, Some(5), "{again:?}");
        }
    }

    /// What dies at once of a flag that it does not know is an error with its own words, and nothing
    /// else.
    pub(crate) fn fails(&self, words: &str) {
        let failed = self.call(&["launch", self.agent, "-p", "MOCK:text hi", "--", "--bogus"]);
        assert_eq!(failed.code, Some(6), "{failed:?}");
        assert!(failed.stderr.contains(words), "its words are not shown: {failed:?}");
        let left = self.stage.sandbox.home().join(".local/state/agentctl/launches");
        assert_eq!(fs::read_dir(left).map(Iterator::count).unwrap_or_default(), 0);
        assert_eq!(self.stage.list(&["--all"]), Vec::<Value>::new());
    }
}

/// The search path with the folder first that a variable names.
pub(crate) fn path(variable: &str) -> (&'static str, String) {
    let folder = env::var(variable).expect("`cargo xtask test` says where the agents are");
    ("PATH", format!("{folder}:{}", env::var("PATH").unwrap_or_default()))
}

pub(crate) fn id(session: &Value) -> String {
    session["id"].as_str().expect("it has an id").to_owned()
}

/// What is said of a launched session follows from a native trail, or from the launch.
fn is_trailed(session: &Value) {
    let because = session["because"].as_array().expect("facts are a list").iter();
    let mut rules = because.filter_map(|fact| fact["rule"].as_str());
    assert!(rules.all(|rule| rule != "inferred"), "{session:#}");
}

/// Processes whose arguments name a gate: its tool.
fn carriers(gate: &Gate) -> Vec<String> {
    let name = gate.path().to_string_lossy();
    let processes = fs::read_dir("/proc").expect("Linux has one").flatten();
    let words = processes.filter_map(|one| fs::read_to_string(one.path().join("cmdline")).ok());
    words.filter(|words| words.contains(&*name)).collect()
}
