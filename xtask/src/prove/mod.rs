//! `cargo xtask prove`: every part of what `docs/PROOF.md` says is proved.

mod chaos;
mod fuzz;
mod kills;
mod mutants;
mod named;
mod parts;
mod program;
mod situations;
mod soak;
mod survivors;
mod table;
mod trial;
mod weave;

pub(crate) use parts::run;
