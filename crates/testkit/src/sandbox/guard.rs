//! A process that ends what a sandbox started, should the test be killed before it can.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::MARK;

/// It reads its input, whose other end the test holds; that ends when the test does.
const SCRIPT: &str = r#"
cat >/dev/null
for _ in 1 2 3; do
    for file in /proc/[0-9]*/environ; do
        if tr '\0' '\n' <"$file" 2>/dev/null | grep -qxF -- "$1"; then
            pid=${file#/proc/}
            kill -KILL "${pid%/environ}" 2>/dev/null
        fi
    done
done
rm -rf -- "$2"
"#;

/// A guard on duty; dropping it sends it home.
pub(super) struct Guard {
    child: Child,
}

impl Guard {
    /// Sets a guard for everything that carries the mark, and for the folder. It carries no mark.
    pub(super) fn set(mark: &str, folder: &Path) -> Guard {
        let child = Command::new("sh")
            .args(["-c", SCRIPT, "guard", &format!("{MARK}={mark}")])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A signal to the test's group, by which runners end a test, must not reach it.
            .process_group(0)
            .spawn()
            .unwrap_or_else(|why| panic!("cannot start the guard: {why}"));
        Guard { child }
    }

    /// What happens to a guard whose test is killed: nobody holds its input any more.
    #[cfg(test)]
    pub(super) fn leave(&mut self) {
        drop(self.child.stdin.take());
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Nothing is left to guard; both fail only if it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
