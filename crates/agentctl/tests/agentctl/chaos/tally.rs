//! What was played, how often, and what was wrong.

use super::step::Step;
use serde::Serialize;
use std::{
    collections::BTreeMap,
    env, fs,
    io::{Write as _, stderr},
};

/// The variable that names the file in which `cargo xtask prove` looks for the figures.
const PROOF: &str = "AGENTCTL_PROOF_CHAOS";

/// The figures.
#[derive(Debug, Serialize)]
pub(super) struct Tally {
    pub(super) seed: u64,
    pub(super) seconds: u64,
    pub(super) sequences: u64,
    pub(super) sessions: usize,
    /// How often each kind of step was done, and how often nobody was there for it.
    pub(super) steps: BTreeMap<String, [u64; 2]>,
    pub(super) checks: u64,
    pub(super) wrong: Vec<String>,
}

impl Tally {
    pub(super) fn new(seed: u64) -> Self {
        let steps = BTreeMap::new();
        Self { seed, seconds: 0, sequences: 0, sessions: 0, steps, checks: 0, wrong: Vec::new() }
    }

    pub(super) fn step(&mut self, step: &Step, skipped: bool) {
        self.steps.entry(step.name()).or_default()[usize::from(skipped)] += 1;
    }

    /// Writes them where somebody asked for them.
    pub(super) fn written(&self) {
        let Some(file) = env::var_os(PROOF) else { return };
        let text = serde_json::to_string(self).expect("it has only words and numbers");
        let written = fs::write(file, text);
        assert!(written.is_ok(), "the figures cannot be written: {written:?}");
    }

    /// Shows them, and fails if anything is wrong.
    pub(super) fn is_good(&self) {
        let steps: u64 = self.steps.values().map(|[done, _]| done).sum();
        let text = format!(
            "seed {}: {} sequences, {steps} steps, {} sessions, {} checks\n",
            self.seed, self.sequences, self.sessions, self.checks
        );
        let _ = stderr().write_all(text.as_bytes()); // whoever runs it may not look
        assert!(self.wrong.is_empty(), "{text}{}", self.wrong.join("\n\n"));
    }
}
