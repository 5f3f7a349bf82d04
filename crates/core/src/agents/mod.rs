//! Every agent the program knows: one folder and one line each.

mod claude;
mod codex;
mod copilot;
mod files;
mod gemini;
mod json;
mod openclaw;
mod opencode;
mod pi;
mod sign;
mod words;

use crate::agent::Agent;

/// The registry, in the order people see it.
pub static ALL: &[&dyn Agent] = &[
    &claude::Claude,
    &codex::Codex,
    &opencode::OpenCode,
    &pi::Pi,
    &gemini::Gemini,
    &copilot::Copilot,
    &openclaw::OpenClaw,
];

/// The agent of this name, or that was ever called so.
pub fn named(name: &str) -> Option<&'static dyn Agent> {
    ALL.iter().copied().find(|agent| {
        let card = agent.card();
        card.name == name || card.aliases.contains(&name)
    })
}
