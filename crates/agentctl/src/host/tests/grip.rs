//! Acting on a process, and on no other that has its pid.

use super::{Running, until};
use crate::host::{Grip, How, Portable, Proc, Refused, Waited, end, portable};
use agentctl_core::{
    host::{CannotTell, Kernel},
    ident::ProcKey,
    launch,
};
use rustix::process::Signal;
use std::{env, fs, os::unix::process::ExitStatusExt, process::Command, time::Duration};

/// Readers of processes whose names lead to a pidfd, and to none.
const READERS: [fn() -> Box<dyn Kernel>; 2] =
    [|| Box::new(Proc::new()), || Box::new(Portable::new())];

#[test]
fn a_signal_ends_the_one_it_was_meant_for() {
    READERS.iter().for_each(|reader| signal(&*reader()));
}

fn signal(kernel: &dyn Kernel) {
    let mut child = Running::sleeping();
    let key = child.key(kernel);
    let grip = Grip::open(&key).expect("a grip");
    assert!(grip.is_alive().expect("an answer"));
    assert_eq!(grip.wait(Some(Duration::from_millis(5))).expect("a wait"), Waited::TimedOut);
    grip.signal(launch::Signal::Terminate).expect("a signal");
    assert_eq!(grip.wait(Some(Duration::from_secs(20))).expect("a wait"), Waited::Ended);
    assert!(!grip.is_alive().expect("an answer"));
    assert_eq!(Grip::open(&key).expect_err("a zombie"), Refused::Gone);
    let status = child.0.wait().expect("a status");
    assert_eq!(status.signal(), Some(Signal::TERM.as_raw()));
    assert_eq!(grip.signal(launch::Signal::Terminate), Err(Refused::Gone));
    assert_eq!(grip.wait(None).expect("a wait"), Waited::Ended);
    assert_eq!(Grip::open(&key).expect_err("collected"), Refused::Gone);
}

#[test]
fn only_the_named_process_is_opened() {
    READERS.iter().for_each(|reader| only_named(&*reader()));
}

fn only_named(kernel: &dyn Kernel) {
    let child = Running::sleeping();
    let key = child.key(kernel);
    let refused = |key: ProcKey| Grip::open(&key).expect_err("another process");
    assert_eq!(refused(ProcKey { start: key.start + 1, ..key.clone() }), Refused::Reused);
    assert_eq!(refused(ProcKey { boot: "1".to_owned(), ..key.clone() }), Refused::Rebooted);
    assert_eq!(refused(ProcKey { boot: String::new(), ..key.clone() }), Refused::Rebooted);
    assert_eq!(refused(ProcKey { pid: u32::MAX, ..key.clone() }), Refused::Gone);
    assert_eq!(refused(ProcKey { pid: 0, ..key.clone() }), Refused::Gone);
}

/// It heeds no signal but the last, and has started another that heeds none either.
#[test]
fn all_that_was_started_ends_and_is_told() {
    for reader in READERS {
        let script =
            "trap '' INT TERM; sh -c 'trap \"\" INT TERM; sleep 1000; :' & sleep 1000; wait";
        let shell = Running::start(Command::new("sh").args(["-c", script]));
        let below = |kernel: &dyn Kernel| kernel.table().expect("a table").descendants(shell.pid());
        until("all run", || (below(&*reader()).len() == 3).then_some(()));
        let mut all = below(&*reader());
        let key = shell.key(&*reader());
        let signals = [launch::Signal::Interrupt, launch::Signal::Kill];
        let deaths = end(&key, &signals, Duration::from_millis(50)).expect("an end");
        assert_eq!(deaths[0].key, key);
        let killed = |how: &How| matches!(how, How::By(launch::Signal::Kill, _));
        assert!(deaths.iter().all(|death| killed(&death.how)), "{deaths:#?}");
        let mut told: Vec<u32> = deaths.iter().map(|death| death.key.pid).collect();
        all.push(shell.pid());
        all.sort_unstable();
        told.sort_unstable();
        assert_eq!(told, all);
        assert_eq!(below(&*reader()), [0; 0]);
        assert_eq!(end(&key, &signals, Duration::ZERO).expect_err("a zombie"), Refused::Gone);
    }
}

#[test]
fn a_pid_is_named_alike_by_whoever_asks() {
    let child = Running::sleeping();
    assert_eq!(portable::key_of(child.pid()), Ok(child.key(&Portable::new())));
    assert_eq!(crate::host::key_of(child.pid()), Ok(child.key(&Proc::new())));
}

/// Where a pid can be chosen: this test runs itself again as the first process of a namespace.
#[test]
fn a_recycled_pid_lends_nothing_to_the_dead() {
    const INSIDE: &str = "AGENTCTL_TEST_RECYCLE";
    if env::var_os(INSIDE).is_some() {
        recycle();
        return recycle_portably();
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
    let grip = Grip::open(&key).expect("a grip");
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
    assert_eq!(Grip::open(&key).expect_err("another process"), Refused::Reused);
    assert_eq!(grip.signal(launch::Signal::Kill), Err(Refused::Gone));
    assert!(Grip::open(&new.key(&proc)).expect("the new one").is_alive().expect("an answer"));
}

/// The same without a pidfd: seconds must pass, for that is how starts are told apart.
fn recycle_portably() {
    let old = Running::sleeping();
    let pid = old.pid();
    let key = old.key(&Portable::new());
    let grip = Grip::open(&key).expect("a grip");
    old.end();
    let later =
        || Some(Running::sleeping().key(&Portable::new()).start).filter(|now| *now > key.start);
    until("a second passed", later);
    let again = || {
        fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).expect("a chosen pid");
        Some(Running::sleeping()).filter(|new| new.pid() == pid)
    };
    let new = until("the pid is taken again", again);
    assert_eq!(grip.signal(launch::Signal::Kill), Err(Refused::Reused));
    assert_eq!(grip.wait(None).expect("a wait"), Waited::Ended);
    assert_eq!(Grip::open(&key).expect_err("another process"), Refused::Reused);
    let key = new.key(&Portable::new());
    assert!(Grip::open(&key).expect("the new one").is_alive().expect("an answer"));
}
