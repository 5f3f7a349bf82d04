//! Holds processes where only the kernel can: in their `exec`, or in their exit.

use super::{Ground, kernel::Process, until};
use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

/// Somebody who lies in wait; gone with this value.
pub(crate) struct Holder {
    child: Child,
    mark: PathBuf,
}

impl Holder {
    /// Holds whoever executes the agent's command, before it has.
    pub(crate) fn before_exec(ground: &dyn Ground) -> Self {
        Self::start(ground, "exec", &ground.program().to_string_lossy())
    }

    /// Holds a process when it exits, before it is gone.
    pub(crate) fn at_exit(ground: &dyn Ground, process: Process) -> Self {
        Self::start(ground, "exit", &process.pid.to_string())
    }

    fn start(ground: &dyn Ground, kind: &str, what: &str) -> Self {
        let gates = ground.gates();
        let script = gates.join("hold.pl");
        fs::write(&script, include_str!("hold.pl")).expect("the gates are ours");
        let mark = gates.join(format!("{kind}.held"));
        let mut perl = Command::new("perl");
        perl.arg(script).args([kind, what]).arg(&mark).arg(gates.join("held"));
        let child = perl.stdin(Stdio::null()).stderr(Stdio::inherit()).spawn().expect("perl");
        let holder = Self { child, mark };
        let ready = holder.mark.with_added_extension("ready");
        until(&format!("holder at {kind}"), || ready.exists().then_some(()));
        holder
    }

    /// Waits until somebody is held.
    pub(crate) fn holds(&self) {
        until("process that is held", || self.mark.exists().then_some(()));
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // Its going lets everybody go.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
