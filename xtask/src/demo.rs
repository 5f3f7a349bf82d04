//! `cargo xtask demo`: real agents against a scripted model, and a walk through what agentctl does.

use crate::{
    failure::{Failure, Outcome},
    setup, tool,
};
use std::{
    path::Path,
    process::{Command, Stdio},
};

/// Installs the agents, builds what is shown, and shows it.
pub(crate) fn run(root: &Path) -> Outcome<()> {
    let ready = setup::run(root)?;
    let built = |package, program| {
        tool::built(
            tool::cargo().args(["build", "--locked", "-p", package]).current_dir(root),
            program,
        )
    };
    let (demo, agentctl) = (built("agentctl-testkit", "demo")?, built("agentctl", "agentctl")?);
    let mut demo = Command::new(demo);
    demo.arg(agentctl).envs(ready.environment()).stdin(Stdio::inherit());
    let status =
        demo.status().map_err(|why| Failure::new(format!("cannot run the demo: {why}")))?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::new(format!("the demo ended with {status}"))),
    }
}
