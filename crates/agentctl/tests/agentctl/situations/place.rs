//! Where a scene is played: a throw-away home with a made-up session, or a stage with a real agent.

use super::cast::Kind;
use crate::{
    driven::path,
    home::{Answer, Home},
    kills::{Process, until},
    real_copilot, real_gemini, real_opencode, real_pi,
    support::Stage,
};
use agentctl_testkit::sandbox::Gate;
use serde_json::{Value, json};
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};

/// A home, and what runs commands in it.
pub(crate) enum Place {
    Played(Home),
    Real(Box<Stage>),
}

impl Place {
    /// A path below the home directory.
    pub(crate) fn path(&self, below: impl AsRef<OsStr>) -> PathBuf {
        match self {
            Self::Played(home) => home.path(below),
            Self::Real(stage) => stage.sandbox.home().join(Path::new(below.as_ref())),
        }
    }

    /// The directory in which programs are started.
    pub(crate) fn work(&self) -> PathBuf {
        match self {
            Self::Played(home) => home.work(),
            Self::Real(stage) => stage.sandbox.work(),
        }
    }

    /// Where a program of this name is put.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        match self {
            Self::Played(home) => home.program(name),
            Self::Real(stage) => stage.sandbox.dir("programs").join(name),
        }
    }

    /// The user whose home it is, where that is not us.
    pub(crate) fn user(&self) -> Option<u32> {
        match self {
            Self::Played(home) => home.user(),
            Self::Real(_) => None,
        }
    }

    /// A command in this home, as its user.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = match self {
            Self::Played(home) => home.command(program),
            Self::Real(stage) => stage.sandbox.command(program),
        };
        command.env("PATH", "/usr/bin:/bin");
        command
    }

    /// What `agentctl` answers; it is safe to show, and no bug.
    pub(crate) fn ask(&self, words: &[&str]) -> Answer {
        self.answer(&mut self.agentctl(words))
    }

    /// A call of `agentctl`.
    pub(crate) fn agentctl(&self, words: &[&str]) -> Command {
        let mut command = match self {
            Self::Played(home) => self.command(home.program("agentctl")),
            Self::Real(stage) => self.command(stage.sandbox.program()),
        };
        command.args(words);
        command
    }

    /// The same for a call that was made before.
    pub(crate) fn answer(&self, command: &mut Command) -> Answer {
        match self {
            Self::Played(home) => home.ask(command),
            Self::Real(stage) => Answer::of(command, &stage.sandbox.root().join("out")).checked(),
        }
    }
}

/// A real agent that was launched, and waits for its model.
pub(super) struct Launched {
    pub(super) place: Place,
    pub(super) session: Value,
    pub(super) process: Process,
    pub(super) gate: Gate,
}

/// Launches a real agent on a fresh stage; its prompt is written down, and its model asked.
pub(super) fn launch(kind: Kind) -> Launched {
    let stage = if kind == Kind::OpenCode { Stage::opencode("allow") } else { Stage::new() };
    let gate = stage.sandbox.gate("answer");
    let id = match kind {
        Kind::OpenClaw => alone(&stage, &gate),
        Kind::Claude | Kind::Codex | Kind::OpenCode | Kind::Pi | Kind::Gemini | Kind::Copilot => {
            by_agentctl(&stage, kind, &gate)
        }
    };
    let session = until("recorded prompt", || {
        let row = stage.list(&[]).into_iter().find(|row| row["id"] == *id)?;
        (row["state"] == "working" && row["source"].is_string()).then_some(row)
    });
    let pid = session["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).expect("a pid");
    let process = Process::of(pid).expect("it lives");
    Launched { place: Place::Real(Box::new(stage)), session, process, gate }
}

/// The session of one that `agentctl` has launched.
fn by_agentctl(stage: &Stage, kind: Kind, gate: &Gate) -> String {
    let agents = || vec![path("AGENTCTL_TEST_AGENTS")];
    let set = match kind {
        Kind::Claude => [agents(), vec![("IS_SANDBOX", "1".to_owned())]].concat(),
        Kind::Codex => agents(),
        Kind::OpenCode => [vec![path("AGENTCTL_TEST_OPENCODE")], real_opencode::quiet()].concat(),
        Kind::Pi => stage.pi_set(&real_pi::NEW),
        Kind::Gemini => [vec![path(real_gemini::SET)], stage.gemini_set()].concat(),
        Kind::Copilot => [vec![path(real_copilot::SET)], stage.copilot_set()].concat(),
        Kind::OpenClaw => panic!("its gateway runs what is launched"),
    };
    let own: &[&str] = if kind == Kind::Gemini { &["--", "--skip-trust"] } else { &[] };
    let set: Vec<(&str, &str)> = set.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let prompt = gate.until();
    let words = [&["launch", kind.name(), "--json", "-p", &prompt], own].concat();
    let answer = stage.sandbox.agentctl_with(&set, &words);
    assert_eq!(answer.code, Some(0), "{answer:?}\n{}", stage.sandbox.scene());
    stage.asked("until");
    answer.json()["session"]["id"].as_str().expect("an id").to_owned()
}

/// The session of an OpenClaw without a gateway. What `agentctl` launches runs in the gateway, with others: only this
/// is one process with one session. Whoever starts it goes, so that the world collects it.
fn alone(stage: &Stage, gate: &Gate) -> String {
    const START: &str = r#""$@" >/dev/null 2>&1 </dev/null &"#;
    stage.configure(&json!({}));
    let message = format!("go\n{}", gate.until());
    let own = ["openclaw", "agent", "--local", "--session-key", "agent:main:alone", "-m", &message];
    stage.openclaw(&[&["sh", "-c", START, "sh"], &own[..]].concat()).spawn();
    let id = stage.of_key("alone");
    stage.held(gate);
    id
}
