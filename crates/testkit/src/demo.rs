//! Real agents in a home of their own, and what agentctl says of them.
//!
//! Whatever way it ends, no process and no directory is left.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::sandbox::Sandbox;

/// How long an agent may take for anything.
const LIMIT: Duration = Duration::from_secs(60);

/// Shows it all, and a shell in that home at the end where there is a terminal.
pub fn run(agentctl: &Path) {
    let demo = Demo { sandbox: Sandbox::new(agentctl), agentctl: agentctl.to_owned() };
    demo.walk();
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        demo.shell();
    }
    say("every process and every file of this goes now");
}

struct Demo {
    sandbox: Sandbox,
    agentctl: PathBuf,
}

/// Sessions of which the walk has more to tell.
struct Cast {
    working: String,
    steered: String,
    waiting: String,
    done: String,
}

impl Demo {
    fn walk(&self) {
        say("real agents, each in a directory of its own; a scripted model answers them");
        let gate = self.sandbox.gate("work");
        let terminal = self.sandbox.run(&["claude"]).within(&self.sandbox.dir("web")).on_terminal();
        terminal.shows("? for shortcuts");
        terminal.send("MOCK:tool touch from-the-demo");
        let cast = Cast {
            working: self.launch("claude-code", "api", &[&gate.until()]),
            steered: self.launch("claude-code", "docs", &["MOCK:text ready", "--steerable"]),
            done: self.launch("codex", "lib", &["MOCK:text the tests pass now"]),
            waiting: self.waiting(),
        };
        self.launch("claude-code", "old", &["MOCK:err 400"]);
        let killed = self.launch("codex", "ops", &[&gate.until()]);
        self.kill(&killed);
        self.show(&["wait", &cast.done, "--timeout", "60s"]);
        self.tell(&cast);
    }

    fn tell(&self, cast: &Cast) {
        let root = self.sandbox.root().to_string_lossy().into_owned();
        let all = ["list", "--all", "--cwd", &root];
        say("what is there: one waits for a person, two are alive, others have ended");
        self.show(&all);
        say("why: every fact with its source, and how to check it");
        self.show(&["explain", &cast.waiting]);
        self.show(&["attach", &cast.waiting, "--print"]);
        self.show(&["logs", &cast.done]);
        say("a message counts as delivered once the agent's own store shows it");
        self.show(&["send", &cast.steered, "MOCK:text heard"]);
        self.show(&["send", &cast.working, "one more thing"]);
        say("an end with a certificate, and a conversation that goes on");
        self.show(&["stop", &cast.working, &cast.steered]);
        self.show(&["resume", &cast.done, "MOCK:text and so does the last one"]);
        self.show(&["wait", &cast.done, "--timeout", "60s"]);
        self.show(&all);
    }

    /// Launches an agent in a directory of its own, and returns its session.
    fn launch(&self, agent: &str, dir: &str, prompt: &[&str]) -> String {
        let dir = self.sandbox.dir(dir).to_string_lossy().into_owned();
        let words = [&["launch", agent, "--cwd", &dir, "-p"], prompt].concat();
        prompted(&words);
        let answer = self.sandbox.agentctl(&words);
        print(&answer.stdout);
        print(&answer.stderr);
        answer.stdout.trim().to_owned()
    }

    /// The session on the terminal, once it waits for a person.
    fn waiting(&self) -> String {
        self.sandbox.wait_for("session that waits for a person", LIMIT, || {
            let root = self.sandbox.root().to_string_lossy().into_owned();
            let list = ["list", "--state", "waiting", "--cwd", &root, "--json"];
            let found: Value = serde_json::from_str(&self.sandbox.agentctl(&list).stdout).ok()?;
            Some(found["sessions"][0]["id"].as_str()?.to_owned())
        })
    }

    /// Kills the process of a session, as a machine out of memory does.
    fn kill(&self, id: &str) {
        let answer = self.sandbox.agentctl(&["status", id, "--json"]);
        let found: Value = serde_json::from_str(&answer.stdout).unwrap_or_default();
        let Some(pid) = found["session"]["pid"].as_u64().map(|pid| pid.to_string()) else { return };
        print(&format!("$ kill -KILL {pid}\n"));
        let _ = self.sandbox.command("kill").args(["-KILL", &pid]).status();
    }

    /// Shows a command, and what it prints.
    fn show(&self, words: &[&str]) {
        prompted(words);
        let _ = self.sandbox.command(&self.agentctl).args(words).status();
    }

    /// A shell in this home, for whoever wants to look further.
    fn shell(&self) {
        say("a shell in this home: try `agentctl list -a`; `exit` ends it all");
        let own = self.agentctl.parent().unwrap_or_else(|| Path::new("/")).to_owned();
        let mut command = self.sandbox.command("sh");
        let path = command.get_envs().find(|(name, _)| *name == "PATH");
        let path = path.and_then(|(_, value)| value).unwrap_or_default().to_owned();
        let mut searched = own.into_os_string();
        searched.push(":");
        searched.push(path);
        let _ = command.env("PATH", searched).env("PS1", "demo$ ").arg("-i").status();
    }
}

fn prompted(words: &[&str]) {
    let plain = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
    let quoted = |word: &&str| if plain(word) { (*word).to_owned() } else { format!("'{word}'") };
    let words: Vec<String> = words.iter().map(quoted).collect();
    print(&format!("\n$ agentctl {}\n", words.join(" ")));
}

fn say(text: &str) {
    print(&format!("\n# {text}\n"));
}

fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush()); // nobody may be reading
}
