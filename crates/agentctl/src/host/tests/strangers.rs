//! Processes and files of another user.

use super::Running;
use crate::host::{Disk, Portable, Proc};
use agentctl_core::host::{CannotTell, Files, Kernel};
use std::{
    env,
    fs::{self, Permissions},
    io::ErrorKind,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::Command,
};

const NOBODY: u32 = 65534;
const INSIDE: &str = "AGENTCTL_TEST_STRANGER";

/// Runs itself again as nobody, because root may read everything.
#[test]
fn what_may_not_be_read_is_not_empty() {
    if let Some(told) = env::var_os(INSIDE) {
        return as_nobody(&PathBuf::from(told));
    }
    assert!(rustix::process::geteuid().is_root(), "only root can make processes of another user");
    let dir = tempfile::tempdir().expect("a directory");
    let lock = fs::File::create(dir.path().join("lock")).expect("a file");
    lock.lock().expect("a lock");
    let closed = dir.path().join("closed");
    fs::create_dir(&closed).expect("a directory");
    fs::write(closed.join("file"), "").expect("a file");
    for (path, mode) in [(dir.path(), 0o755), (&*closed, 0o700)] {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("permissions");
    }
    let stranger = Running::sleeping();
    let told = format!("{}/{}", dir.path().display(), stranger.pid());
    // By this link the program can be started wherever it lies.
    let mut again = Command::new("/proc/self/exe");
    again.args(["--exact", "host::tests::strangers::what_may_not_be_read_is_not_empty"]);
    again.arg("--nocapture").env(INSIDE, told).current_dir("/").uid(NOBODY).gid(NOBODY);
    let inside = again.output().expect("it runs");
    let said = String::from_utf8_lossy(&inside.stdout);
    assert!(inside.status.success() && said.contains("1 passed"), "{said}{inside:?}");
}

fn as_nobody(told: &Path) {
    let pid = told.file_name().and_then(|name| name.to_str()).expect("a pid");
    let plain = fs::read(format!("/proc/{pid}/environ")).expect_err("a stranger's environment");
    assert_eq!(plain.kind(), ErrorKind::PermissionDenied);
    let dir = told.parent().expect("a directory");
    files(&dir.join("closed"));

    let proc = Proc::new();
    let table = proc.table().expect("a table");
    let stranger = table.process(pid.parse().expect("a pid")).expect("a stranger");
    assert_eq!((stranger.comm.as_str(), stranger.zombie), ("sleep", false));
    let key = table.key(stranger);
    let denied = CannotTell("permission denied".to_owned());
    assert_eq!(proc.is_mine(&key), Ok(false));
    assert_eq!(proc.argv(&key), Ok(vec!["sleep".to_owned(), "1000".to_owned()]));
    assert_eq!(proc.exe(&key), Err(denied.clone()));
    assert_eq!(proc.cwd(&key), Err(denied.clone()));
    assert_eq!(proc.env(&key, &["PATH"]), Err(denied.clone()));
    assert_eq!(proc.open_files(&key), Err(denied));
    assert_eq!(proc.lockers(&dir.join("lock")), Ok(vec![stranger.parent]));
    proc.lockers(&dir.join("closed/file")).expect_err("a closed directory");

    let portable = Portable::new();
    let table = portable.table().expect("a table");
    let key = table.key(table.process(key.pid).expect("a stranger"));
    assert_eq!(portable.is_mine(&key), Ok(false));
    let untold = CannotTell("sysinfo does not tell".to_owned());
    assert_eq!(portable.exe(&key), Err(untold.clone()));
    assert_eq!(portable.cwd(&key), Err(untold.clone()));
    assert_eq!(portable.env(&key, &["PATH"]), Err(untold));
}

fn files(dir: &Path) {
    let closed = dir.join("file");
    let denied = [
        fs::read_dir(dir).err(),
        Disk.entries(dir).err(),
        Disk.stat(&closed).err(),
        Disk.open(&closed).err(),
    ];
    for error in denied {
        assert_eq!(error.expect("closed").kind(), ErrorKind::PermissionDenied);
    }
}
