//! Names for processes and sessions that cannot be mistaken for another's.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One process, for as long as it lives: a pid alone is reused, these three together are not.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcKey {
    /// Process id.
    pub pid: u32,
    /// Start time as this host counts it: clock ticks since boot on Linux, else whole seconds.
    pub start: u64,
    /// Which boot of this machine.
    pub boot: String,
}

impl fmt::Display for ProcKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {} (start {})", self.pid, self.start)
    }
}
