//! Measured, not asserted: `cargo test --release -- --ignored --nocapture speed`.

use super::Running;
use crate::host::{Disk, Portable, Proc};
use agentctl_core::host::{Files, Kernel};
use std::{
    fs,
    hint::black_box,
    process::Command,
    time::{Duration, Instant},
};

/// The best of many runs, which is the least disturbed.
fn best(mut run: impl FnMut()) -> Duration {
    let time = |()| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    std::iter::repeat_n((), 100).map(time).min().expect("some runs")
}

#[test]
#[ignore = "measures"]
fn one_pass() {
    let _children: Vec<Running> = (0..120).map(|_| Running::sleeping()).collect();
    let walk = best(|| {
        for entry in fs::read_dir("/proc").expect("a directory") {
            let entry = entry.expect("an entry");
            if entry.file_name().as_encoded_bytes()[0].is_ascii_digit() {
                let _ = black_box(fs::metadata(entry.path()));
            }
        }
    });
    let pass = best(|| drop(black_box(Proc::new().table().cloned())));
    let portable = best(|| drop(black_box(Portable::new().table().cloned())));
    let proc = Proc::new();
    let count = proc.table().expect("a table").processes.len();
    println!("{count} processes: readdir + stat {walk:?}, pass {pass:?}, sysinfo {portable:?}");
    let me = proc.table().expect("a table").process(std::process::id()).expect("this");
    let key = proc.table().expect("a table").key(me);
    println!("env of one process {:?}", best(|| drop(black_box(proc.env(&key, &["HOME"])))));
    println!("open files of one {:?}", best(|| drop(black_box(proc.open_files(&key)))));
    println!("locks {:?}", best(|| drop(black_box(Proc::new().lockers("/".as_ref())))));
}

#[test]
#[ignore = "measures"]
fn many_files() {
    let dir = tempfile::tempdir().expect("a directory");
    for number in 0..10_000 {
        let below = dir.path().join(format!("projects/{:02}", number % 100));
        fs::create_dir_all(&below).expect("a directory");
        fs::write(below.join(format!("{number:036}.jsonl")), "x").expect("a file");
    }
    let ours = best(|| {
        let top = dir.path().join("projects");
        for below in Disk.entries(&top).expect("entries") {
            let below = top.join(below.name);
            for file in Disk.entries(&below).expect("entries") {
                black_box(Disk.stat(&below.join(file.name)).expect("a stat"));
            }
        }
    });
    let mut find = Command::new("find");
    find.arg(dir.path()).args(["-type", "f", "-printf", "%s"]).stdout(std::process::Stdio::null());
    let find = best(|| assert!(find.status().expect("find").success()));
    println!("10,000 files: entries + stat {ours:?}, find {find:?}");
}
