//! The memory of a daemon that looks after a large home.

use super::{home::Home, paper::Paper, report, run::Bench};
use crate::failure::{Failure, Outcome};
use std::{
    fs,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

/// It is there by then.
const LIMIT: Duration = Duration::from_secs(30);
/// How long it is left alone after that.
const QUIET: Duration = Duration::from_secs(5);
/// Megabytes.
const BAR: f64 = 15.0;

/// A daemon that ends with this value.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may be gone
        let _ = self.0.wait();
    }
}

/// Starts one that goes on where another ended, as every one but the first does: what was written meanwhile is looked at. Asks it, and
/// tells the most memory it had.
pub(super) fn run(bench: &Bench, paper: &mut Paper, home: &Home) -> Outcome<()> {
    drop(asked(bench, home)?);
    let daemon = asked(bench, home)?;
    let path = format!("/proc/{}/status", daemon.0.id());
    let status = fs::read_to_string(&path).unwrap_or_default();
    let megabytes = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kilobytes * 1024.0 / 1e6)
    };
    let (most, now) = (megabytes("VmHWM:"), megabytes("VmRSS:"));
    paper.say(format!(
        "\nDaemon: {:.1} MB, {:.1} MB at most (bar: {BAR} MB): {}.\n",
        now.unwrap_or(f64::NAN),
        most.unwrap_or(f64::NAN),
        report::verdict(&[(most, Some(BAR))])
    ));
    Ok(())
}

/// One that has answered, and has had time to look at everything.
fn asked(bench: &Bench, home: &Home) -> Outcome<Daemon> {
    let mut command = bench.subject(home, &["daemon", "run"]).command();
    let started = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let daemon = Daemon(started.map_err(|why| Failure::new(format!("cannot start it: {why}")))?);
    let answers = bench.subject(home, &["daemon", "status"]);
    let start = Instant::now();
    while !answers.output()?.status.success() {
        if start.elapsed() > LIMIT {
            return Err(Failure::new("the daemon does not answer"));
        }
        thread::sleep(Duration::from_millis(100));
    }
    thread::sleep(QUIET);
    bench.subject(home, &["list"]).run()?;
    Ok(daemon)
}
