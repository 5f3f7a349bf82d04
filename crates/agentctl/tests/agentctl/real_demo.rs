//! The demo, run to its end and broken off: no process and no file of it is ever left.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

use agentctl_testkit::{demo, sandbox::Terminal};

use crate::support::{LIMIT, Stage};

/// The variable by which this program, run again, is the demo.
const INSIDE: &str = "AGENTCTL_TEST_DEMO";
const NAME: &str = "real_demo::the_demo_without_a_terminal_runs_through";

#[test]
fn the_demo_without_a_terminal_runs_through() {
    let agentctl = Path::new(env!("CARGO_BIN_EXE_agentctl"));
    if env::var_os(INSIDE).is_some() {
        return demo::run(agentctl);
    }
    let this = env::current_exe().expect("this program");
    let mut again = Command::new(this);
    again.args(["--exact", NAME, "--nocapture"]).env(INSIDE, "1").stdin(Stdio::null());
    let done = again.output().expect("it runs");
    let shown = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{shown}{}", String::from_utf8_lossy(&done.stderr));
    for sign in ["waiting: approval", " delivered", "ended by SIGINT", "died", "goes now"] {
        assert!(shown.contains(sign), "no {sign:?}: {shown}");
    }
    assert!(!shown.contains("demo$"), "a shell without a terminal: {shown}");
    let root = root(&shown, "").expect("it names its home");
    assert_eq!(left(&root), Vec::<String>::new());
}

#[test]
fn the_demo_on_a_terminal_ends_with_a_shell() {
    let stage = Stage::new();
    let terminal = on_terminal(&stage);
    stage
        .sandbox
        .wait_for("shell", 2 * LIMIT, || terminal.screen().contains("demo$").then_some(()));
    terminal.send("agentctl list");
    terminal.shows("DIRECTORY");
    let root = root(&terminal.screen(), &own(&stage)).expect("it names its home");
    assert!(!left(&root).is_empty(), "it is there as long as the shell is");
    terminal.send("exit");
    nothing_left(&stage, &root);
}

#[test]
fn the_demo_broken_off_leaves_nothing() {
    let stage = Stage::new();
    let begun = |terminal: &Terminal<'_>| {
        stage.sandbox.wait_for("launch", LIMIT, || {
            let screen = terminal.screen();
            screen.contains(": working").then(|| root(&screen, &own(&stage)))?
        })
    };
    let interrupted = on_terminal(&stage);
    let closed = on_terminal(&stage);
    let roots = [begun(&interrupted), begun(&closed)];
    interrupted.press(&["C-c"]);
    closed.close();
    roots.iter().for_each(|root| nothing_left(&stage, root));
}

fn on_terminal(stage: &Stage) -> Terminal<'_> {
    let this = env::current_exe().expect("this program").to_string_lossy().into_owned();
    let agents = "AGENTCTL_TEST_AGENTS";
    let folder = env::var(agents).expect("`cargo xtask test` says where the agents are");
    let run = stage.sandbox.run(&[&this, "--exact", NAME, "--nocapture"]);
    run.env(INSIDE, "1").env(agents, &folder).on_terminal()
}

fn own(stage: &Stage) -> String {
    stage.sandbox.root().file_name().expect("a name").to_string_lossy().into_owned()
}

/// The name of the first sandbox in a text that is not this one.
fn root(text: &str, own: &str) -> Option<String> {
    let names = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let mut names = names.filter(|word| word.starts_with("actl-") && word.len() == 11);
    names.find(|name| *name != own).map(str::to_owned)
}

fn nothing_left(stage: &Stage, root: &str) {
    let gone = || left(root).is_empty().then_some(());
    let what = format!("end of all that is of {root}");
    stage.sandbox.wait_for(&what, LIMIT, gone);
}

/// Files and processes that belong to a sandbox by their name, place or mark.
fn left(root: &str) -> Vec<String> {
    let below = |dir: &Path| fs::read_dir(dir).into_iter().flatten().flatten();
    let paths = below(Path::new("/tmp")).flat_map(|one| {
        let own = below(&one.path()).map(|one| one.path()).collect::<Vec<_>>();
        [one.path()].into_iter().chain(own)
    });
    let paths = paths.map(|path| path.display().to_string());
    let processes = below(Path::new("/proc")).filter_map(|process| {
        let pid = process.file_name().to_str()?.parse::<u32>().ok()?;
        let read = |file: &str| fs::read(process.path().join(file)).unwrap_or_default();
        let told = [read("environ"), read("cmdline")].concat();
        Some(format!("{pid} {}", String::from_utf8_lossy(&told)))
    });
    paths.chain(processes).filter(|one| one.contains(root)).collect()
}
