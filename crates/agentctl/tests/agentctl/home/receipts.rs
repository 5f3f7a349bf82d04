//! Made-up receipts of ours.

use super::Agents;
use serde_json::{Value, json};
use std::{fs, path::PathBuf};

/// Where receipts of launches are, below the home.
pub(crate) const LAUNCHES: &str = ".local/state/agentctl/launches";
/// Where receipts of stops are, below the home.
pub(crate) const STOPS: &str = ".local/state/agentctl/stops";
/// A pid that no process has.
pub(crate) const NOBODY: u32 = 4_194_999;

/// Which boot this is.
pub(crate) fn boot() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("Linux has one");
    boot.trim_end().to_owned()
}

/// A moment so many days from now.
pub(crate) fn days(from_now: i64) -> String {
    let hours = jiff::SignedDuration::from_hours(24 * from_now);
    (jiff::Timestamp::now() + hours).to_string()
}

impl Agents {
    /// The receipt of a launch of this session, by a process that is gone. `more` is added.
    pub(crate) fn launched(&self, name: &str, session: &str, more: Value) -> Value {
        let log = self.home.path(format!("{LAUNCHES}/{name}.log"));
        let mut value = json!({
            "schema": 1, "launch": name, "agent": "claude-code", "session": session, "log": log,
            "at": days(0), "process": {"pid": NOBODY, "start": 7, "boot": boot()},
        });
        let more = more.as_object().cloned().unwrap_or_default();
        value.as_object_mut().expect("an object").extend(more);
        value
    }

    /// Writes a receipt of a launch.
    pub(crate) fn receipt(&self, name: &str, value: &Value) -> PathBuf {
        self.home.write(format!("{LAUNCHES}/{name}.json"), value.to_string())
    }
}
