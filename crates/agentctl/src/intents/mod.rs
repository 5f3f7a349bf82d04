//! What people asked for, read and written whole. Decides nothing: `core::policy` does.

mod locks;

pub(crate) use locks::{Given, add, all, folder, left, take_away};
