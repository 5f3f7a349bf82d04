//! What the tests stand on.

pub mod demo;
pub mod fixture;
pub mod hostile;
pub mod model;
pub mod sandbox;
