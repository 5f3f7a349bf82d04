//! What only `/proc` tells: locks, open files, terminals, hostile names.

use super::{Running, until};
use crate::host::{Proc, key_of};
use agentctl_core::host::{Kernel, OpenFile, Process};
use std::{
    fs::{self, File},
    os::{
        fd::AsRawFd,
        unix::{fs::symlink, process::CommandExt},
    },
    path::{Path, PathBuf},
    process::Command,
    thread,
};

fn which(program: &str) -> PathBuf {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let found = String::from_utf8(found.expect("a shell").stdout).expect("text");
    fs::canonicalize(found.trim_end()).expect("the program is installed")
}

#[test]
fn a_hostile_name_changes_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let name = ") Z 1 (\n2 (x)";
    symlink(which("sleep"), dir.path().join(name)).expect("a link");
    let child = Running::start(Command::new(dir.path().join(name)).arg0("sleep").arg("1000"));
    let proc = Proc::new();
    let key = child.key(&proc);
    let seen = proc.table().expect("a table").process(child.pid()).expect("the child").clone();
    let expected = Process {
        pid: child.pid(),
        parent: std::process::id(),
        start: key.start,
        comm: name.to_owned(),
        zombie: false,
        halted: false,
        forked: false,
    };
    assert_eq!(seen, expected);
    let began = proc.table().expect("a table").since(key.start);
    let age = jiff::Timestamp::now().duration_since(began).as_secs();
    assert!((-1..60).contains(&age), "{age}");
}

const NOBODY: [u32; 0] = [];

fn lockers(path: &Path) -> Vec<u32> {
    Proc::new().lockers(path).expect("an answer")
}

#[test]
fn a_lock_is_its_holders_until_it_dies() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("lock");
    assert_eq!(lockers(&path), NOBODY);
    fs::write(&path, "").expect("a file");
    assert_eq!(lockers(&path), NOBODY);

    let lock = || {
        Running::start(Command::new("flock").arg("--no-fork").arg(&path).args(["sleep", "1000"]))
    };
    let holder = lock();
    until("the lock is taken", || (lockers(&path) == [holder.pid()]).then_some(()));
    let waiter = lock();
    let waits = format!(" {} ", waiter.pid());
    until("the other waits", || {
        let list = fs::read_to_string("/proc/locks").expect("the list");
        list.lines().any(|line| line.contains("->") && line.contains(&waits)).then_some(())
    });
    assert_eq!(lockers(&path), [holder.pid()]);
    let link = dir.path().join("link");
    symlink(&path, &link).expect("a link");
    assert_eq!(lockers(&link), [holder.pid()]);
    let other = dir.path().join("other");
    fs::write(&other, "").expect("a file");
    assert_eq!(lockers(&other), NOBODY);

    holder.end();
    until("the lock went on", || (lockers(&path) == [waiter.pid()]).then_some(()));
    waiter.end();
    assert_eq!(lockers(&path), NOBODY);
}

#[test]
fn many_locks_are_all_seen() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = |number: usize| dir.path().join(number.to_string());
    let held: Vec<fs::File> = (0..300)
        .map(|number| {
            let file = fs::File::create(file(number)).expect("a file");
            file.lock().expect("a lock");
            file
        })
        .collect();
    let proc = Proc::new();
    for number in 0..held.len() {
        assert_eq!(proc.lockers(&file(number)), Ok(vec![std::process::id()]));
    }
}

/// A file that this process has open and locked.
fn locked(path: &Path) -> File {
    let file = File::create(path).expect("a file");
    file.lock().expect("nobody else has it");
    file
}

#[test]
fn a_process_has_locked_what_it_alone_has_under_whatever_name() {
    let dir = tempfile::tempdir().expect("a directory");
    let [path, other, open, shared] =
        ["lock", "other", "open", "shared"].map(|name| dir.path().join(name));
    let _lock = locked(&path);
    fs::hard_link(&path, &other).expect("a link");
    let (_open, also) = (File::create(&open).expect("a file"), File::create(&shared));
    also.as_ref().expect("a file").lock_shared().expect("nobody else has it");
    let proc = Proc::new();
    let key = key_of(std::process::id()).expect("we live");
    let has = |path: &Path| proc.has_locked(&key, path).expect("an answer");
    assert_eq!([&path, &other, &open, &shared].map(|path| has(path)), [true, true, false, false]);
    // Made anew under the same name, it is another file.
    fs::remove_file(&path).expect("it is there");
    fs::write(&path, "").expect("a file");
    assert_eq!([&path, &other].map(|path| has(path)), [false, true]);
}

#[test]
fn a_number_that_leads_elsewhere_since_is_no_lock() {
    let dir = tempfile::tempdir().expect("a directory");
    let [first, next] = ["first", "next"].map(|name| dir.path().join(name));
    let (proc, key) = (Proc::new(), key_of(std::process::id()).expect("we live"));
    let has = |path: &Path| proc.has_locked(&key, path).expect("an answer");
    let lock = locked(&first);
    assert!(has(&first));
    let number = lock.as_raw_fd();
    drop(lock);
    assert!(!has(&first));
    let lock = locked(&next);
    assert_eq!(lock.as_raw_fd(), number, "the lowest number that is free");
    assert_eq!([&first, &next].map(|path| has(path)), [false, true]);
}

#[test]
fn open_files_say_whether_they_can_be_written() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = fs::canonicalize(dir.path()).expect("a path");
    for name in ["read", "gone"] {
        fs::write(dir.join(name), "").expect("a file");
    }
    let script = "exec 3<read 4>>append 5<>both 6>gone; rm gone; exec sleep 1000";
    let child = Running::start(Command::new("sh").args(["-c", script]).current_dir(&dir));
    let here = || {
        let proc = Proc::new();
        let key = child.key(&proc);
        let exe = proc.exe(&key).ok()?;
        let mut files = proc.open_files(&key).expect("open files");
        files.retain(|file| file.path.starts_with(&dir));
        files.sort_by(|a, b| a.path.cmp(&b.path));
        exe.ends_with(which("sleep").file_name()?).then_some(files)
    };
    let seen = until("the program runs", here);
    let file = |name: &str, writable| OpenFile { path: dir.join(name), writable };
    let expected =
        [file("append", true), file("both", true), file("gone", true), file("read", false)];
    assert_eq!(seen, expected);
}

#[test]
fn processes_that_vanish_in_mid_read_are_left_out() {
    thread::scope(|scope| {
        let storm = scope.spawn(|| {
            for _ in 0..200 {
                Command::new("true").status().expect("it runs");
            }
        });
        let mut passes = 0;
        while passes < 50 || !storm.is_finished() {
            let proc = Proc::new();
            let table = proc.table().expect("a table");
            table.process(std::process::id()).expect("this process is in it");
            for process in table.processes.iter().rev().take(3) {
                let key = table.key(process);
                let _may_be_gone = (proc.env(&key, &["HOME"]), proc.open_files(&key));
            }
            passes += 1;
        }
    });
}

#[test]
fn every_program_is_in_the_table() {
    let programs = || {
        let names = fs::read_dir("/proc").expect("a directory").filter_map(Result::ok);
        let pids = names.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let runs =
            |pid: &u32| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|argv| !argv.is_empty());
        pids.filter(runs).collect::<Vec<u32>>()
    };
    let before = programs();
    let proc = Proc::new();
    let table = proc.table().expect("a table");
    let after = programs();
    let stayed = before.iter().filter(|pid| after.contains(pid));
    let missing: Vec<_> = stayed.filter(|pid| table.process(**pid).is_none()).collect();
    assert_eq!(missing, Vec::<&u32>::new());
    assert!(table.processes.is_sorted_by(|a, b| a.pid < b.pid));
}

#[test]
fn only_what_has_ended_is_over() {
    let child = Running::start(Command::new("sleep").arg("1000"));
    let proc = Proc::new();
    let key = child.key(&proc);
    assert!(!proc.is_over(&key));
    drop(child);
    assert!(proc.is_over(&key));
}

#[test]
fn a_copy_of_its_parent_is_told_from_a_program() {
    let dir = tempfile::tempdir().expect("a directory");
    let line = "mkfifo gate; (read -r go <gate) & exec sleep 1000";
    let parent = Running::start(Command::new("sh").args(["-c", line]).current_dir(dir.path()));
    let family = || {
        let proc = Proc::new();
        let table = proc.table().expect("a table");
        let told = |pid| table.process(pid).map(|seen| (seen.comm.clone(), seen.forked));
        let child = table.descendants(parent.pid()).into_iter().find_map(told);
        let loaded = told(parent.pid()).filter(|(comm, _)| comm == "sleep")?;
        Some((loaded, child?))
    };
    let seen = until("the parent runs its program", family);
    assert_eq!(seen, (("sleep".to_owned(), false), ("sh".to_owned(), true)));
    fs::write(dir.path().join("gate"), "\n").expect("the child ends");
}
