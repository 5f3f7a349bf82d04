//! `cargo xtask prove`: the kill matrix, and the dated page that says what came of every cell.

mod run;
mod table;

pub(crate) use run::run;
