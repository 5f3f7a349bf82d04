//! Whoever is killed, and whenever: the list says what the kernel says, and nothing is left wrong.

mod caller;
mod cell;
mod held;
mod kernel;
mod real;
mod stand_in;
mod truth;
mod watched;

pub(crate) use cell::{Cell, Step, Victim, all, one};
pub(crate) use kernel::{Process, now};
pub(crate) use real::run as real;

use rustix::process::Signal;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Nothing takes longer.
const LIMIT: Duration = Duration::from_secs(40);

/// Where an agent is launched and held: a home of its own, with a stand-in or a real one.
pub(crate) trait Ground {
    /// All of it lies below this directory.
    fn root(&self) -> PathBuf;
    /// The directory of our state.
    fn state(&self) -> PathBuf;
    /// A call of a program there, the agent on its path.
    fn command(&self, program: &Path, words: &[&str]) -> Command;
    /// The `agentctl` under test.
    fn agentctl(&self) -> PathBuf;
    /// The words of a launch whose agent can be held at a step.
    fn launch(&self, step: Step) -> Vec<String>;
    /// The agent's command on the path.
    fn program(&self) -> PathBuf;
    /// Where holders and the held meet.
    fn gates(&self) -> PathBuf;
    /// Sees to it that the agent goes no further than this step.
    fn shut(&self, step: Step);
    /// Waits until the agent is at this step, and tells which process it is.
    fn reached(&self, step: Step, launched: Process) -> Process;
    /// Lets everybody go on to the end.
    fn open(&self);
    /// What the session of an agent that was killed at its work reads as: one of these, or none if it may have no session.
    fn killed(&self, step: Step, signal: Signal) -> &'static [&'static str];
    /// What the next launch, which is quick, ends with if nobody is in its way.
    fn next(&self) -> i32;
}

/// What a run answered.
#[derive(Debug)]
struct Answer {
    code: Option<i32>,
    stdout: String,
    #[allow(dead_code, reason = "shown where an assertion fails")]
    stderr: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|why| panic!("no JSON: {why}: {self:?}"))
    }
}

impl dyn Ground + '_ {
    fn ask(&self, words: &[&str]) -> Answer {
        let mut command = self.command(&self.agentctl(), words);
        let output = command.stdin(Stdio::null()).output().expect("it can be started");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let code = output.status.code();
        Answer { code, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// What of an answer is about this ground: others of this user may be listed too.
    fn own(&self, answer: &Answer, field: &str) -> Vec<Value> {
        let root = self.root().to_string_lossy().into_owned();
        let all = answer.json()[field].as_array().cloned().unwrap_or_default();
        all.into_iter().filter(|one| one.to_string().contains(&root)).collect()
    }

    /// Another launch in the same directory.
    fn again(&self) -> Answer {
        let words = self.launch(Step::Exec);
        self.ask(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// Looks again and again until there is something to see.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < LIMIT, "no {what} within {LIMIT:?}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Names in a directory, sorted.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
