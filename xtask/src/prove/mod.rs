//! `cargo xtask prove`: every part of what `docs/PROOF.md` says is proved.

mod fuzz;
mod kills;
mod mutants;
mod parts;
mod soak;
mod survivors;
mod table;

pub(crate) use parts::run;
