//! Who uses a directory, and how.

use super::{Running, until};
use crate::host::{Portable, Proc};
use agentctl_core::host::{Kernel, Use};
use std::{fs, path::Path, process::Command};

/// Starts a script in a directory, and waits until it has made the file `ready`.
fn script(dir: &Path, ready: &Path, text: &str) -> Running {
    let text = format!("{text}\n: >'{}'\nexec sleep 1000", ready.display());
    let child = Running::start(Command::new("sh").args(["-c", &text]).current_dir(dir));
    until("the script is ready", || ready.exists().then_some(()));
    child
}

fn used(child: &Running, dir: &Path) -> Option<Use> {
    let proc = Proc::new();
    proc.uses(&child.key(&proc), dir).expect("it can be asked")
}

#[test]
fn a_directory_is_used_in_many_ways() {
    let folder = tempfile::tempdir().expect("a directory");
    let top = folder.path().canonicalize().expect("it is there");
    let (dir, ready) = (top.join("dir"), top.join("ready"));
    fs::create_dir_all(dir.join("deep")).expect("a directory");
    fs::write(dir.join("file"), "x").expect("a file");
    let sleep = dir.join("sleep");
    let copied = Command::new("cp").arg("/bin/sleep").arg(&sleep).status().expect("cp");
    assert!(copied.success());

    let works = script(&dir.join("deep"), &ready, "");
    assert_eq!(used(&works, &dir), Some(Use::Works(dir.join("deep"))));
    // A directory whose name only begins so is another.
    assert_eq!(used(&works, &top.join("di")), None);
    let portable = Portable::new();
    let told = portable.uses(&works.key(&portable), &dir);
    assert_eq!(told, Ok(Some(Use::Works(dir.join("deep")))));
    works.end();
    fs::remove_file(&ready).expect("it was made");

    let open = script(&top, &ready, &format!("exec 7<'{}/file'", dir.display()));
    assert_eq!(used(&open, &dir), Some(Use::Opened(dir.join("file"))));
    open.end();

    let runs = Running::start(Command::new(&sleep).arg("1000").current_dir("/"));
    let is_it = || used(&runs, &dir).filter(|how| *how == Use::Runs(sleep.clone()));
    until("its program is loaded", is_it);
}

/// A library that is loaded is no open file any more.
#[test]
fn a_mapped_file_is_used() {
    let folder = tempfile::tempdir().expect("a directory");
    let dir = folder.path().canonicalize().expect("it is there").join("dir");
    fs::create_dir(&dir).expect("a directory");
    let maps = Command::new("cat").arg("/proc/self/maps").output().expect("it runs");
    let maps = String::from_utf8(maps.stdout).expect("text");
    let libc = maps.split_whitespace().find(|word| word.contains("/libc")).expect("it is linked");
    let own = dir.join("libown.so");
    fs::copy(libc, &own).expect("a library");
    let mut command = Command::new("sleep");
    command.arg("1000").current_dir("/").env("LD_PRELOAD", &own);
    let child = Running::start(&mut command);
    until("the library is loaded", || {
        used(&child, &dir).filter(|how| *how == Use::Mapped(own.clone()))
    });
}

/// In another mount namespace, the directory has another name.
#[test]
fn a_directory_under_another_name_is_used() {
    assert!(rustix::process::geteuid().is_root(), "only root can mount");
    let folder = tempfile::tempdir().expect("a directory");
    let top = folder.path().canonicalize().expect("it is there");
    let (dir, other, ready) = (top.join("dir"), top.join("other"), top.join("ready"));
    fs::create_dir_all(dir.join("deep")).expect("a directory");
    fs::create_dir(&other).expect("a directory");
    fs::write(dir.join("deep/file"), "x").expect("a file");
    for (place, opened) in [("deep", ""), ("", "exec 7<deep/file; cd /")] {
        let text = format!(
            "mount --bind '{}' '{}' && cd '{}/{place}' && {{ :; {opened}\n}}",
            dir.display(),
            other.display(),
            other.display()
        );
        let text = format!("{text}\n: >'{}'\nexec sleep 1000", ready.display());
        let child = Running::start(Command::new("unshare").args(["-m", "sh", "-c", &text]));
        until("the script is ready", || ready.exists().then_some(()));
        let how = used(&child, &dir);
        assert!(matches!(how, Some(Use::Works(_) | Use::Opened(_))), "{how:?}");
        assert_eq!(used(&child, &top.join("ready")), None);
        child.end();
        fs::remove_file(&ready).expect("it was made");
    }
}
