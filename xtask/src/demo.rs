//! `cargo xtask demo`: real agents against a scripted model, and a walk through what agentctl does.

use crate::{
    failure::{Failure, Outcome},
    setup, tool,
};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Installs the agents, builds what is shown, and shows it.
pub(crate) fn run(root: &Path) -> Outcome<()> {
    let ready = setup::run(root)?;
    let demo = built(root, "agentctl-testkit", "demo")?;
    let agentctl = built(root, "agentctl", "agentctl")?;
    let mut demo = Command::new(demo);
    demo.arg(agentctl).envs(ready.environment()).stdin(Stdio::inherit());
    let status =
        demo.status().map_err(|why| Failure::new(format!("cannot run the demo: {why}")))?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::new(format!("the demo ended with {status}"))),
    }
}

/// Where cargo put a program that it has built.
fn built(root: &Path, package: &str, program: &str) -> Outcome<PathBuf> {
    let mut cargo = tool::cargo();
    cargo.args(["build", "--locked", "--message-format=json-render-diagnostics"]);
    let said = tool::captured(cargo.args(["-p", package, "--bin", program]).current_dir(root))?;
    let lines = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut named = lines.filter(|line| line["target"]["name"] == program);
    let path = named.find_map(|line| line["executable"].as_str().map(PathBuf::from));
    path.ok_or_else(|| Failure::new(format!("cargo does not say where `{program}` is")))
}
