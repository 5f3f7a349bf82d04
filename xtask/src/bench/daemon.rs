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

/// The most memory that one has which begins anew, and one that goes on where that ended, as all but the first do.
pub(super) fn run(bench: &Bench, paper: &mut Paper, home: &Home) -> Outcome<()> {
    // There is none before the first daemon.
    let _ = fs::remove_dir_all(home.cache());
    let (first, next) = (most(bench, home)?, most(bench, home)?);
    paper.say(format!(
        "\nDaemon: {:.1} MB at most, {:.1} MB when it goes on where another ended (bar: {BAR} MB): {}.\n",
        first.unwrap_or(f64::NAN),
        next.unwrap_or(f64::NAN),
        report::verdict(&[(first, Some(BAR)), (next, Some(BAR))])
    ));
    Ok(())
}

/// Starts one, waits until it answers and has had time to look at everything, asks it, and says the most memory it had.
fn most(bench: &Bench, home: &Home) -> Outcome<Option<f64>> {
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
    let path = format!("/proc/{}/status", daemon.0.id());
    let status = fs::read_to_string(&path).unwrap_or_default();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = most.and_then(|most| most.split_whitespace().next()?.parse::<f64>().ok());
    Ok(kilobytes.map(|kilobytes| kilobytes * 1024.0 / 1e6))
}
