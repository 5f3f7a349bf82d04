//! Hands the figures to whoever makes a page of them.

use super::figures::Figures;
use std::{env, fs};

/// The variable that names the file in which `cargo xtask prove` looks for the figures.
const PROOF: &str = "AGENTCTL_PROOF_SOAK";

/// Writes them where somebody asked for them.
pub(super) fn written(figures: &Figures) {
    let Some(file) = env::var_os(PROOF) else { return };
    let text = serde_json::to_string(figures).expect("it has only words and numbers");
    let written = fs::write(file, text);
    assert!(written.is_ok(), "the figures cannot be written: {written:?}");
}
