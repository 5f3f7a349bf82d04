//! `cargo xtask prove`: the kill matrix and the soak, and the dated pages that say what came of them.

mod run;
mod soak;
mod table;

pub(crate) use run::run;
pub(crate) use soak::run as soak;
