//! A world: a process table, mounts and a `/proc` of its own, in which a test runs itself once more.

use super::Kind;
use serde_json::json;
use std::{
    any, env,
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
};

/// The variable that says inside for which agent the world was made.
const INSIDE: &str = "AGENTCTL_WORLD";
/// The variable that names the file in which `cargo xtask prove` collects what came of each.
const PROOF: &str = "AGENTCTL_PROOF_SITUATIONS";
/// Its first process stays, and collects whoever is left to it.
const FIRST: &str = r#""$@"; exit $?"#;

/// What lets root read and write whatever it likes.
const LESS: &str = "-dac_override,-dac_read_search";

/// Runs the test in a world for each of these agents. It must be a closure of the test itself: its
/// name tells which test to run inside.
pub(crate) fn each<F: Fn(Kind)>(agents: &[Kind], situation: F) {
    within(&[], agents, situation);
}

/// The same in worlds that `unshare` makes with more words.
pub(crate) fn within<F: Fn(Kind)>(more: &[&str], agents: &[Kind], situation: F) {
    let name = name_of::<F>();
    if let Some(inside) = env::var_os(INSIDE) {
        let kind = agents.iter().find(|kind| inside == kind.name());
        situation(*kind.expect("the world was made for one of these"));
        return;
    }
    possible(name, more);
    let told = |kind: &Kind| Some(format!("{}:\n{}", kind.name(), failure(name, more, *kind)?));
    let failed: Vec<String> = agents.iter().filter_map(told).collect();
    assert!(failed.is_empty(), "{name} fails for {}", failed.join("\n"));
}

/// Runs the test in one world, if that can be made, and as it is if not; what it says on the way is heard at once.
pub(crate) fn alone<F: Fn()>(test: F) {
    let name = name_of::<F>();
    let probe = around(name, &[]).arg("true").output();
    if is_inside() || !probe.is_ok_and(|output| output.status.success()) {
        return test();
    }
    let mut world = world(name, &[]);
    let output = world.env(INSIDE, "alone").stderr(Stdio::inherit()).output().expect("unshare");
    assert!(output.status.success() && has_run(&output), "{name} fails in its world");
}

/// This is a world.
pub(crate) fn is_inside() -> bool {
    env::var_os(INSIDE).is_some()
}

fn name_of<F>() -> &'static str {
    let name = any::type_name::<F>().trim_end_matches("::{{closure}}");
    name.split_once("::").expect("a crate and a test").1
}

/// A name that no test has would run none, and succeed.
fn has_run(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stdout).contains("test result: ok. 1 passed")
}

/// Fails in one sentence, and not once for each agent, where no world can be made.
fn possible(name: &str, more: &[&str]) {
    let probe = around(name, more).arg("true").output();
    let output = probe.unwrap_or_else(|why| panic!("a world needs `unshare` of util-linux: {why}"));
    let right = "the right to make namespaces (CAP_SYS_ADMIN, or user namespaces for everybody)";
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "no world can be made without {right}: {}", why.trim_end());
}

/// Runs one, and writes down what came of it where somebody collects that; says why it failed.
fn failure(name: &str, more: &[&str], kind: Kind) -> Option<String> {
    let output = world(name, more).env(INSIDE, kind.name()).output().expect("unshare");
    let failure = (!output.status.success() || !has_run(&output)).then(|| words(&output));
    if let Some(file) = env::var_os(PROOF) {
        let line = json!({
            "situation": name.rsplit("::").next(), "agent": kind.name(), "failure": failure,
        });
        let file = OpenOptions::new().append(true).create(true).open(file);
        let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
        assert!(written.is_ok(), "the proof cannot be written: {written:?}");
    }
    failure
}

/// The call of whatever comes behind it in a world.
fn around(name: &str, more: &[&str]) -> Command {
    let mut unshare = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        unshare.args(["--user", "--map-root-user"]);
    }
    unshare.args(["--pid", "--mount", "--fork", "--kill-child", "--mount-proc"]).args(more);
    // Then permissions mean something for root too, where it is the home's user.
    if name.contains("::real_") || !rustix::process::geteuid().is_root() {
        unshare.args(["setpriv", "--bounding-set", LESS]);
    }
    unshare.stdin(Stdio::null());
    unshare
}

/// The call of this very test in a world.
fn world(name: &str, more: &[&str]) -> Command {
    let mut unshare = around(name, more);
    unshare.args(["sh", "-c", FIRST, "first"]).arg(env::current_exe().expect("a test"));
    unshare.args([name, "--exact", "--include-ignored", "--nocapture"]);
    unshare
}

/// What was said on the way to a failure, without the frame of the test.
fn words(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines = text.lines().filter(|line| !line.contains("RUST_BACKTRACE"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Runs a command of the world, which must succeed.
pub(super) fn must(program: &str, words: &[&str]) {
    let output = Command::new(program).args(words).output().expect("a program");
    assert!(output.status.success(), "{program} {words:?}: {output:?}");
}

/// A file system that is there until this value is not: what holds its place can be removed then.
pub(crate) struct Mounted(PathBuf);

impl Mounted {
    /// Memory as a disk, with these options.
    pub(crate) fn memory(options: &str, at: &Path) -> Self {
        must("mount", &["-t", "tmpfs", "-o", options, "tmpfs", &at.to_string_lossy()]);
        Self(at.to_owned())
    }

    /// A file in the place of another.
    pub(super) fn over(file: &Path, at: &Path) -> Self {
        must("mount", &["--bind", &file.to_string_lossy(), &at.to_string_lossy()]);
        Self(at.to_owned())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("--lazy").arg(&self.0).status();
        let done = unmounted.is_ok_and(|status| status.success());
        assert!(done || thread::panicking(), "{} stays mounted", self.0.display());
    }
}
