//! Acting on a process, and on no other that has its pid.

use super::{Running, until};
use crate::host::{Handle, Proc, Refused, Waited};
use agentctl_core::{
    host::{CannotTell, Kernel},
    ident::ProcKey,
    launch,
};
use rustix::process::Signal;
use std::{env, fs, os::unix::process::ExitStatusExt, process::Command, time::Duration};

#[test]
fn a_signal_ends_the_one_it_was_meant_for() {
    let mut child = Running::sleeping();
    let key = child.key(&Proc::new());
    let handle = Handle::open(&key).expect("a handle");
    assert!(handle.is_alive().expect("an answer"));
    assert_eq!(handle.wait(Some(Duration::from_millis(5))).expect("a wait"), Waited::TimedOut);
    handle.signal(launch::Signal::Terminate).expect("a signal");
    assert_eq!(handle.wait(Some(Duration::from_secs(20))).expect("a wait"), Waited::Ended);
    assert!(!handle.is_alive().expect("an answer"));
    assert_eq!(Handle::open(&key).expect_err("a zombie"), Refused::Gone);
    let status = child.0.wait().expect("a status");
    assert_eq!(status.signal(), Some(Signal::TERM.as_raw()));
    assert_eq!(handle.signal(launch::Signal::Terminate), Err(Refused::Gone));
    assert_eq!(handle.wait(None).expect("a wait"), Waited::Ended);
    assert_eq!(Handle::open(&key).expect_err("collected"), Refused::Gone);
}

#[test]
fn only_the_named_process_is_opened() {
    let child = Running::sleeping();
    let key = child.key(&Proc::new());
    let refused = |key: ProcKey| Handle::open(&key).expect_err("another process");
    assert_eq!(refused(ProcKey { start: key.start + 1, ..key.clone() }), Refused::Reused);
    assert_eq!(refused(ProcKey { boot: String::new(), ..key.clone() }), Refused::Rebooted);
    assert_eq!(refused(ProcKey { pid: u32::MAX, ..key.clone() }), Refused::Gone);
    assert_eq!(refused(ProcKey { pid: 0, ..key.clone() }), Refused::Gone);
}

/// Where a pid can be chosen: this test runs itself again as the first process of a namespace.
#[test]
fn a_recycled_pid_lends_nothing_to_the_dead() {
    const INSIDE: &str = "AGENTCTL_TEST_RECYCLE";
    if env::var_os(INSIDE).is_some() {
        return recycle();
    }
    let namespace = || {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--kill-child", "--mount-proc"]);
        if !rustix::process::geteuid().is_root() {
            command.arg("--map-root-user");
        }
        command
    };
    let allowed = namespace().arg("true").status().is_ok_and(|status| status.success());
    assert!(allowed, "this machine allows no pid namespaces, which the test needs");
    let name = "host::tests::grip::a_recycled_pid_lends_nothing_to_the_dead";
    let this = env::current_exe().expect("this program");
    let inside =
        namespace().arg(this).args(["--exact", name, "--nocapture"]).env(INSIDE, "1").output();
    let inside = inside.expect("it runs");
    let said = String::from_utf8_lossy(&inside.stdout);
    assert!(inside.status.success() && said.contains("1 passed"), "{said}{inside:?}");
}

fn recycle() {
    let old = Running::sleeping();
    let pid = old.pid();
    let key = old.key(&Proc::new());
    let handle = Handle::open(&key).expect("a handle");
    old.end();
    // Starts are told apart by the tick.
    let tick = || Some(Running::sleeping().key(&Proc::new()).start).filter(|now| *now > key.start);
    until("a tick passed", tick);
    let again = || {
        fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).expect("a chosen pid");
        Some(Running::sleeping()).filter(|new| new.pid() == pid)
    };
    let new = until("the pid is taken again", again);

    let proc = Proc::new();
    let reused = CannotTell("process is gone and its pid was reused".to_owned());
    assert_eq!(proc.exe(&key), Err(reused.clone()));
    assert_eq!(proc.argv(&key), Err(reused.clone()));
    assert_eq!(proc.cwd(&key), Err(reused.clone()));
    assert_eq!(proc.env(&key, &["PATH"]), Err(reused.clone()));
    assert_eq!(proc.is_mine(&key), Err(reused.clone()));
    assert_eq!(proc.open_files(&key), Err(reused));
    assert_eq!(proc.began(pid, key.start), Ok(None));
    assert_eq!(Handle::open(&key).expect_err("another process"), Refused::Reused);
    assert_eq!(handle.signal(launch::Signal::Kill), Err(Refused::Gone));
    assert!(Handle::open(&new.key(&proc)).expect("the new one").is_alive().expect("an answer"));
}
