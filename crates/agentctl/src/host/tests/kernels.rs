//! What every reader of processes must answer alike.

use super::{Running, until};
use crate::host::{Native, Portable};
use agentctl_core::{
    host::{CannotTell, Env, Kernel},
    ident::ProcKey,
};
use std::{fs, path::PathBuf, process::Command};

fn fresh() -> Vec<Box<dyn Kernel>> {
    vec![Box::new(Native::new()), Box::new(Portable::new())]
}

#[derive(Debug, PartialEq, Eq)]
struct Told {
    exe: PathBuf,
    argv: Vec<String>,
    cwd: PathBuf,
    env: Env,
    is_mine: bool,
}

fn told(kernel: &dyn Kernel, key: &ProcKey) -> Result<Told, CannotTell> {
    Ok(Told {
        exe: kernel.exe(key)?,
        argv: kernel.argv(key)?,
        cwd: kernel.cwd(key)?,
        env: kernel.env(key, &["AGENT_A", "AGENT_EMPTY", "AGENT_NONE"])?,
        is_mine: kernel.is_mine(key)?,
    })
}

#[test]
fn a_child_is_described_as_it_was_started() {
    let dir = tempfile::tempdir().expect("a directory");
    let cwd = fs::canonicalize(dir.path()).expect("a path").join("with space\nand line");
    fs::create_dir(&cwd).expect("a directory");
    let mut command = Command::new("sleep");
    command.args(["1000", "0"]).current_dir(&cwd);
    command.env("AGENT_A", "x=y\nz").env("AGENT_EMPTY", "").env("AGENT_B", "not asked for");
    let child = Running::start(&mut command);

    for kernel in fresh() {
        let key = child.key(&*kernel);
        let seen = until("the program is loaded", || told(&*kernel, &key).ok());
        let env = [("AGENT_A", "x=y\nz"), ("AGENT_EMPTY", "")];
        let expected = Told {
            exe: fs::canonicalize(which("sleep")).expect("a path"),
            argv: ["sleep", "1000", "0"].map(str::to_owned).to_vec(),
            cwd: cwd.clone(),
            env: env.map(|(name, value)| (name.to_owned(), value.into())).into(),
            is_mine: true,
        };
        assert_eq!(seen, expected);
    }
}

#[test]
fn a_child_of_a_terminal_has_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("tty");
    let line = format!("tty >{}; exec sleep 1000", file.display());
    let terminal = Running::start(Command::new("script").args(["-qec", &line, "/dev/null"]));
    let below = || {
        let native = Native::new();
        let table = native.table().expect("a table");
        let below = table.descendants(terminal.pid());
        let mut below = below.into_iter().filter_map(|pid| table.process(pid));
        below.find(|process| process.comm == "sleep").map(|found| found.pid)
    };
    let pid = until("the program runs", below);
    let own = fs::read_to_string(&file).expect("its terminal");
    let alone = Running::start(Command::new("setsid").args(["sh", "-c", "exec sleep 1000"]));
    until("it is on its own", || is_sleep(alone.pid()).then_some(()));
    for kernel in fresh() {
        let key = |pid| {
            let table = kernel.table().expect("a table");
            table.key(table.process(pid).expect("it runs"))
        };
        assert_eq!(kernel.terminal(&key(pid)), Ok(Some(PathBuf::from(own.trim()))));
        assert_eq!(kernel.terminal(&key(alone.pid())), Ok(None));
    }
    terminal.end();
    let left = || Native::new().table().expect("a table").process(pid).is_none().then_some(());
    until("the terminal's program ended with it", left);
}

fn is_sleep(pid: u32) -> bool {
    let native = Native::new();
    let process = native.table().expect("a table").process(pid);
    process.is_some_and(|process| process.comm == "sleep")
}

fn which(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").expect("a path");
    let mut found = std::env::split_paths(&path).map(|dir| dir.join(program));
    found.find(|file| file.is_file()).expect("the program is installed")
}

#[cfg(target_os = "linux")]
#[test]
fn both_tables_agree_on_a_child() {
    let child = Running::sleeping();
    let seen = |kernel: &dyn Kernel| {
        let table = kernel.table().expect("a table");
        let process = table.process(child.pid()).expect("the child").clone();
        let second = table.since(process.start).as_second();
        let began = kernel.began(process.pid, ticks(child.pid())).expect("an answer").is_some();
        let later =
            kernel.began(process.pid, ticks(child.pid()) + 300).expect("an answer").is_some();
        ((process.parent, process.comm, process.zombie), second, (began, later))
    };
    let (native, portable) = (seen(&Native::new()), seen(&Portable::new()));
    let expected = (std::process::id(), "sleep".to_owned(), false);
    assert_eq!((&native.0, &portable.0), (&expected, &expected));
    assert!(native.1.abs_diff(portable.1) <= 1, "{} and {}", native.1, portable.1);
    assert_eq!((native.2, portable.2), ((true, false), (true, false)));
}

/// The start as an agent would write it down.
#[cfg(target_os = "linux")]
fn ticks(pid: u32) -> u64 {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).expect("a line");
    let rest = line.rsplit(')').next().expect("fields");
    rest.split_whitespace().nth(19).expect("a start").parse().expect("a number")
}

#[test]
fn a_child_nobody_collected_is_a_zombie_and_tells_nothing() {
    let child = Running::start(&mut Command::new("true"));
    let zombie = || {
        let kernels = fresh();
        let all = kernels.iter().all(|kernel| {
            let table = kernel.table().expect("a table");
            table.process(child.pid()).expect("not collected yet").zombie
        });
        all.then_some(kernels)
    };
    for kernel in until("it ended", zombie) {
        let key = child.key(&*kernel);
        assert_eq!(told(&*kernel, &key), Err(CannotTell("process is gone".to_owned())));
    }
}

#[test]
fn another_process_of_that_pid_tells_nothing() {
    let child = Running::sleeping();
    for kernel in fresh() {
        let key = child.key(&*kernel);
        let earlier = ProcKey { start: key.start - 1, ..key.clone() };
        let why = "process is gone and its pid was reused";
        assert_eq!(told(&*kernel, &earlier), Err(CannotTell(why.to_owned())));
        let before = ProcKey { boot: "another".to_owned(), ..key.clone() };
        let why = "process is gone: it ran before the machine was booted";
        assert_eq!(told(&*kernel, &before), Err(CannotTell(why.to_owned())));
        let nobody = ProcKey { pid: u32::MAX, ..key };
        assert_eq!(told(&*kernel, &nobody), Err(CannotTell("process is gone".to_owned())));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn threads_are_no_processes() {
    let (told, tell) = std::sync::mpsc::channel();
    let (stay, stop) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            told.send(fs::read_link("/proc/thread-self").expect("a link")).expect("a listener");
            stop.recv()
        });
        let thread = tell.recv().expect("a thread");
        let thread = thread.file_name().and_then(|id| id.to_str()?.parse().ok()).expect("an id");
        for kernel in fresh() {
            assert_eq!(kernel.table().expect("a table").process(thread), None);
        }
        drop(stay);
    });
}

#[test]
fn what_sysinfo_does_not_know_is_not_empty() {
    let kernel = Portable::new();
    let child = Running::sleeping();
    let key = child.key(&kernel);
    kernel.open_files(&key).expect_err("it knows no open files");
    kernel.lockers("/".as_ref()).expect_err("it knows no locks");
}

#[test]
fn what_a_process_uses_is_told_of_that_very_one() {
    let child = Running::start(Command::new("sh").args(["-c", "while :; do :; done"]));
    for kernel in fresh() {
        let key = child.key(&*kernel);
        let spent = until("it has worked for a while", || {
            kernel.spent(&key).ok().filter(|spent| spent.cpu.as_millis() >= 50)
        });
        assert!((64 << 10..64 << 20).contains(&spent.memory), "{spent:?}");
        let other = ProcKey { start: key.start + 1, ..key };
        assert!(kernel.spent(&other).is_err());
    }
}
