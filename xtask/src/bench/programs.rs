//! Small programs that the bench compiles: yardsticks, and stand-ins for agents.

use super::plan::Agent;
use crate::{
    failure::{Failure, Outcome},
    tool,
};
use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const HELLO: &str = include_str!("programs/hello.rs");
const WALK: &str = include_str!("programs/walk.rs");
const STANDIN: &str = include_str!("programs/standin.rs");

/// Where each compiled program is.
pub(super) struct Programs {
    /// Says hello.
    pub(super) hello: PathBuf,
    /// Walks over `/proc`; with the word `read` it reads every `stat` file instead of asking stat(2).
    pub(super) walk: PathBuf,
    /// Holds what an agent would hold, under the name of one.
    standins: PathBuf,
}

impl Programs {
    /// The program that stands in for an agent's own.
    pub(super) fn standin(&self, agent: Agent) -> Outcome<PathBuf> {
        let name = match agent {
            Agent::Claude => "claude",
            Agent::Codex => "codex",
            Agent::Pi => "pi",
            Agent::Copilot => "copilot",
            Agent::OpenCode | Agent::Gemini | Agent::OpenClaw => {
                return Err(Failure::new("no stand-in is known for this agent"));
            }
        };
        Ok(self.standins.join(name))
    }
}

/// Compiles them all into a directory.
pub(super) fn compile(dir: &Path) -> Outcome<Programs> {
    fs::create_dir_all(dir).map_err(|why| Failure::io("create", dir, &why))?;
    let programs = Programs {
        hello: compiled(dir, "hello", HELLO)?,
        walk: compiled(dir, "walk", WALK)?,
        standins: dir.join("standins"),
    };
    let standin = compiled(dir, "standin", STANDIN)?;
    let failed = |why| Failure::io("write", &programs.standins, &why);
    fs::create_dir_all(&programs.standins).map_err(failed)?;
    for agent in [Agent::Claude, Agent::Codex, Agent::Pi, Agent::Copilot] {
        let to = programs.standin(agent)?;
        fs::copy(&standin, &to).map_err(|why| Failure::io("write", &to, &why))?;
    }
    Ok(programs)
}

/// A copy of a program, as it is installed. What a linker has written lies in smaller pieces of the kernel's memory, which takes longer
/// to map.
pub(super) fn installed(built: &Path, to: PathBuf) -> Outcome<PathBuf> {
    if built == to {
        return Ok(to); // what was measured last
    }
    let _ = fs::remove_file(&to); // one that runs could not be written to
    fs::copy(built, &to).map_err(|why| Failure::io("write", &to, &why))?;
    Ok(to)
}

fn compiled(dir: &Path, name: &str, source: &str) -> Outcome<PathBuf> {
    let (text, program) = (dir.join(format!("{name}.rs")), dir.join(format!("{name}.built")));
    fs::write(&text, source).map_err(|why| Failure::io("write", &text, &why))?;
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let mut rustc = Command::new(rustc);
    // As the release profile of the workspace, so that start-up is compared like with like.
    rustc.args(["--edition=2024", "-Copt-level=3", "-Cpanic=abort", "-Cstrip=symbols", "-o"]);
    tool::captured(rustc.arg(&program).arg(&text))?;
    installed(&program, dir.join(name))
}
