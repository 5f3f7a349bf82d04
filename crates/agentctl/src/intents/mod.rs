//! What people asked for, read and written whole. Decides nothing: `core` does.

pub(crate) mod budgets;
pub(crate) mod fuses;
pub(crate) mod locks;
pub(crate) mod store;
