//! What the tests stand on.

pub mod fixture;
pub mod model;
