//! Input that must not hurt: one bad thing never hides the others, and nothing is told that is not so.

mod clocks;
mod closed;
mod content;
mod database;
mod environment;
mod hostile;
mod huge;
mod kinds;
mod links;
mod names;
mod registry;
mod types;
