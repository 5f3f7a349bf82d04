//! `cargo xtask check`: what a machine can hold of how we write.
//!
//! A check reads the tree and returns findings; none of them changes a file. Adding one is a file
//! here and a line in `run.rs`.

mod licences;
mod notes;
mod paths;
mod report;
mod rooms;
mod run;
mod sizes;
mod spdx;
mod tools;
mod tree;

pub(crate) use report::Finding;
pub(crate) use run::run;
pub(crate) use tree::Tree;
