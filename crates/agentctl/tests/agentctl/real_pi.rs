//! Pi itself, of both lines, against the scripted model.

mod events;
mod print;
mod rpc;
mod same_id;
mod send;
mod tui;
mod verbs;

use std::{env, fs, path::PathBuf};

use agentctl_testkit::sandbox::{Run, Started, Terminal};
use serde_json::{Value, json};

use crate::support::{LIMIT, Stage, alive, is_real};

/// One of the two lines of Pi.
pub(crate) struct Line {
    /// The variable that names the folder of its command.
    variable: &'static str,
    /// The executable that runs it: Pi is a script.
    exe: &'static str,
}

/// 0.73.1: a session has no file before its first answer, and its tools do not name it.
const OLD: Line = Line { variable: "AGENTCTL_TEST_PI_0_73", exe: "node" };
/// 1.5.0, which brings its Node.
pub(crate) const NEW: Line =
    Line { variable: "AGENTCTL_TEST_PI_1_5", exe: "node_modules/node/bin/node" };

impl Line {
    fn folder(&self) -> PathBuf {
        let dir = env::var_os(self.variable).filter(|dir| !dir.is_empty()).map(PathBuf::from);
        dir.unwrap_or_else(|| panic!("{} is not set: run `cargo xtask test`", self.variable))
    }

    /// Asserts that the process of a session is this Pi, and has erased its arguments.
    fn is_real(&self, session: &Value) -> u32 {
        let pid = is_real(session, self.exe);
        let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).expect("alive");
        assert_eq!((read("comm").trim(), read("cmdline").trim_matches('\0')), ("pi", "pi"));
        pid
    }
}

impl Stage {
    /// Pi with these arguments, set up for the scripted model.
    fn pi(&self, line: &Line, more: &[&str]) -> Run<'_> {
        let command = line.folder().join("pi").to_string_lossy().into_owned();
        let run = self.sandbox.run(&[&[command.as_str()], more].concat());
        self.pi_set(line).iter().fold(run, |run, (name, value)| run.env(name, value))
    }

    /// The variables with which it talks to the model; its settings are made.
    pub(crate) fn pi_set(&self, line: &Line) -> Vec<(&'static str, String)> {
        let home = self.sandbox.home().join(".pi/agent");
        let url = format!("{}/v1", self.sandbox.model().url());
        let cost = json!({"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75});
        let model =
            json!({"id": "mock-1", "contextWindow": 128_000, "maxTokens": 8192, "cost": cost});
        let provider = json!({
            "baseUrl": url, "api": "openai-completions", "apiKey": "dummy", "models": [model],
        });
        let seed = |name: &str, text: &Value| {
            fs::write(home.join(name), text.to_string()).expect("the home is ours");
        };
        fs::create_dir_all(&home).expect("the home is ours");
        seed("models.json", &json!({"providers": {"mock": provider}}));
        seed("settings.json", &json!({"defaultProvider": "mock", "defaultModel": "mock-1"}));
        let path = env::var("PATH").unwrap_or_default();
        let quiet = [("PI_OFFLINE", "1"), ("PI_SKIP_VERSION_CHECK", "1"), ("PI_TELEMETRY", "0")];
        let quiet = quiet.into_iter().map(|(name, value)| (name, value.to_owned()));
        quiet.chain([("PATH", format!("{}:{path}", line.folder().display()))]).collect()
    }

    /// `pi -p` with a script, which is its last argument.
    fn print_pi(&self, line: &Line, more: &[&str], script: &str) -> Started {
        self.pi(line, &[&["-p"], more, &[script]].concat()).spawn()
    }

    /// Pi on a terminal, ready for a prompt.
    fn chat_pi(&self, line: &Line, more: &[&str]) -> Terminal<'_> {
        let terminal = self.pi(line, more).on_terminal();
        terminal.shows("mock-1");
        terminal
    }

    /// Waits until this process is listed without a session.
    fn unnamed(&self, pid: u32) -> Value {
        self.sandbox.wait_for("process without a session", LIMIT, || {
            let mut all = self.list(&[]).into_iter();
            all.find(|one| one["pid"] == pid && one["id"].is_null() && one["live"] == true)
        })
    }

    /// Waits until this process has a session, and returns its id.
    fn named(&self, pid: u32) -> String {
        self.sandbox.wait_for("session of the process", LIMIT, || {
            let mut all = self.list(&[]).into_iter();
            all.find(|one| one["pid"] == pid)?["id"].as_str().map(str::to_owned)
        })
    }
}

/// A session that is alive; how its process is run cannot be told.
fn held(state: &str) -> Value {
    let mut fields = alive(state, "");
    fields["kind"] = Value::Null;
    fields
}

/// The rules by which a session was judged.
fn rules(session: &Value) -> Vec<&str> {
    let because = session["because"].as_array().expect("facts are a list").iter();
    because.filter_map(|fact| fact["rule"].as_str()).collect()
}

/// The tokens of this many calls; what came from the cache is not counted as sent.
fn tokens(calls: u64) -> Value {
    json!({
        "input": 800 * calls,
        "output": 10 * calls,
        "cache_read": 200 * calls,
        "cache_write": 0,
    })
}
