//! Waiting for facts.

use std::fmt::Write;
use std::thread;
use std::time::{Duration, Instant};

use super::{Sandbox, program};

/// How long to look away between two looks.
const GLANCE: Duration = Duration::from_millis(20);

/// Looks away for a moment.
pub(super) fn glance() {
    thread::sleep(GLANCE);
}

impl Sandbox {
    /// Looks again and again until `look` finds something. After `limit` the test fails, with
    /// everything that can be seen of the sandbox.
    pub fn wait_for<T>(
        &self,
        what: &str,
        limit: Duration,
        mut look: impl FnMut() -> Option<T>,
    ) -> T {
        let start = Instant::now();
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(start.elapsed() < limit, "no {what} within {limit:?}\n{}", self.scene());
            glance();
        }
    }

    /// Everything that can be seen of the sandbox, for a person who asks why a test failed.
    pub fn scene(&self) -> String {
        let mut scene = String::new();
        for name in self.tmux.names() {
            let screen = self.tmux.screen(self, &name).unwrap_or_else(|why| why);
            let _ = writeln!(scene, "--- terminal {name}\n{screen}");
        }
        for shared in program::locked(&self.started).iter() {
            let _ = writeln!(scene, "--- started: pid {}", shared.pid);
        }
        let mut files: Vec<_> = std::fs::read_dir(self.root().join("out"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        files.sort();
        for file in files {
            let text = std::fs::read(&file).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let _ = writeln!(scene, "--- {}\n{}", file.display(), text.trim_end());
        }
        for request in self.model().requests() {
            let _ = writeln!(scene, "--- asked: {} {:?}", request.path, request.directive);
        }
        let list = self.agentctl(&["list", "--all", "--json"]);
        let _ = writeln!(scene, "--- agentctl list --all\n{}{}", list.stdout, list.stderr);
        scene
    }
}
