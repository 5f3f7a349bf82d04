//! The scripted model, asked over a real socket in every dialect.

mod client;
mod dialects;
mod program;
mod server;
mod verbs;
