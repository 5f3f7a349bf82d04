//! Nobody listens, or cannot take any more.

use crate::home::{
    Home,
    lines::{id, prompt, reply},
};
use std::{
    fs::File,
    io::Read,
    process::{Command, Stdio},
};

/// More output than a pipe holds.
fn talkative() -> Home {
    let home = Home::new();
    for number in 0..120 {
        let text = "word ".repeat(300);
        home.claude(&id(number), &[prompt(&text), reply(&text)]);
    }
    home
}

fn calls(command: &Home) -> Vec<Command> {
    let calls: [&[&str]; 8] = [
        &["list", "-a"],
        &["list", "--since", "all"],
        &["list", "--since", "all", "--json"],
        &["logs", "900dc1a0", "--full"],
        &["doctor"],
        &["completions", "bash"],
        &["man"],
        &["--help"],
    ];
    calls.into_iter().map(|args| command.agentctl(args)).collect()
}

/// Fails unless a command ends by itself, quietly.
fn ends_quietly(command: &mut Command, out: Stdio) {
    let mut child =
        command.stdin(Stdio::null()).stdout(out).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    let status = child.wait().expect("it ends");
    assert_eq!(said, "", "{command:?} ended with {status}");
    assert!(matches!(status.code(), Some(0 | 1)), "{command:?} ended with {status}");
}

#[test]
fn a_reader_who_left_is_no_error() {
    let home = talkative();
    for mut command in calls(&home) {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        ends_quietly(&mut command, writer.into());
    }
}

#[test]
fn a_reader_who_leaves_is_no_error() {
    let home = talkative();
    for command in calls(&home) {
        let mut shell = home.command("/bin/sh");
        let line = "\"$0\" \"$@\" | head -c 1 >/dev/null";
        shell.args(["-c", line]).arg(command.get_program()).args(command.get_args());
        ends_quietly(shell.env("PATH", "/usr/bin:/bin"), Stdio::null());
    }
}

#[test]
fn a_closed_output_is_no_error() {
    let home = talkative();
    for command in calls(&home) {
        let mut shell = home.command("/bin/sh");
        let line = "exec \"$0\" \"$@\" >&-";
        shell.args(["-c", line]).arg(command.get_program()).args(command.get_args());
        ends_quietly(&mut shell, Stdio::null());
    }
}

/// A full disk is an error: what was asked for was not told.
#[test]
fn a_full_disk_is_told() {
    let home = talkative();
    for args in [&["list", "--since", "all"][..], &["list", "--since", "all", "--json"], &["man"]] {
        let full = File::options().write(true).open("/dev/full").expect("a full device");
        let told = home.agentctl(args).stdin(Stdio::null()).stdout(full).output().expect("it runs");
        let said = String::from_utf8_lossy(&told.stderr).into_owned();
        assert_eq!(told.status.code(), Some(1), "{args:?}: {said}");
        if !args.contains(&"--json") {
            assert_eq!(
                said, "error: cannot write the answer: No space left on device (os error 28)\n",
                "{args:?}"
            );
        }
    }
}

/// Whatever is closed from the start, files of others are not written to.
#[test]
fn everything_closed_is_borne() {
    let home = talkative();
    let mut shell = home.command("/bin/sh");
    shell.args(["-c", "exec \"$0\" list -a <&- >&- 2>&-"]).arg(home.program("agentctl"));
    assert_eq!(shell.status().expect("a shell").code(), Some(0));
}
