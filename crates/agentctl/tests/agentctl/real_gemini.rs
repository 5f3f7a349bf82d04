//! Gemini CLI 0.61 itself, against the scripted model.

mod headless;
mod tui;
mod verbs;

use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs};

use agentctl_testkit::sandbox::{Run, Terminal};
use serde_json::{Value, json};

use crate::support::{LIMIT, Stage, is_real};

/// The variable that names the folder with its command.
pub(crate) const SET: &str = "AGENTCTL_TEST_GEMINI";
/// What its command links to.
const SCRIPT: &str = "@google/gemini-cli/bundle/gemini.js";

impl Stage {
    /// `gemini` with these arguments, set to talk to the model and to trust everybody.
    fn gemini(&self, args: &[&str]) -> Run<'_> {
        let program = env::var(SET).expect("`cargo xtask test` says where the agents are");
        let program = format!("{program}/gemini");
        let run = self.sandbox.run(&[&[program.as_str(), "--skip-trust"], args].concat());
        self.gemini_set().iter().fold(run, |run, (name, value)| run.env(name, value))
    }

    /// The variables with which it talks to the model; its settings are made.
    pub(crate) fn gemini_set(&self) -> Vec<(&'static str, String)> {
        let settings = self.sandbox.home().join(".gemini/settings.json");
        if !settings.exists() {
            fs::create_dir_all(settings.parent().expect("it has one")).expect("the home is ours");
            let quiet = json!({
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "general": {"enableAutoUpdate": false},
                "privacy": {"usageStatisticsEnabled": false},
                "model": {"name": "gemini-2.5-pro"},
            });
            fs::write(&settings, quiet.to_string()).expect("the home is ours");
        }
        vec![
            ("GEMINI_API_KEY", "dummy".to_owned()),
            ("GOOGLE_GEMINI_BASE_URL", self.sandbox.model().url()),
            ("GEMINI_TELEMETRY_ENABLED", "false".to_owned()),
        ]
    }

    /// Gemini on a terminal, ready for a prompt, and the session whose file it has made.
    fn gemini_chat(&self, args: &[&str]) -> (Terminal<'_>, String) {
        let terminal = self.gemini(args).on_terminal();
        terminal.shows("Type your message");
        let id = self.sandbox.wait_for("chat of a session", LIMIT, || self.chats().pop());
        (terminal, id)
    }

    /// Sends a line, and waits until the model is asked. An Enter that 0.61 gets while it still draws does nothing: it is
    /// pressed again, unhurriedly, as long as the line stands in the input.
    fn gemini_send(&self, terminal: &Terminal<'_>, line: &str) {
        let asked = || self.sandbox.model().requests().len();
        let before = asked();
        terminal.shows("Type your message");
        terminal.send(line);
        let mut pressed = Instant::now();
        self.sandbox.wait_for("line that was taken", LIMIT, || {
            let screen = terminal.screen();
            let input = screen.rsplit("────").next().unwrap_or_default();
            if input.contains(" MOCK:") && pressed.elapsed() > Duration::from_secs(2) {
                terminal.press(&["Enter"]);
                pressed = Instant::now();
            }
            (asked() > before).then_some(())
        });
    }

    /// Ids of all sessions that have a file in the usual directory.
    fn chats(&self) -> Vec<String> {
        let chats = self.sandbox.home().join(".gemini/tmp/work/chats");
        let files = fs::read_dir(chats).into_iter().flatten().flatten();
        let id = |path: &Path| {
            let text = fs::read_to_string(path).ok()?;
            let head: Value = serde_json::from_str(text.lines().next()?).ok()?;
            Some(head["sessionId"].as_str()?.to_owned())
        };
        files.filter_map(|file| id(&file.path())).collect()
    }
}

/// Asserts that the session's process is the worker of the pinned program, not its launcher.
fn is_worker(session: &Value) -> u32 {
    let (pid, words) = words(session);
    assert!(words[1].starts_with("--max-old-space-size"), "{words:?} is the launcher");
    runs_script(&words[2]);
    pid
}

/// Asserts that the session's process is one of the pinned program without a launcher.
fn is_alone(session: &Value) -> u32 {
    let (pid, words) = words(session);
    runs_script(&words[1]);
    pid
}

fn words(session: &Value) -> (u32, Vec<String>) {
    let pid = is_real(session, "node");
    let argv = fs::read_to_string(format!("/proc/{pid}/cmdline")).expect("its process is alive");
    (pid, argv.split('\0').map(str::to_owned).collect())
}

fn runs_script(word: &str) {
    let script = fs::canonicalize(word).expect("the script is there");
    assert!(script.ends_with(SCRIPT), "{} is not {SCRIPT}", script.display());
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
