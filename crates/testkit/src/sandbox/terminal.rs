//! Terminals for programs that want one: windows of a private tmux server.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::Sandbox;

/// How long a program may take to show something.
const LIMIT: Duration = Duration::from_secs(30);

/// The tmux server of a sandbox.
pub(super) struct Tmux {
    label: String,
    terminals: AtomicU32,
}

impl Tmux {
    pub(super) fn new(mark: &str) -> Tmux {
        Tmux { label: mark.to_owned(), terminals: AtomicU32::new(0) }
    }

    pub(super) fn is_started(&self) -> bool {
        self.terminals.load(Ordering::Relaxed) > 0
    }

    /// The names of all terminals there were.
    pub(super) fn names(&self) -> Vec<String> {
        (0..self.terminals.load(Ordering::Relaxed)).map(|number| format!("t{number}")).collect()
    }

    /// Says something to the server; its answer, or why there is none.
    pub(super) fn call(&self, sandbox: &Sandbox, words: &[&str]) -> Result<String, String> {
        let output = self.command(sandbox, words).stdin(Stdio::null()).output();
        let output = output.map_err(|why| format!("cannot run tmux: {why}"))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => Err(format!("tmux {words:?}: {}", text(&output.stderr))),
        }
    }

    /// What a terminal shows.
    pub(super) fn screen(&self, sandbox: &Sandbox, name: &str) -> Result<String, String> {
        let screen = self.call(sandbox, &["capture-pane", "-p", "-t", name])?;
        Ok(screen.trim_end().to_owned())
    }

    fn command(&self, sandbox: &Sandbox, words: &[&str]) -> Command {
        let mut tmux = sandbox.command("tmux");
        tmux.args(["-L", &self.label, "-f", "/dev/null"]).args(words);
        tmux
    }
}

/// A terminal with a program on it.
pub struct Terminal<'a> {
    sandbox: &'a Sandbox,
    name: String,
    pid: u32,
}

impl<'a> Terminal<'a> {
    pub(super) fn start(sandbox: &'a Sandbox, words: &[String], dir: &Path) -> Terminal<'a> {
        let number = sandbox.tmux.terminals.fetch_add(1, Ordering::Relaxed);
        let name = format!("t{number}");
        let dir = dir.to_string_lossy();
        let pid = ["-P", "-F", "#{pane_pid}"];
        let mut call = vec!["new-session", "-d", "-s", &name, "-x", "140", "-y", "45", "-c", &dir];
        call.extend(pid);
        call.push("--");
        call.extend(words.iter().map(String::as_str));
        let pid = told(sandbox.tmux.call(sandbox, &call));
        let pid = pid.trim().parse().unwrap_or_else(|why| panic!("no pid from tmux: {why}"));
        Terminal { sandbox, name, pid }
    }

    /// The pid of the program on it. An agent behind a wrapper has another.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// What is to be seen.
    pub fn screen(&self) -> String {
        self.sandbox.tmux.screen(self.sandbox, &self.name).unwrap_or_else(|why| why)
    }

    /// Presses keys, in the words of tmux: `Enter`, `Escape`, `C-c`, `y`.
    pub fn press(&self, keys: &[&str]) {
        told(self.call(&[&["send-keys", "-t", &self.name], keys].concat()));
    }

    /// Types text as it is.
    pub fn write(&self, text: &str) {
        told(self.call(&["send-keys", "-t", &self.name, "-l", "--", text]));
    }

    /// Pastes text, as a terminal does for programs that tell pasting from typing.
    pub fn paste(&self, text: &str) {
        let tmux = &self.sandbox.tmux;
        let mut load = tmux.command(self.sandbox, &["load-buffer", "-"]);
        let mut load = load.stdin(Stdio::piped()).spawn().expect("tmux answered before");
        let mut input = load.stdin.take().expect("it was asked for");
        input.write_all(text.as_bytes()).expect("tmux reads");
        drop(input);
        assert!(load.wait().is_ok_and(|status| status.success()), "tmux cannot take a text");
        told(self.call(&["paste-buffer", "-p", "-d", "-t", &self.name]));
    }

    /// Waits until the screen shows this.
    pub fn shows(&self, text: &str) {
        let what = format!("{text:?} on terminal {}", self.name);
        self.sandbox.wait_for(&what, LIMIT, || self.screen().contains(text).then_some(()));
    }

    /// Writes a line, waits until it stands there, and sends it.
    pub fn send(&self, line: &str) {
        self.write(line);
        // Long lines are wrapped, and paths of gates are unique at their end.
        let end: String =
            line.chars().rev().take(12).collect::<Vec<_>>().into_iter().rev().collect();
        let shown = || {
            let screen: String = self.screen().split_whitespace().collect();
            let end: String = end.split_whitespace().collect();
            screen.contains(&end).then_some(())
        };
        self.sandbox.wait_for(&format!("the line {line:?}"), LIMIT, shown);
        self.press(&["Enter"]);
    }

    /// Closes it, as a person does who closes a window: whoever is on it is told by the kernel.
    pub fn close(self) {
        told(self.call(&["kill-session", "-t", &self.name]));
    }

    fn call(&self, words: &[&str]) -> Result<String, String> {
        self.sandbox.tmux.call(self.sandbox, words)
    }
}

fn told(answer: Result<String, String>) -> String {
    answer.unwrap_or_else(|why| panic!("{why}"))
}
