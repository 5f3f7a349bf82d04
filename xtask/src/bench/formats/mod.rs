//! What each agent writes down, in the shape of captured files, with made-up text.
//!
//! A session comes out the same for the same plan, whoever writes it and when.

mod claude;
mod codex;
mod copilot;
mod course;
mod database;
mod gemini;
mod openclaw;
mod opencode;
mod pi;

pub(super) use copilot::lock;
pub(super) use openclaw::write_all as openclaw;
pub(super) use opencode::write_all as opencode;

use super::plan::{Agent, Session};
use crate::failure::Outcome;
use std::path::{Path, PathBuf};

/// Where an agent keeps everything, below a home directory.
pub(super) fn store(home: &Path, agent: Agent) -> PathBuf {
    home.join(match agent {
        Agent::Claude => ".claude",
        Agent::Codex => ".codex",
        Agent::OpenCode => ".local/share/opencode",
        Agent::Pi => ".pi/agent",
        Agent::Gemini => ".gemini",
        Agent::Copilot => ".copilot",
        Agent::OpenClaw => ".openclaw",
    })
}

/// The folders and files with sessions of an agent, below its store.
pub(super) fn folders(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::Claude => &["projects"],
        Agent::Codex => &["sessions", "archived_sessions"],
        Agent::OpenCode => &[opencode::DATABASE],
        Agent::Pi => &["sessions"],
        Agent::Gemini => &["tmp"],
        Agent::Copilot => &["session-state"],
        Agent::OpenClaw => &["agents"],
    }
}

/// Where a session's transcript is; sessions of some agents share a database.
pub(super) fn path(home: &Path, session: &Session) -> PathBuf {
    let store = store(home, session.agent);
    match session.agent {
        Agent::Claude => claude::path(&store, session),
        Agent::Codex => codex::path(&store, session),
        Agent::OpenCode => store.join(opencode::DATABASE),
        Agent::Pi => pi::path(&store, session),
        Agent::Gemini => gemini::path(&store, session),
        Agent::Copilot => copilot::path(&store, session),
        Agent::OpenClaw => store.join(openclaw::DATABASE),
    }
}

/// Writes a session that has files of its own; those in databases are written all at once.
pub(super) fn write(home: &Path, session: &Session) -> Outcome<()> {
    let store = store(home, session.agent);
    match session.agent {
        Agent::Claude => claude::write(&store, session),
        Agent::Codex => codex::write(&store, session),
        Agent::Pi => pi::write(&store, session),
        Agent::Gemini => gemini::write(&store, session),
        Agent::Copilot => copilot::write(&store, session),
        Agent::OpenCode | Agent::OpenClaw => Ok(()),
    }
}
