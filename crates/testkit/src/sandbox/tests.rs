//! The sandbox's own promises.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::guard::Guard;
use super::{MARK, Sandbox, wait};

const LIMIT: Duration = Duration::from_secs(20);

/// No test here asks `agentctl` anything.
fn sandbox() -> Sandbox {
    Sandbox::new("true")
}

fn goes(path: &Path) {
    let start = Instant::now();
    while path.exists() {
        assert!(start.elapsed() < LIMIT, "{} is still there", path.display());
        wait::glance();
    }
}

#[test]
fn nothing_is_left_behind() {
    let sandbox = sandbox();
    let root = sandbox.root().to_owned();
    // A daemon: in a session of its own, and its parent gone.
    let script = "setsid sh -c 'echo $$; sleep 1000' & wait";
    let shell = sandbox.run(&["sh", "-c", script]).spawn();
    let daemon: u32 = sandbox.wait_for("pid", LIMIT, || shell.stdout().trim().parse().ok());
    let terminal = sandbox.run(&["sleep", "1000"]).on_terminal();
    let pids = [shell.pid(), daemon, terminal.pid()];
    assert!(pids.iter().all(|pid| Path::new(&format!("/proc/{pid}")).exists()));
    drop(sandbox);
    assert!(!root.exists());
    // Who was not our child is collected by others, in their time.
    pids.iter().for_each(|pid| goes(Path::new(&format!("/proc/{pid}"))));
}

#[test]
fn a_guard_ends_what_a_killed_test_left() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let root = folder.keep();
    let mark = format!("guarded-{}", std::process::id());
    let mut guard = Guard::set(&mark, &root);
    let mut left = Command::new("sleep").arg("1000").env(MARK, &mark).spawn().expect("it starts");
    guard.leave();
    let status = left.wait().expect("it ends");
    assert!(!status.success(), "it was killed");
    goes(&root);
}

#[test]
fn the_environment_points_into_the_sandbox() {
    let sandbox = sandbox();
    let root = sandbox.root().display().to_string();
    let all = sandbox.run(&["env"]).finish(LIMIT);
    let value = |name: &str| all.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
    for name in ["HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"] {
        assert!(value(name).is_some_and(|dir| dir.starts_with(&root)), "{name} in {all}");
    }
    assert_eq!(value("ANTHROPIC_BASE_URL"), Some(sandbox.model().url().as_str()));
    assert_eq!(value("CARGO_MANIFEST_DIR"), None, "nothing is inherited");
    assert_eq!(value("LANG"), Some("C.UTF-8"));
}

#[test]
fn a_terminal_shows_what_is_typed_and_pasted() {
    let sandbox = sandbox();
    let terminal = sandbox.run(&["cat"]).on_terminal();
    terminal.send("typed words");
    terminal.paste("pasted; words\n");
    let twice = || {
        let screen = terminal.screen();
        let shown = |text| screen.matches(text).count() == 2; // once by the terminal, once by `cat`
        (shown("typed words") && shown("pasted; words")).then_some(())
    };
    sandbox.wait_for("every line twice", LIMIT, twice);
}

#[test]
#[should_panic(expected = "no miracle within 100ms")]
fn what_does_not_come_fails_the_test() {
    sandbox().wait_for("miracle", Duration::from_millis(100), || None::<()>);
}

#[test]
fn a_gate_lets_a_tool_go_on() {
    let sandbox = sandbox();
    let gate = sandbox.gate("tool");
    let tool = sandbox.run(&["sh", "-c", &gate.tool()]).input(Stdio::null()).spawn();
    sandbox.wait_for("beginning", LIMIT, || gate.has_begun().then_some(()));
    assert_eq!(tool.ended(), None);
    gate.open();
    assert!(tool.wait(LIMIT).success());
    assert_eq!(tool.stdout(), "tool-ended\n");
}
