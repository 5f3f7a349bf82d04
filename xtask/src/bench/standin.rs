//! A process that stands in for an agent's, and what it is told to hold.

use crate::failure::{Failure, Outcome};
use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

/// A stand-in that lives as long as this value.
pub(super) struct Standin {
    child: Child,
    says: BufReader<ChildStdout>,
    hears: ChildStdin,
}

impl Standin {
    /// Starts one; it is ready when this returns.
    pub(super) fn start(command: &mut Command) -> Outcome<Self> {
        let failed = |why| Failure::new(format!("cannot start a stand-in: {why}"));
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(failed)?;
        let (hears, says) = (child.stdin.take(), child.stdout.take());
        let (Some(hears), Some(says)) = (hears, says) else {
            return Err(Failure::new("a stand-in has no pipes"));
        };
        let mut standin = Self { child, says: BufReader::new(says), hears };
        standin.told("begin")?;
        Ok(standin)
    }

    /// Its process.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Tells it what to hold, and waits until it does.
    pub(super) fn told(&mut self, what: &str) -> Outcome<()> {
        let gone = |why| Failure::new(format!("a stand-in ended before it was ready: {why}"));
        writeln!(self.hears, "{what}").map_err(gone)?;
        let mut line = String::new();
        match self.says.read_line(&mut line).map_err(gone)? {
            0 => Err(Failure::new(format!("a stand-in cannot do this: {what}"))),
            _ => Ok(()),
        }
    }

    /// Kills it, and leaves it to be reaped.
    pub(super) fn kill(&mut self) -> Outcome<()> {
        let killed = self.child.kill();
        killed.map_err(|why| Failure::new(format!("cannot kill a stand-in: {why}")))
    }
}

impl Drop for Standin {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
