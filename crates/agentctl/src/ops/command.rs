//! Commands of others, run to their end within bounds.

use crate::host::{end, key_of};
use agentctl_core::{launch::Signal, text::one_line};
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How long one whose time is over has to heed a signal.
const GRACE: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(20);
/// No answer that is read here is longer.
const LONGEST: u64 = 4 << 20;

/// What a command says if it ends well; an error says how it ended, with its last line.
pub(super) fn said(command: &mut Command, within: Duration) -> Result<Vec<u8>, String> {
    let files = tempfile::tempfile().and_then(|out| Ok((out, tempfile::tempfile()?)));
    // Files, not pipes: a full pipe would stop it, and whoever it leaves behind would keep one open.
    let (mut out, mut err) = files.map_err(|why| format!("cannot be heard: {why}"))?;
    let twins = out.try_clone().and_then(|out| Ok((out, err.try_clone()?)));
    let (to, errors) = twins.map_err(|why| format!("cannot be heard: {why}"))?;
    let started = command.stdin(Stdio::null()).stdout(to).stderr(errors).spawn();
    let mut child = started.map_err(|why| format!("cannot be run: {why}"))?;
    let until = Instant::now() + within;
    let status = loop {
        match child.try_wait().map_err(|why| format!("cannot be waited for: {why}"))? {
            Some(status) => break status,
            None if Instant::now() < until => thread::sleep(TICK),
            None => {
                // With all that it started; whoever outlives that is not waited for.
                let signals = [Signal::Terminate, Signal::Kill];
                let _ = key_of(child.id()).map(|key| end(&key, &signals, GRACE));
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("did not end within {within:?}"));
            }
        }
    };
    let (said, complained) = (read(&mut out), read(&mut err));
    if status.success() {
        return said.map_err(|why| format!("cannot be heard: {why}"));
    }
    let complained = String::from_utf8_lossy(&complained.unwrap_or_default()).into_owned();
    let last = complained.lines().rfind(|line| !line.trim().is_empty()).map(one_line);
    Err(format!("ended with {status}{}", last.map_or(String::new(), |last| format!(": {last}"))))
}

fn read(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}
