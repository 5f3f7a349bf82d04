//! What was set beforehand, by whom and where: files in layers, and variables.
//!
//! Reads those files and the environment, and nothing else; only commands that start something ask it. A
//! project's file may come from anybody: what it may set unless it is trusted stands in `key`.

mod file;
mod key;
mod layers;
mod legacy;
mod project;
mod value;
mod webhook;

pub(crate) use key::Key;
pub(crate) use layers::{Config, Note, Setting, look, read};
pub(crate) use value::{Value, is_url};
pub(crate) use webhook::{Format, Secret, Webhook, host_only};
