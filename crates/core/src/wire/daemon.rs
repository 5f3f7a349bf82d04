//! What `daemon status` answers.

use super::Problem;
use jiff::Timestamp;
use serde::Serialize;
use std::path::PathBuf;

/// The daemon, as it is. All but `running` is absent where none runs, or where it does not say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Daemon {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// It runs: somebody holds its kernel lock.
    pub running: bool,
    /// Its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Its version, which may be another than that of the program that asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The number of the language it speaks on its socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u32>,
    /// Since when it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Where it listens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
    /// Where its lines go, if not to whoever started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
    /// The stores of agents that it watches.
    pub watches: Vec<PathBuf>,
    /// What it could not read or do since it runs.
    pub problems: Vec<Problem>,
}
