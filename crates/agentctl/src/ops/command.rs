//! Commands of others whose answer is short.

use crate::bounded::{self, Ran, Unrun};
use agentctl_core::text::one_line;
use std::{
    process::{Command, Stdio},
    time::Duration,
};

/// No answer that is read here is longer.
const LONGEST: u64 = 4 << 20;

/// What a command says if it ends well; an error says how it ended, with its last line.
pub(super) fn said(command: &mut Command, within: Duration) -> Result<Vec<u8>, String> {
    told(bounded::run(command.stdin(Stdio::null()), within))
}

/// The same for what may start others, which end with it where it takes too long.
pub(super) fn said_by_all(command: &mut Command, within: Duration) -> Result<Vec<u8>, String> {
    told(bounded::run_group(command.stdin(Stdio::null()), within))
}

fn told(ran: Result<Ran, Unrun>) -> Result<Vec<u8>, String> {
    let ran = ran.map_err(|why| why.to_string())?;
    if ran.status.success() {
        return ran.out(LONGEST).map_err(|why| format!("cannot be heard: {why}"));
    }
    let complained = ran.err(LONGEST).unwrap_or_default();
    let complained = String::from_utf8_lossy(&complained);
    let last = complained.lines().rfind(|line| !line.trim().is_empty()).map(one_line);
    let last = last.map_or(String::new(), |last| format!(": {last}"));
    Err(format!("ended with {}{last}", ran.status))
}
