//! The same ground with a real agent, which is held by its model, by its tool, or by the kernel.

use super::{Cell, Ground, Step, cell, held::Holder, kernel::Process, names, until};
use crate::{driven::Driven, support::LIMIT};
use agentctl_testkit::sandbox::Gate;
use rustix::process::Signal;
use serde_json::Value;
use std::{
    cell::RefCell,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

/// A stage on which the agent's command waits for a file before it becomes the agent.
struct Real<'a> {
    driven: &'a Driven<'a>,
    /// The model's answer.
    answer: Gate,
    /// The tool's end.
    tool: Gate,
    holder: RefCell<Option<Holder>>,
}

/// Runs one cell with an agent on a fresh stage.
pub(crate) fn run(driven: &Driven<'_>, cell: Cell) {
    let sandbox = &driven.stage.sandbox;
    let (answer, tool) = (sandbox.gate("answer"), sandbox.gate("tool"));
    let real = Real { driven, answer, tool, holder: RefCell::default() };
    real.wrap();
    cell::run(&real, cell);
}

impl Real<'_> {
    /// What it is called on the command line.
    fn name(&self) -> &'static str {
        if self.driven.agent == "claude-code" { "claude" } else { self.driven.agent }
    }

    fn path(&self) -> &str {
        let path = self.driven.set.iter().find(|(name, _)| *name == "PATH");
        path.map(|(_, value)| value.as_str()).expect("it is on the path")
    }

    /// Puts a command before the agent's own that becomes it once it may.
    fn wrap(&self) {
        let own = Path::new(self.path().split(':').next().unwrap_or_default()).join(self.name());
        let text = format!(
            "#!/bin/sh\ngates='{}'\n[ -e $gates/quick ] && exit 7\n: > $gates/id.reached\n\
             until [ -e $gates/id ]; do [ -d $gates ] || exit 9; sleep 0.02; done\n\
             exec '{}' \"$@\"\n",
            self.gates().display(),
            own.display(),
        );
        let program = self.program();
        fs::create_dir(program.parent().expect("a folder")).expect("the sandbox is ours");
        fs::write(&program, text).expect("the sandbox is ours");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }

    fn touch(&self, gate: &str) {
        fs::write(self.gates().join(gate), "").expect("a gate");
    }

    /// The process that the list says has the session, once the launch knows that session too, and Copilot has written
    /// it down: before, a kill leaves nothing to be told of.
    fn listed(&self) -> Process {
        let stage = self.driven.stage;
        let written = |row: &Value| self.driven.agent != "copilot" || row["prompt"].is_string();
        let row = stage.sandbox.wait_for("live session", LIMIT, || {
            let rows = stage.list(&[]).into_iter();
            let mut rows = rows.filter(|row| row["live"] == true);
            let row = rows.find(|row| row["id"].is_string())?;
            (written(&row) && self.is_known(&row["id"])).then_some(row)
        });
        Process::of((self.driven.is_real)(&row)).expect("it is alive")
    }

    /// The receipt of the launch names this session.
    fn is_known(&self, id: &Value) -> bool {
        let dir = self.state().join("launches");
        let receipts = names(&dir).into_iter().filter(|name| name.ends_with(".json"));
        let mut receipts = receipts.filter_map(|name| fs::read(dir.join(name)).ok());
        receipts.any(|bytes| {
            let receipt = serde_json::from_slice::<Value>(&bytes);
            receipt.is_ok_and(|receipt| receipt["session"] == *id)
        })
    }
}

impl Ground for Real<'_> {
    fn root(&self) -> PathBuf {
        self.driven.stage.sandbox.root().to_owned()
    }

    fn state(&self) -> PathBuf {
        self.driven.stage.sandbox.home().join(".local/state/agentctl")
    }

    fn command(&self, program: &Path, words: &[&str]) -> Command {
        let mut command = self.driven.stage.sandbox.command(program);
        command.envs(self.driven.set.iter().map(|(name, value)| (name, value))).args(words);
        let first = self.program().parent().expect("a folder").display().to_string();
        command.env("PATH", format!("{first}:{}", self.path()));
        command
    }

    fn agentctl(&self) -> PathBuf {
        self.driven.stage.sandbox.program().to_owned()
    }

    fn launch(&self, step: Step) -> Vec<String> {
        let prompt = match step {
            Step::Tool => format!("MOCK:tool {}\nMOCK:text end", self.tool.tool()),
            Step::Exec | Step::Id | Step::Work | Step::Exit => self.answer.until(),
        };
        let words = ["launch", self.driven.agent, "--json", "-p", &prompt];
        // Claude Code 2.1.197 takes no full leave from root; its own arguments give it.
        let leave: &[&str] = match self.driven.agent {
            "claude-code" => &[],
            _ => &["--permission", "full"],
        };
        let all = [&words, leave, &["--"], self.driven.own].concat();
        all.into_iter().map(str::to_owned).collect()
    }

    fn program(&self) -> PathBuf {
        self.root().join("programs").join(self.name())
    }

    fn gates(&self) -> PathBuf {
        self.root().join("gates")
    }

    fn shut(&self, step: Step) {
        if !matches!(step, Step::Exec | Step::Id) {
            self.touch("id");
        }
    }

    fn reached(&self, step: Step, launched: Process) -> Process {
        match step {
            Step::Exec => launched,
            Step::Id => {
                let mark = self.gates().join("id.reached");
                until("agent before its id", || mark.exists().then_some(launched))
            }
            Step::Work => {
                self.driven.stage.asked("until");
                self.listed()
            }
            Step::Tool => {
                until("tool that runs", || self.tool.has_begun().then_some(()));
                self.listed()
            }
            Step::Exit => {
                self.driven.stage.asked("until");
                let agent = self.listed();
                let holder = Holder::at_exit(self, agent);
                self.answer.open();
                holder.holds();
                self.holder.replace(Some(holder));
                agent
            }
        }
    }

    fn open(&self) {
        self.touch("id");
        self.answer.open();
        self.tool.open();
        self.holder.take();
    }

    fn killed(&self, step: Step, signal: Signal) -> &'static [&'static str] {
        match (self.driven.agent, step, signal) {
            // 0.73 writes nothing down before its first answer.
            ("pi", Step::Work, _) => &["died", "unknown", ""],
            (_, _, Signal::KILL) => &["died"],
            // Some close what they do when they are asked to end.
            _ => &["died", "stopped"],
        }
    }

    fn next(&self) -> i32 {
        self.touch("quick"); // whoever is launched from now on ends at once
        6
    }
}
