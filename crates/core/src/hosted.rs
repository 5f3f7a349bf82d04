//! Sessions that an agent's own server runs for whoever asks: no process is started for them.

use crate::{control::Unheard, host::Host, ident::ProcKey, launch::Ask};
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// One request to the server, in the agent's own words, without any secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Call {
    /// What is asked for.
    pub method: String,
    /// How exactly.
    pub params: Value,
}

/// Which server is asked.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The store it serves.
    pub store: &'a Path,
    /// Its process: nobody else is asked, or told a password.
    pub process: &'a ProcKey,
}

/// An agent whose server runs its sessions.
pub trait Hosted: Sync {
    /// What a person runs to have a server.
    fn command(&self) -> &'static str;
    /// What to ask the server for; an error says what it cannot do.
    fn calls(&self, host: &dyn Host, ask: &Ask<'_>) -> Result<Vec<Call>, String>;
    /// Asks a server. Where it says no, nothing is left of it.
    fn begin(&self, host: &dyn Host, place: &Place<'_>, calls: &[Call]) -> Result<(), Unheard>;
    /// The session that a launch of this name made, once the store shows it.
    fn session(&self, host: &dyn Host, store: &Path, launch: &str) -> Option<String>;
}
