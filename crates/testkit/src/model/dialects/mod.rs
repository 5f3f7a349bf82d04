//! The wire dialects: each reads a request into a `Conversation` and spells an `Answer`.
//!
//! The modules compute only; who sends what when is decided in `routes`.

mod anthropic;
mod chat;
mod dialect;
mod event;
mod gemini;
mod responses;

pub use dialect::Dialect;
