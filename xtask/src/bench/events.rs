//! How soon `agentctl events` tells what happened, and what it costs while nothing does.

use super::{
    home::Home,
    live::Live,
    measure::{Cost, Subject},
    paper::Paper,
    rounds::Costs,
};
use crate::failure::{Failure, Outcome};
use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

/// How many sessions are alive.
pub(super) const IDLE: usize = 20;
/// How often each kind of thing happens.
const TIMES: usize = 10;
/// Nothing takes so long.
const LIMIT: Duration = Duration::from_secs(20);

/// A running watcher.
struct Watcher {
    child: Child,
    lines: Receiver<(Instant, Value)>,
}

/// Prints how long things took until they were told, and what an idle watcher costs.
pub(super) fn run(
    paper: &mut Paper,
    (agentctl, home): (Subject, &Home),
    live: &mut Live,
    quiet: Duration,
) -> Outcome<()> {
    let watcher = Watcher::start(agentctl)?;
    watcher.wait("gap", "")?;
    paper.say(format!(
        "\n`events`, {} sessions of history, {IDLE} live, from the fact to the line:\n",
        home.sessions.len()
    ));
    let mut kinds = [("turn begins", Costs::default()), ("a person is asked", Costs::default())];
    let mut rests = Costs::default();
    for at in 0..TIMES {
        let states = [
            (r#""busy""#, "session.working"),
            (r#""waiting","waitingFor":"permission prompt""#, "session.waiting"),
        ];
        for ((says, kind), (_, times)) in states.iter().zip(&mut kinds) {
            let began = Instant::now();
            let id = live.says(home, at, says)?;
            times.add(since(watcher.wait(kind, &id)?, began));
        }
        let began = Instant::now();
        let id = live.says(home, at, r#""idle""#)?;
        rests.add(since(watcher.wait("session.idle", &id)?, began));
    }
    let (before, start) = (watcher.cost()?, Instant::now());
    thread::sleep(quiet);
    let (after, spent) = (watcher.cost()?, start.elapsed().as_secs_f64());
    let mut deaths = Costs::default();
    for at in 0..TIMES {
        let began = Instant::now();
        let id = live.kill(at)?;
        deaths.add(since(watcher.wait("session.ended", &id)?, began));
    }
    let all = kinds.into_iter().chain([("turn ends", rests), ("killed with -9", deaths)]);
    for (name, times) in all {
        let (middle, quickest) = (times.wall(), times.quickest());
        paper.say(format!("- {name}: {middle:.1} ms, quickest {quickest:.1} ms"));
    }
    paper.say(format!(
        "- idle for {spent:.0} s: {:.1} wakeups/s of all threads, {:.2} % of a core, {:.1} MB",
        (after.switches - before.switches) as f64 / spent,
        (after.ticks - before.ticks) as f64 / spent, // a tick is a hundredth of a second
        after.megabytes
    ));
    Ok(())
}

fn since(told: Instant, began: Instant) -> Cost {
    Cost { wall: told.duration_since(began), ..Cost::default() }
}

/// What a process has cost so far.
struct Drain {
    switches: u64,
    ticks: u64,
    megabytes: f64,
}

impl Watcher {
    fn start(agentctl: Subject) -> Outcome<Self> {
        let mut command = agentctl.command();
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let spawned = command.spawn();
        let mut child = spawned.map_err(|why| Failure::new(format!("cannot watch: {why}")))?;
        let out = child.stdout.take().ok_or_else(|| Failure::new("a watcher says nothing"))?;
        let (tell, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let at = Instant::now();
                let event = serde_json::from_str(&line).unwrap_or_default();
                let _ = tell.send((at, event)); // the bench may be over
            }
        });
        Ok(Self { child, lines })
    }

    /// When an event of this kind and session was told.
    fn wait(&self, kind: &str, id: &str) -> Outcome<Instant> {
        loop {
            let told = self.lines.recv_timeout(LIMIT);
            let (at, event) = told.map_err(|_| Failure::new(format!("{kind} was never told")))?;
            let session = event["session"]["id"].as_str().unwrap_or_default();
            if event["type"] == kind && session == id {
                return Ok(at);
            }
        }
    }

    fn cost(&self) -> Outcome<Drain> {
        let dir = format!("/proc/{}", self.child.id());
        let read = |path: String| fs::read_to_string(path).unwrap_or_default();
        let number = |text: &str, name: &str| -> u64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            line.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or_default()
        };
        let tasks = fs::read_dir(format!("{dir}/task"));
        let tasks = tasks.map_err(|why| Failure::new(format!("the watcher is gone: {why}")))?;
        let names = tasks.flatten().map(|task| task.path().join("status").display().to_string());
        let switches =
            names.map(|path| number(&read(path), "voluntary_ctxt_switches:")).sum::<u64>();
        let stat = read(format!("{dir}/stat"));
        let fields: Vec<&str> =
            stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = fields.get(11..13).unwrap_or_default();
        let ticks = ticks.iter().filter_map(|word| word.parse::<u64>().ok()).sum();
        let kilobytes = number(&read(format!("{dir}/status")), "VmRSS:");
        Ok(Drain { switches, ticks, megabytes: kilobytes as f64 / 1024.0 })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may be gone
        let _ = self.child.wait();
    }
}
