//! The tests of the testkit itself.

mod conformance;
mod hostile;
mod model;
mod observed;
