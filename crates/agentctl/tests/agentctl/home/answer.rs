//! What a run answered, and what every answer must be.

use serde_json::Value;
use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

/// How long any run may take; most take some hundredths of a second.
const LIMIT: Duration = Duration::from_secs(60);

/// The output of a command that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) call: String,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The exit code; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
}

impl Answer {
    /// Runs a command to its end, its output in files of this folder: a full pipe stops nobody.
    pub(crate) fn of(command: &mut Command, folder: &Path) -> Self {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        let (out, err) =
            (folder.join(format!("{number}.out")), folder.join(format!("{number}.err")));
        let call = format!("{command:?}");
        let file = |path: &Path| File::create(path).expect("a file");
        command.stdin(Stdio::null()).stdout(file(&out)).stderr(file(&err));
        let mut child = command.spawn().unwrap_or_else(|why| panic!("cannot run {call}: {why}"));
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child") {
                break Some(status);
            }
            if start.elapsed() > LIMIT {
                break None;
            }
            thread::sleep(Duration::from_millis(2));
        };
        if status.is_none() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let text = |path| String::from_utf8(fs::read(path).expect("a file")).expect("UTF-8");
        let answer = Self { stdout: text(out), stderr: text(err), code: None, call };
        let status = status.unwrap_or_else(|| panic!("did not end in {LIMIT:?}: {answer:#?}"));
        Self { code: status.code(), ..answer }
    }

    /// Itself, if it is safe to show and no bug.
    pub(crate) fn checked(self) -> Self {
        assert!(is_clean(&self.stdout) && is_clean(&self.stderr), "unsafe to show: {self:#?}");
        assert!(matches!(self.code, Some(0..=8)), "no exit code of ours: {self:#?}");
        self
    }

    /// Standard output as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|why| panic!("no JSON, {why}: {self:#?}"))
    }
}

/// Nothing in it steers a terminal: no control character but newlines and tabs, nothing that
/// reorders or hides what stands around it.
fn is_clean(text: &str) -> bool {
    let steers = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    !text.contains(steers)
}
