//! Processes that come and go while the table is read.

use crate::home::{
    Home, Seen,
    lines::{id, prompt},
    other_user,
};
use serde_json::json;
use std::{
    fs::{self, File},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, SystemTime},
};

/// A shell that starts one process after the other until it is dropped.
struct Storm(Child);

impl Storm {
    fn new(mut shell: Command, line: &str) -> Self {
        shell.args(["-c", &format!("while :; do {line}; done")]).env("PATH", "/usr/bin:/bin");
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(shell.process_group(0).spawn().expect("a shell"))
    }
}

impl Drop for Storm {
    fn drop(&mut self) {
        // The whole group: a process that was just started is in it.
        let group = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw);
        let _ = rustix::process::kill_process_group(
            group.expect("a pid"),
            rustix::process::Signal::KILL,
        );
        let _ = self.0.wait();
    }
}

#[test]
fn a_fork_storm_changes_no_answer() {
    let home = Home::new();
    home.claude(&id(1), &[prompt("Begin")]);
    home.claude(&id(2), &[prompt("Begin")]);
    let process = home.stand_in();
    home.register(&process, &id(1), json!({"status": "busy"}));
    let expected = Seen::good().and(id(1), "working").and(id(2), "died");
    let _storms: Vec<Storm> =
        (0..3).map(|_| Storm::new(home.command("/bin/sh"), "/bin/true & /bin/true")).collect();
    for _ in 0..30 {
        assert_eq!(home.seen(), expected);
    }
}

/// An agent of another user that ends while it is looked at is still another user's: it is not
/// listed, and holds nothing of ours, though it runs since before the last write.
#[test]
fn vanishing_agents_of_another_user_are_never_listed() {
    let home = Home::new();
    let other = other_user();
    let path = home.claude(&id(1), &[prompt("Begin")]);
    let later = SystemTime::now() + Duration::from_secs(3600);
    let file = File::options().append(true).open(path).expect("our file");
    file.set_modified(later).expect("a time");
    let expected = Seen::good().and(id(1), "died");
    let _ = home.stand_in_command(); // puts the program there
    let line = format!("{} 0", home.program("claude").display());
    let shell = || {
        let mut shell = home.command("/bin/sh");
        shell.uid(other).gid(other);
        shell
    };
    let _storms: Vec<Storm> = (0..3).map(|_| Storm::new(shell(), &line)).collect();
    for run in 0..100 {
        assert_eq!(home.seen(), expected, "run {run}");
    }
}

/// Our own that end meanwhile may be listed or not; the others stand as they are.
#[test]
fn vanishing_agents_of_ours_hide_nobody() {
    let home = Home::new();
    home.claude(&id(1), &[prompt("Begin")]);
    let process = home.stand_in();
    home.register(&process, &id(1), json!({"status": "busy"}));
    let line = format!("{} 0", home.program("claude").display());
    let _storms: Vec<Storm> = (0..3).map(|_| Storm::new(home.command("/bin/sh"), &line)).collect();
    let expected = Seen::good().and(id(1), "working");
    for run in 0..60 {
        assert_eq!(home.seen().without_processes(), expected, "run {run}");
    }
}

/// A session whose process is killed while it is listed is in the state before or after, no other.
#[test]
fn a_session_that_dies_meanwhile_is_alive_or_dead() {
    let home = Home::new();
    home.claude(&id(1), &[prompt("Begin")]);
    let (before, after) = (Seen::good().and(id(1), "working"), Seen::good().and(id(1), "died"));
    for run in 0..20 {
        let process = home.stand_in();
        home.register(&process, &id(1), json!({"status": "busy"}));
        let pid = process.pid();
        let registry = home.path(format!(".claude/sessions/{}.json", process.pid()));
        let seen = thread::scope(|scope| {
            let looking = scope.spawn(|| home.seen());
            // Spread over the time a list takes; whenever it is, the answer must be one of two.
            thread::sleep(Duration::from_millis(run));
            process.end();
            looking.join().expect("a list")
        });
        assert!(seen == before || seen == after, "run {run}, pid {pid}: {seen:?}");
        fs::remove_file(registry).expect("our file");
    }
}
