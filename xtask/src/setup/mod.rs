//! `cargo xtask setup`: what the tests need and a machine may lack, pinned, installed once.
//!
//! Everything but Debian's packages goes into a cache outside the repository. What is in place is
//! left alone and not talked about; progress goes to stderr, one line a step.

mod agents;
mod cache;
mod cargo_tools;
mod ready;
mod spelling;
mod system;

pub(crate) use cache::cache_dir;
pub(crate) use cargo_tools::ripgrep;
pub(crate) use ready::{Ready, pinned, run};
pub(crate) use spelling::typos;
pub(crate) use system::{emulator, valgrind, watchers};
